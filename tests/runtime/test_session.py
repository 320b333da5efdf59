"""What a visitor's values hold: every type that a session keeps, each text once."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.duplicates import find_duplicates
from sbert_app.corpus.findings import Mined
from sbert_app.corpus.hits import FormerIndex
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.grid.reading import read_data_set
from sbert_app.jobs.duplicates.overlap import FileOverlap
from sbert_app.jobs.evaluate.grid import Uploaded
from sbert_app.jobs.fine_tune.preparing import read_training_data
from sbert_app.jobs.score_pairs import PairTable
from sbert_app.labelled.columns import guess_mapping
from sbert_app.runtime.sessions import Sessions
from sbert_app.settings import Limits
from sbert_app.tables import Table
from tests.corpus_map.maps import small_map

ROWS = 3_000
TEXTS = [f"row {number} of a file, with a few more words than that" for number in range(ROWS)]
CHARACTERS = sum(map(len, TEXTS))


@pytest.fixture
def session():
    return Sessions(Limits()).open()


@pytest.fixture(scope="module")
def indexed():
    vectors = np.random.default_rng(0).normal(size=(ROWS, 8)).astype(np.float32)
    return IndexedCorpus.build(corpus(), "a-model", "", vectors)


def corpus(name="a.csv"):
    metadata = pd.DataFrame({"team": ["Billing"] * ROWS})
    return Corpus(name, ("text",), TEXTS, metadata, np.arange(1, ROWS + 1))


def table():
    frame = pd.DataFrame({"sentence1": TEXTS, "sentence2": TEXTS[::-1], "score": ["1", "0", "0.5"] * (ROWS // 3)})
    return Table("a.csv", frame, np.arange(1, ROWS + 1), text_bytes=2 * CHARACTERS)


def mined(indexed):
    steps = find_duplicates(TEXTS, indexed.embeddings, indexed.index)
    return Mined(indexed, next(step.result for step in steps if step.result), {})


def overlap(indexed):
    return FileOverlap(replace(indexed), corpus("b.csv"), *(np.zeros(ROWS, kind) for kind in (np.int64, np.float32, bool)))


VALUES = {  # as the jobs store them
    "corpus": lambda indexed: indexed,
    "former index": FormerIndex,
    "mined": mined,
    "overlap": overlap,
    "evaluation data": lambda _: Uploaded((read_data_set(table(), Limits()),)),
    "training data": lambda _: read_training_data(table(), guess_mapping(table().frame), Limits()),
    "pairs": lambda _: PairTable(table()),
}


@pytest.mark.parametrize("kind", VALUES)
def test_the_texts_of_every_value_are_counted(kind, session, indexed):
    session.put(VALUES[kind](indexed))
    assert session.nbytes > CHARACTERS


def test_what_a_map_has_counted_of_its_words_is_counted(session):
    drawn = small_map()
    session.put(drawn.projection.indexed)
    before = session.nbytes
    session.put(drawn)
    words = drawn.projection.words._counts
    assert session.nbytes - before > drawn.projection.points.nbytes + words.data.nbytes + words.indices.nbytes


def test_what_several_values_share_counts_once(session, indexed):
    session.open(indexed)
    before = session.nbytes
    session.put(FormerIndex(indexed))
    assert session.nbytes - before < 2_000


def test_what_is_dropped_counts_no_more(session, indexed):
    before = session.nbytes
    session.put(PairTable(table()))
    session.drop(PairTable)
    assert session.nbytes == before
