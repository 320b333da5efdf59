import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sbert_app.models.engine.forward import token_budget_batches
from sbert_app.vectors import distinct


@given(st.lists(st.integers(1, 300), max_size=200), st.integers(1, 2_000))
def test_every_row_is_batched_exactly_once_within_the_budget(lengths, budget):
    batches = token_budget_batches(lengths, budget)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget


def test_batches_group_sentences_of_similar_length():
    lengths = [3, 50, 4, 51, 3, 49]
    kinds = [{lengths[row] > 10 for row in batch} for batch in token_budget_batches(lengths, 160)]
    assert kinds == [{False}, {True}] or kinds == [{True}, {False}]


def test_batches_do_not_come_sorted_by_length_so_that_the_rate_is_fair():
    lengths = list(range(1, 200))
    widths = [max(lengths[row] for row in batch) for batch in token_budget_batches(lengths, 400)]
    assert widths != sorted(widths)


@given(st.lists(st.text(max_size=3), max_size=50))
def test_distinct_gives_each_sentence_once_and_the_way_back(sentences):
    unique, inverse = distinct(sentences)
    assert len(set(unique)) == len(unique)
    assert [unique[i] for i in inverse] == sentences
    assert inverse.dtype == np.int64
