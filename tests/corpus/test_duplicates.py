"""Mining, grouping, verdicts, overlap: against brute force and against sentence-transformers, on the example corpora."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sentence_transformers import util

from sbert_app.corpus import mining
from sbert_app.corpus.duplicates import find_duplicates
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.jobs.duplicates.overlap import find_overlap
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.vectors import unit_rows


def near_rows(count, seed=0, dim=16):
    """Unit rows around a few centres, so that many pairs are close and many are not."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, count // 8), dim), dtype=np.float32)
    noise = random.standard_normal((count, dim), dtype=np.float32)
    return unit_rows(centres[random.integers(len(centres), size=count)] + 0.5 * noise)


def mined(vectors):
    *_, last = mining.by_tiles(vectors)
    return last.result


def duplicates(vectors, sentences=None, index=None):
    *_, last = find_duplicates(sentences or [str(i) for i in range(len(vectors))], vectors, index)
    return last.result


def as_set(pairs):
    return set(zip(pairs.rows1.tolist(), pairs.rows2.tolist(), strict=True))


def members(grouping):
    return [grouping.group(number)[0].tolist() for number in range(len(grouping))]


@pytest.fixture(scope="module", params=["support_tickets.csv", "field_notes.csv"])
def example(request, shared_bench):
    return shared_bench.examples.indexed(request.param, shared_bench.registry.encoder(DEFAULT_ENCODER))


def test_pairs_are_those_of_paraphrase_mining(example):
    """The same pairs at the same cosines. Only cosines that both round to the floor's last digit could differ."""
    theirs = util.paraphrase_mining_embeddings(example.embeddings, top_k=100)  # all: a pair less would be missed below
    ours = mined(example.embeddings)
    expected = {(i, j): score for score, i, j in theirs if score >= mining.FLOOR}
    assert as_set(ours) == set(expected) and len(expected) > 50
    assert all(a >= b for a, b in pairwise(ours.scores.tolist()))
    for i, j, score in zip(ours.rows1.tolist(), ours.rows2.tolist(), ours.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[i, j], abs=1e-5)


@pytest.mark.parametrize("threshold", [0.5, 0.55, 0.6, 0.7, 0.85, 0.95])
def test_groups_are_those_of_community_detection(example, threshold):
    """The same centres with the same members, largest first. Members that are equally close may change places."""
    theirs = util.community_detection(example.embeddings, threshold, min_community_size=2)
    ours = members(duplicates(example.embeddings).grouping(threshold))
    assert [(group[0], set(group)) for group in ours] == [(group[0], set(group)) for group in theirs]


def test_copies_do_not_change_the_groups():
    """With every row's copies collapsed the groups are those of community_detection over all rows."""
    vectors, random = near_rows(60, seed=1), np.random.default_rng(1)
    places = random.integers(60, size=150)
    found = duplicates(vectors[places], [str(place) for place in places])
    for threshold in (0.6, 0.8, 0.95, 1.0):
        theirs = util.community_detection(vectors[places], min(threshold, 0.9999), min_community_size=2)
        ours = members(found.grouping(threshold))
        assert [(group[0], set(group)) for group in ours] == [(group[0], set(group)) for group in theirs]
    assert any(len(group) > 3 for group in ours)


@pytest.mark.parametrize("count", [1, 2, 7, 40, 41])
@pytest.mark.parametrize("tile", [1, 7, 40, 512])
def test_tiles_find_what_brute_force_finds(count, tile, monkeypatch):
    monkeypatch.setattr(mining, "TILE", tile)
    vectors = near_rows(count, seed=count)
    rows1, rows2 = np.nonzero(np.triu(vectors @ vectors.T, 1) >= 0.5)
    assert as_set(mined(vectors)) == set(zip(rows1.tolist(), rows2.tolist(), strict=True))


def test_too_many_pairs_raise_the_floor_none_above_it_is_missing_and_memory_stays_bounded(monkeypatch):
    monkeypatch.setattr(mining, "TILE", 16)
    vectors, held, add = near_rows(200), [], mining.BestPairs.add
    every = mined(vectors)
    monkeypatch.setattr(mining, "MOST_PAIRS", 100)
    monkeypatch.setattr(mining.BestPairs, "add", lambda kept, *pairs: (add(kept, *pairs), held.append(kept._count)))
    few = mined(vectors)
    assert len(every.scores) > 500 and max(held) <= 2 * 100  # a tile of pairs and twice the limit, never all of them
    assert not every.raised and few.raised and few.floor > every.floor and 90 <= len(few.scores) <= 100
    assert as_set(few) == {pair for pair, score in zip(zip(every.rows1, every.rows2, strict=True), every.scores, strict=True)
                           if score >= few.floor}  # fmt: skip


def test_ten_thousand_copies_are_one_node():
    found = duplicates(np.tile(near_rows(1), (10_000, 1)), ["the same"] * 10_000)
    assert len(found.pairs.scores) == 0 and len(found.copies.repeated) == 9_999
    grouping = found.grouping(1.0)
    assert len(grouping) == 1 and grouping.redundant == 9_999 and grouping.group(0)[0][:3].tolist() == [0, 1, 2]
    best = found.best_pairs(0.85, 5)
    assert best.rows1.tolist() == [0] * 5 and best.rows2.tolist() == [1, 2, 3, 4, 5] and set(best.scores.tolist()) == {1.0}


def test_equal_vectors_of_different_texts_beyond_the_limit_are_one_group(monkeypatch):
    """Different texts of unknown characters only, such as emoji, can all have one vector: still one group."""
    monkeypatch.setattr(mining, "TILE", 16)
    monkeypatch.setattr(mining, "MOST_PAIRS", 100)
    found = duplicates(np.tile(near_rows(1), (60, 1)))
    assert len(found.pairs.scores) == 100 and found.pairs.raised and 0.9999 < found.pairs.floor < 1
    assert members(found.grouping(max(0.85, found.pairs.floor))) == [list(range(60))]


def test_one_row_and_far_rows_have_no_duplicates():
    for vectors in (near_rows(1), np.eye(4, 16, dtype=np.float32)):
        found = duplicates(vectors)
        assert len(found.grouping(0.5)) == len(found.best_pairs(0.5).scores) == len(found.borderline(0.5, 10).scores) == 0
        assert found.verdicts(found.grouping(0.5)).keep.all()


def test_neighbours_find_what_tiles_find(monkeypatch):
    """With as many neighbours as rows nothing is missed; with two some pairs are, and the measured recall says so."""
    vectors = near_rows(300, seed=3)
    index = VectorIndex.build(vectors)
    exact = mined(vectors)
    monkeypatch.setattr(mining, "NEIGHBOURS", 299)
    *_, last = mining.by_neighbours(vectors, index)
    assert as_set(last.result) == as_set(exact) and last.result.recall(0.5) == 1.0 and not last.result.exact
    np.testing.assert_allclose(last.result.scores, exact.scores, atol=1e-6)
    monkeypatch.setattr(mining, "NEIGHBOURS", 2)
    monkeypatch.setattr(mining, "CHECKED_ROWS", 300)
    *_, last = mining.by_neighbours(vectors, index)
    assert as_set(last.result) < as_set(exact)
    assert last.result.recall(0.5) == pytest.approx(len(last.result.scores) / len(exact.scores))


def test_a_large_corpus_goes_by_neighbours_and_copies_do_not_hide_them(monkeypatch):
    monkeypatch.setattr(mining, "EXACT_ROWS", 20)
    vectors = np.concatenate([near_rows(60, seed=4), np.tile(near_rows(60, seed=4)[:1], (50, 1))])
    texts = [*map(str, range(60)), *["0"] * 50]
    found = duplicates(vectors, texts, index=VectorIndex.build(vectors))
    assert not found.pairs.exact and as_set(found.pairs) == as_set(mined(vectors[:60]))


def test_every_row_is_kept_or_stood_for():
    vectors = near_rows(120, seed=5)
    texts = [str(i % 100) for i in range(120)]
    vectors[100:] = vectors[:20]
    found = duplicates(vectors, texts)
    grouping = found.grouping(0.8)
    verdicts = found.verdicts(grouping)
    dropped = np.flatnonzero(~verdicts.keep)
    assert len(dropped) == grouping.redundant >= 20 and set(range(100, 120)) <= set(dropped.tolist())
    assert verdicts.keep[verdicts.representative].all() and (verdicts.group[dropped] > 0).all()
    cosines = (vectors * vectors[verdicts.representative]).sum(1)
    np.testing.assert_allclose(verdicts.score, cosines, atol=1e-5)
    assert (cosines[dropped] >= 0.8).all() and (np.bincount(grouping.rows) <= 1).all()


def test_borderline_pairs_are_the_nearest_on_both_sides():
    found = duplicates(near_rows(150, seed=6))
    border = found.borderline(0.8, 30)
    gaps = np.abs(border.scores - np.float32(0.8))
    assert len(border.scores) == 30 and (np.diff(gaps) >= 0).all() and {True, False} == set((border.scores >= 0.8).tolist())
    assert gaps.max() <= np.sort(np.abs(found.pairs.scores - np.float32(0.8)))[29] + 1e-6


def test_overlap_finds_the_closest_row_and_the_same_text():
    def corpus(name, count):
        return Corpus(name, ("text",), [f"{name} {i}" for i in range(count)], pd.DataFrame(index=range(count)), np.arange(count))

    there, here = near_rows(80, seed=7), near_rows(30, seed=8)
    here[3] = there[5]
    other = corpus("here", 30)
    other.sentences[9] = "there 70"  # the same text, whatever its vector
    *steps, last = find_overlap(IndexedCorpus.build(corpus("there", 80), "", "", there), other, here)
    best = (here @ there.T).argmax(1)
    best[9] = 70
    found = last.result
    assert [step.done for step in steps] == [30] and found.closest.tolist() == best.tolist()
    assert np.flatnonzero(found.same).tolist() == [9] and found.scores[9] == 1
    assert [match.row for match in found.matches(0.99)[:2]] == [9, 3]
