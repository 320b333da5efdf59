import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from sbert_app.evaluation.agreement import spearman
from sbert_app.evaluation.weighted import pearson


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1, width=16)), min_size=3, max_size=60))
def test_spearman_and_pearson_equal_scipy_also_with_ties(points):
    gold, predicted = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    if np.ptp(gold) == 0 or np.ptp(predicted) < 1e-3:
        return
    assert spearman(predicted, gold) == pytest.approx(spearmanr(predicted, gold).statistic, abs=1e-9)
    assert pearson(predicted, gold, np.ones((1, len(gold))))[0] == pytest.approx(pearsonr(predicted, gold).statistic, abs=1e-7)
