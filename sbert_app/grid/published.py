"""The paper's figures for data sets that are the paper's: found by name, kind and size."""

import re

from sbert_app.evaluation import paper
from sbert_app.grid.data_sets import DataSet
from sbert_app.grid.tasks.classes import Classes
from sbert_app.grid.tasks.task import CLASSES, PAIR_CLASSES

# A pattern of the name, the examples that are tested, and the name in the paper.
PAIRS = (
    (r"sts_?12.*", 3_108, "STS12"),
    (r"sts_?13.*", 1_500, "STS13"),
    (r"sts_?14.*", 3_750, "STS14"),
    (r"sts_?15.*", 3_000, "STS15"),
    (r"sts_?16.*", 1_186, "STS16"),
    (r"sts_?b.*|test.*", 1_379, "STSb"),
    (r"sick.*|test.*", 4_927, "SICK-R"),
)
SENTENCES = (
    (r"mr", 10_662, "MR"),
    (r"cr", 3_775, "CR"),
    (r"subj", 10_000, "SUBJ"),
    (r"mpqa", 10_606, "MPQA"),
    (r"sst.*", 1_821, "SST"),
    (r"trec.*", 500, "TREC"),
)
PAIRS_OF_CLASSES = ((r"mrpc", 1_725, "MRPC"),)
MISSING = 0.002  # share of the examples that may be missing, because a sentence is blank


def in_paper(data: DataSet) -> str:
    """The data set's name in the paper, "" if it is none of the paper's."""
    if isinstance(data.content, Classes) and data.content.quick:
        return ""  # learnt in another way than the paper's
    known = {"scored": PAIRS, CLASSES: SENTENCES, PAIR_CLASSES: PAIRS_OF_CLASSES}.get(data.task, ())
    for pattern, size, name in known:
        if re.fullmatch(pattern, data.name, re.IGNORECASE) and size * (1 - MISSING) <= data.size <= size:
            return name
    return ""


def published(data_sets: tuple[DataSet, ...]) -> dict[str, list[float | None]]:
    """The paper's systems with their figures × 100 for these data sets, None where the paper has none; empty without any."""
    names = [in_paper(data) for data in data_sets]
    rows = {
        system: [paper.TABLE_1[system].get(name, paper.TABLE_5[system].get(name)) for name in names] for system in paper.TABLE_1
    }
    return rows if any(names) else {}
