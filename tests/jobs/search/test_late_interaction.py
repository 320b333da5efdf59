"""Searching word by word: the same score as sentence-transformers' late interaction, the words that match, every way to search."""

import numpy as np
import pytest

from sbert_app.corpus.hits import MAXSIM
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus
from sbert_app.corpus.ranking.maxsim import best_sentence, match
from sbert_app.models.tokens import own_token_vectors, places
from sbert_app.vectors import unit_rows
from tests.searching import indexed, search

QUERY = "my parcel never arrived"
TEXTS = [
    "The package did not come.",
    "A refund takes five days.",
    "The courier lost the parcel, and it never arrived at my door.",
    "!!!",
    "Nothing to see here. The office is closed. Yet the parcel never arrived. We are sorry about the weather.",
]


@pytest.fixture(scope="module")
def opened(shared_bench):
    """The session of an indexed corpus of TEXTS, and the corpus."""
    session = indexed(shared_bench, TEXTS)
    return session, session.get(IndexedCorpus)


def test_maxsim_is_that_of_sentence_transformers_token_vectors(encoder, model_folder):
    from sentence_transformers import SentenceTransformer

    oracle = SentenceTransformer(str(model_folder), device="cpu")

    def tokens(text):
        vectors = oracle.encode(text, output_value="token_embeddings").numpy()
        return unit_rows(vectors)[1:-1]  # without [CLS] and [SEP]

    expected = [float((tokens(QUERY) @ tokens(text).T).max(axis=1).mean()) for text in TEXTS]
    ours = own_token_vectors(encoder, [QUERY, *TEXTS])
    assert match(ours[0], np.ones(len(ours[0])), ours[1:]).scores == pytest.approx(expected, abs=1e-5)


def test_neither_the_batch_nor_its_order_nor_padding_changes_token_vectors(encoder):
    together, alone = own_token_vectors(encoder, TEXTS), [own_token_vectors(encoder, [text])[0] for text in TEXTS]
    backward = own_token_vectors(encoder, TEXTS[::-1])[::-1]
    for one, other, reverse in zip(together, alone, backward, strict=True):
        assert one.shape == other.shape and np.abs(one - other).max(initial=0) < 1e-5
        assert np.abs(one - reverse).max(initial=0) < 1e-5


def test_a_prompt_leaves_only_the_sentences_own_tokens(encoder):
    assert own_token_vectors(encoder, [QUERY], "query: ")[0].shape == own_token_vectors(encoder, [QUERY])[0].shape
    marked = places(encoder, QUERY, "query: ")[0]
    assert [QUERY[start:end] for start, end in marked] == QUERY.split()


def test_the_words_that_match_are_the_maxima_and_their_places_are_right(opened, shared_bench):
    encoder = shared_bench.registry.encoder()
    comparison = opened[1].compared(encoder, QUERY, [0, 2], [-1, -1])
    for number, row in enumerate((0, 2)):
        matches = comparison.words(row)
        assert all(TEXTS[row][m.start : m.end] == m.word for m in matches)
        assert sum(m.weight for m in matches) == pytest.approx(1)
        assert sum(m.weight * m.similarity for m in matches) == pytest.approx(float(comparison.matches.scores[number]), abs=1e-6)
    words = {m.query_word: m.word for m in comparison.words(2)}
    assert words["parcel"] == "parcel" and words["arrived"] == "arrived" and "my" not in words
    assert {m.query_word: m.word for m in comparison.words(0)}["parcel"] == "package"


def test_a_row_without_words_is_compared_too_and_a_query_of_stop_words_alone_counts_them_all(opened, shared_bench):
    comparison = opened[1].compared(shared_bench.registry.encoder(), QUERY, [3], [-1])
    assert comparison.words(3) and np.isfinite(comparison.matches.scores).all()
    hits = search(shared_bench, opened[0], "to be or not to be", 3).hits
    assert len(hits) == 3 and all(hit.maxsim is not None and np.isfinite(hit.maxsim) for hit in hits)


def test_the_best_sentence_of_a_longer_text_is_named(opened, shared_bench):
    hit = next(hit for hit in search(shared_bench, opened[0], QUERY, 5).hits if hit.row == 5)
    assert hit.sentence[slice(*hit.best)] == "Yet the parcel never arrived."
    assert best_sentence("One sentence only", hit.matches) == (0, 17)


@pytest.mark.parametrize("ranking", [MAXSIM, HYBRID, DENSE, WORDS])
def test_every_ranking_obeys_number_and_filters_and_gives_the_same_twice(opened, shared_bench, ranking):
    filters = {"text": {"contains": "parcel"}}
    first, again = (search(shared_bench, opened[0], QUERY, 2, filters, ranking) for _ in range(2))
    assert {hit.row for hit in first.hits} == {3, 5} and first.ranking == ranking
    assert [hit.maxsim for hit in first.hits] == [hit.maxsim for hit in again.hits]
    assert (first.hits[0].maxsim is None) == (ranking != MAXSIM) and (first.hits[0].bm25 is None) == (ranking == DENSE)
