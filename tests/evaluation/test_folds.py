"""Folds hold whole groups, are about equally large, and come again with the same seed."""

import numpy as np

from sbert_app.grid.support_vectors import cut


def test_a_group_lies_in_one_fold_and_folds_are_about_equally_large():
    groups = np.repeat(np.arange(28), 130 - np.arange(28) % 7)
    folds = cut(groups)
    sizes = np.bincount(folds)
    assert len(sizes) == 10 and sizes.min() > 0.6 * sizes.max()
    assert all(len(set(folds[groups == group])) == 1 for group in range(28))


def test_rows_of_their_own_are_shuffled_by_the_seed():
    rows = np.arange(95)
    assert sorted(np.bincount(cut(rows)).tolist()) == [9] * 5 + [10] * 5
    assert (cut(rows) == cut(rows)).all() and (cut(rows) != cut(rows, seed=1)).any()
    assert (np.diff(cut(rows)) != 0).sum() > 60  # not cut in the order of the file


def test_with_fewer_groups_than_folds_each_is_a_fold():
    assert sorted(np.bincount(cut(np.array([0, 0, 1, 1, 2]))).tolist()) == [1, 2, 2]
    assert cut(np.zeros(3, np.int64)).tolist() == [0, 0, 0]
