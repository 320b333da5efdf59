"""Ranks beside sorting; which words a row lacks, which stand behind the cut, which look like typos."""

import numpy as np
import pytest

from sbert_app.corpus.ranking.fusion import rank_of
from sbert_app.corpus.ranking.missed import query_words, within_one_edit

ROW = "Hens stop laying as days shorten and while moulting."


def test_ranks_are_those_of_a_stable_sort_of_the_rows_that_count():
    random = np.random.default_rng(2)
    scores, mask = random.integers(0, 6, 40).astype(float), random.random(40) < 0.6
    order = np.argsort(-scores, kind="stable").tolist()
    for row in range(40):
        counted = [other for other in order if mask[other] or other == row]  # a hidden row gets the rank that it would have
        assert (rank_of(scores, row, mask | True), rank_of(scores, row, mask)) == (order.index(row) + 1, counted.index(row) + 1)


def test_words_that_a_row_has_and_lacks_without_stop_words_and_in_any_case():
    words = query_words("Why do HENS stop laying eggs?", ROW, ["hens", "eggs", "stop", "laying", "why"])
    assert words.shared == ("hens", "stop", "laying") and words.lacking == ("why", "eggs") and not words.typos


def test_words_behind_what_the_model_reads_are_named():
    words = query_words("hens moulting", ROW, [], read=ROW.index("while"))
    assert words.shared == ("hens", "moulting") and words.beyond == ("moulting",)
    assert query_words("hens moulting", ROW, [], read=len(ROW)).beyond == ()


def test_a_query_of_stop_words_lacks_nothing():
    words = query_words("how do I", ROW, ["how"])
    assert words.stop_words and words.shared == words.lacking == ()
    assert not query_words("how do hens", ROW, []).stop_words


def test_an_unknown_word_close_to_one_of_the_row_is_a_typo_and_a_known_one_is_not():
    words = query_words("moultnig hens", ROW, ["hens", "moulting"])
    assert words.typos == {"moultnig": "moulting"} and words.in_row == ("moultnig",)
    elsewhere = query_words("chekens", ROW, ["chickens", "cheken"])
    assert elsewhere.typos == {} and elsewhere.in_row == ()
    elsewhere = query_words("chickns", ROW, ["chickens"])
    assert elsewhere.typos == {"chickns": "chickens"} and elsewhere.in_row == ()
    assert query_words("layng", ROW, [], None, {"layng"}.__contains__).typos == {}
    assert query_words("layng", ROW, []).typos == {"layng": "laying"}
    assert query_words("hen stopp", ROW, ["hens", "stop", "stopp", "hen"]).typos == {}


@pytest.mark.parametrize(
    ("word", "other", "close"),
    [
        ("receipt", "reciept", True), ("receipt", "receit", True), ("receit", "receipt", True), ("colour", "colours", False),
        ("invoice", "invoise", True), ("invoice", "invioces", False), ("grubs", "gurbs", True), ("cat", "car", True),
        ("an", "in", False), ("weather", "whether", False), ("same", "same", False), ("snails", "nails", False),
    ],
)  # fmt: skip
def test_one_edit(word, other, close):
    assert within_one_edit(word, other) is close and within_one_edit(other, word) is close
