"""Which tasks a data set is measured by: labelled sentences as classes, clusters or triplets; and the data sets of the app."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from sbert_app.errors import UserError
from sbert_app.grid.classes import Classes, Clusters
from sbert_app.grid.data_set import CLASSES, CLUSTERS, TASKS, DataSet, PairSet
from sbert_app.grid.reading import read_data_set
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.labelled_sentences import read_labelled_sentences
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import read_table

TRIPLETS = "triplets"
MOST_TRIPLETS = 2_000
SEED = 42
OWN_CLASSES = {"Tickets by team": ("support_tickets.csv", "team"), "Notes by topic": ("field_notes.csv", "topic")}
OWN_PAIRS = {
    "Everyday pairs": "evaluation/everyday_pairs.csv",
    "Hard requests": "labelled/requests_scored.csv",
    "Hard messages": "labelled/messages_triplets.csv",
    "Hard instructions": "labelled/instructions_labelled.csv",
}

PURPOSE = (
    "asks for another notion of likeness, in which opposites are far apart however alike their words are: it is made for "
    "Fine-tune, and a model that was not trained for it is expected to fail."
)


def check_tasks(tasks: Sequence[str]) -> None:
    """Raise UserError for an unknown task."""
    if unknown := [task for task in tasks if task not in TASKS]:
        raise UserError(f"Unknown task {unknown[0]!r}. Must be one of {', '.join(TASKS)}.")


def by_tasks(data: DataSet, tasks: Sequence[str], quick: bool = False) -> list[DataSet]:
    """The data set if its task is among these, or if there are none; labelled sentences also as clusters and triplets if named.

    quick: classes are learnt by the quick form of transfer.
    """
    sets = [data] if not tasks or data.task in tasks else []
    if not isinstance(data, Classes):
        return sets
    sets = [replace(data, quick=quick) for _ in sets]
    counts = np.bincount(data.data.targets[data.data.tested])
    if data.task == CLASSES and (counts > 0).sum() > 1 and counts.max() > 1:
        sets += [Clusters(f"{data.name} as clusters", data.data, notes=data.notes)] if CLUSTERS in tasks else []
        sets += [as_triplets(data)] if TRIPLETS in tasks else []
    return sets


def as_triplets(data: Classes) -> PairSet:
    """Triplets from the tested sentences: two of one class, drawn at random, and one of another. The same for equal data."""
    generator, content, rows = np.random.default_rng(SEED), data.data, data.data.tested
    classes = content.targets[rows]
    paired = np.flatnonzero(np.bincount(classes)[classes] > 1)
    anchors = generator.permutation(paired)[:MOST_TRIPLETS]
    positives = [generator.choice(np.setdiff1d(np.flatnonzero(classes == classes[anchor]), anchor)) for anchor in anchors]
    negatives = [generator.choice(np.flatnonzero(classes != classes[anchor])) for anchor in anchors]
    columns = tuple([content.sentences[rows[row]] for row in column] for column in (anchors, positives, negatives))
    examples = Examples("triplets", columns, np.zeros(len(anchors)), rows[anchors] + 1)
    return PairSet(f"{data.name} as triplets", examples, notes=data.notes)


@cache
def own_data_sets(limits: Limits) -> tuple[DataSet, ...]:
    """Pairs scored by meaning, sentences with classes, and three sets that a model misreads before it is fine-tuned."""
    everyday, *hard = (
        read_data_set(read_table(ASSETS / file, limits, Path(file).name), limits, name) for name, file in OWN_PAIRS.items()
    )
    classes = [
        Classes(name, read_labelled_sentences(read_table(ASSETS / "examples" / file, limits), limits, "text", label))
        for name, (file, label) in OWN_CLASSES.items()
    ]
    return (everyday, *classes, *(replace(data, purpose=PURPOSE) for data in hard))
