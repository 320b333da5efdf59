"""Passages of long texts: ranking against brute force, each row once (saved and reopened: test_storage)."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus import vector_index
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus
from sbert_app.corpus.passages import COST, Passages
from sbert_app.corpus.ranking.lexical import sentence_spans
from sbert_app.corpus.reader import Corpus
from sbert_app.runtime.session import held
from sbert_app.vectors import unit_rows

ROWS, CROWDED, DIM = 80, 7, 16
RANDOM = np.random.default_rng(11)
QUERIES = unit_rows(RANDOM.normal(size=(40, DIM)))


@pytest.fixture(scope="module")
def plain():
    """80 rows without passages."""
    sentences = [f"row number {i}. and something further {i * i}" for i in range(ROWS)]
    metadata = pd.DataFrame({"third": [str(i % 3 == 0) for i in range(ROWS)]})
    corpus = Corpus("long texts", ("text",), sentences, metadata, np.arange(1, ROWS + 1))
    return IndexedCorpus.build(corpus, "m", "print", RANDOM.normal(size=(ROWS, DIM)))


@pytest.fixture(scope="module")
def indexed(plain):
    """Every other row has up to 5 passages; row 7 has 40, the closest of all to the first query."""
    counts = [40 if row == CROWDED else row % 6 if row % 2 else 0 for row in range(ROWS)]
    rows = np.repeat(np.arange(ROWS), counts)
    vectors = RANDOM.normal(size=(len(rows), DIM))
    vectors[rows == CROWDED] = 3 * QUERIES[0] + 0.3 * vectors[rows == CROWDED]
    spans = [(2 * number, 2 * number + 9) for number in range(len(rows))]
    return replace(plain, truncated=len(set(rows.tolist())), passages=Passages.build(rows.tolist(), spans, vectors))


def best_by_loop(indexed, query):
    """The best cosine of each row, of a passage COST less, and the number of the passage that has it."""
    pairs = []
    for row in range(len(indexed.corpus)):
        numbers = np.flatnonzero(indexed.passages.rows == row).tolist()
        scores = [float(indexed.embeddings[row] @ query), *(float(indexed.passages.embeddings[n] @ query) - COST for n in numbers)]
        pairs.append(max(zip(scores, [-1, *numbers], strict=True), key=lambda pair: pair[0]))
    return np.array([score for score, _ in pairs]), np.array([number for _, number in pairs])


@pytest.mark.parametrize("filters", [{}, {"third": "True"}], ids=["all rows", "filtered"])
@pytest.mark.parametrize("top", [1, 5, ROWS])
def test_each_row_is_ranked_once_by_its_best_passage(indexed, top, filters):
    fitting = np.arange(0, ROWS, 3) if filters else np.arange(ROWS)
    for query in QUERIES:
        scores, numbers = best_by_loop(indexed, query)
        ranking = indexed.rank(query, "x", top, filters, DENSE)
        expected = fitting[np.argsort(-scores[fitting], kind="stable")][:top]
        assert ranking.rows.tolist() == expected.tolist() and ranking.fitting == len(fitting)
        assert ranking.passages.tolist() == numbers[expected].tolist()
        assert ranking.scores == pytest.approx(scores[expected] + COST * (numbers[expected] >= 0), abs=1e-6)  # the cosine itself


def test_a_row_with_many_close_passages_leaves_room_for_others(indexed):
    ranking = indexed.rank(QUERIES[0], "x", 10, {}, DENSE)
    assert ranking.rows[0] == CROWDED and len(set(ranking.rows.tolist())) == 10
    closest = indexed.passages.index.search(QUERIES[:1], 40)[1][0]
    assert set(indexed.passages.rows[closest].tolist()) == {CROWDED}  # so the first 20 passages read are of one row


@pytest.mark.parametrize("way", [HYBRID, WORDS])
def test_other_ways_take_the_cosine_of_the_best_passage(indexed, way):
    query = QUERIES[1]
    scores, numbers = best_by_loop(indexed, query)
    ranking = indexed.rank(query, "number 5 further 121", 20, {}, way)
    cosines = scores + COST * (numbers >= 0)
    assert len(ranking.rows) and ranking.scores == pytest.approx(cosines[ranking.rows], abs=1e-6)
    assert ranking.passages.tolist() == numbers[ranking.rows].tolist()
    order = np.arange(len(ranking.rows))[::-1]
    assert ranking.taking(order).passages.tolist() == ranking.passages[::-1].tolist()


def test_an_approximate_index_of_passages_finds_them(indexed, monkeypatch):
    monkeypatch.setattr(vector_index, "EXACT_ROWS", 20)
    passages = Passages.build(indexed.passages.rows.tolist(), indexed.passages.spans.tolist(), indexed.passages.embeddings)
    approximate = replace(IndexedCorpus.build(indexed.corpus, "m", "print", indexed.embeddings), passages=passages)
    assert approximate.index.report.kind == passages.index.report.kind == "approximate"
    for number in range(0, len(passages), 5):
        ranking = approximate.rank(passages.embeddings[number], "x", ROWS, {}, DENSE)
        assert (ranking.rows[0], ranking.passages[0]) == (passages.rows[number], number) and len(ranking.rows) > ROWS // 2
        assert len(set(ranking.rows.tolist())) == len(ranking.rows)


def test_passages_count_as_memory(plain, indexed):
    more = sum(held(indexed).values()) - sum(held(plain).values())
    assert more == pytest.approx(indexed.passages.embeddings.nbytes * 2, rel=0.3)


def test_sentences_end_at_marks_before_blanks_and_at_line_ends():
    text = 'One v1.2 is out. "Really?" He said "No." Yes!\nNo mark\n\n这是。那是？'
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "One v1.2 is out.", '"Really?"', 'He said "No."', "Yes!", "No mark", "这是。", "那是？",
    ]  # fmt: skip
