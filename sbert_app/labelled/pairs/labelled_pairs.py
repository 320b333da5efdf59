"""Labelled pairs as something to learn a classifier from, as MRPC in SentEval: two sentences and a class each."""

from dataclasses import replace

import numpy as np

from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_mapping, guess_positive
from sbert_app.labelled.examples import read_examples
from sbert_app.labelled.labelled_sentences import LabelledSentences, joined
from sbert_app.settings import Limits
from sbert_app.tables import Table


def read_labelled_pairs(
    table: Table, limits: Limits, label: str = "", test: Table | None = None, dev: Table | None = None
) -> LabelledSentences:
    """Read the tables, with the columns of the first. label: the column of the classes, "" to guess it.

    Raises UserError for data that cannot be learnt from.
    """
    mapping = guess_mapping(table.frame)
    if label:
        mapping = replace(mapping, kind="labelled", target=label)
    if mapping.kind != "labelled":
        raise UserError(f"'{table.name}' has no column of labels to learn from: it was read as {mapping.kind}. Name the column.")
    tables = [part for part in (table, test, dev) if part is not None]
    parts = [read_examples(part, mapping, limits, repeats=True, least=2).examples for part in tables]
    for number, part in enumerate(parts):
        if unknown := sorted(set(part.labels) - set(parts[0].labels)):
            raise UserError(f"'{tables[number].name}' has the label '{unknown[0]}', which '{table.name}' lacks.")
    labels = [np.array(part.labels, object)[part.targets.astype(np.int64)] for part in parts]
    data = joined([list(part.sentences) for part in parts], labels, test is not None, dev is not None)
    return replace(data, positive=data.classes.index(guess_positive(data.classes)[0]))
