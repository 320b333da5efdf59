"""The data sets that come with the app, written for it."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from sbert_app.grid.data_sets import DataSet, read_data_set
from sbert_app.grid.tasks.classes import Classes
from sbert_app.labelled.labelled_sentences import read_labelled_sentences
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import read_table

CLASSES = {"Tickets by team": ("support_tickets.csv", "team"), "Notes by topic": ("field_notes.csv", "topic")}
PAIRS = {
    "Everyday pairs": "evaluation/everyday_pairs.csv",
    "Hard requests": "labelled/requests_scored.csv",
    "Hard messages": "labelled/messages_triplets.csv",
    "Hard instructions": "labelled/instructions_labelled.csv",
}


PURPOSE = (
    "asks for another notion of likeness, in which opposites are far apart however alike their words are: it is made for "
    "Fine-tune, and a model that was not trained for it is expected to fail."
)


@cache
def own_data_sets(limits: Limits) -> tuple[DataSet, ...]:
    """Pairs scored by meaning, sentences with classes, and three sets that a model misreads before it is fine-tuned."""
    everyday, *hard = (
        read_data_set(read_table(ASSETS / file, limits, Path(file).name), limits, name) for name, file in PAIRS.items()
    )
    classes = [
        DataSet(name, Classes(read_labelled_sentences(read_table(ASSETS / "examples" / file, limits), limits, "text", label)))
        for name, (file, label) in CLASSES.items()
    ]
    return (everyday, *classes, *(replace(data, purpose=PURPOSE) for data in hard))
