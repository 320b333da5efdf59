import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from sbert_app.evaluation.scores import ndcg, pearson, spearman


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1, width=16)), min_size=3, max_size=60))
def test_spearman_and_pearson_equal_scipy_also_with_ties(points):
    gold, predicted = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    if np.ptp(gold) == 0 or np.ptp(predicted) < 1e-3:
        return
    assert spearman(predicted, gold) == pytest.approx(spearmanr(predicted, gold).statistic, abs=1e-9)
    assert pearson(predicted, gold) == pytest.approx(pearsonr(predicted, gold).statistic, abs=1e-7)


def test_ndcg_by_hand():
    assert ndcg(["a", "b"], {"a": 1}) == 1
    assert ndcg(["b", "a"], {"a": 1}) == pytest.approx(1 / np.log2(3))
    assert ndcg(["b", "a"], {"a": 1, "c": 1}) == pytest.approx(1 / np.log2(3) / (1 + 1 / np.log2(3)))
    assert ndcg(["x"] * 10 + ["a"], {"a": 1}) == 0
    assert ndcg(["a"], {}) == 0
