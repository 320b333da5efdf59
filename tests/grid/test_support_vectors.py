"""The regressor learns from other folds only: nothing of a tested fold, its answers or its words, changes what that fold gets."""

from dataclasses import replace

import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.evaluation.agreement import spearman
from sbert_app.grid.cell import CellStore, measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.support_vectors import LEAST_TRAINED, MOST_TRAINED, cut, out_of_fold, predict_folds
from sbert_app.grid.systems import LEARNS, SVR, Choice
from sbert_app.labelled.example_set import Examples

WORDS = "cat dog hotel bill tree cloud river train stone paper glass music winter apple lamp".split()


def graded(count: int, seed: int = 0) -> Examples:
    """Pairs of five words whose score is the share of words that were kept, with noise."""
    generator = np.random.default_rng(seed)
    first, second, targets = [], [], []
    for _ in range(count):
        one = generator.choice(WORDS, 5, replace=False).tolist()
        same = int(generator.integers(6))
        others = [word for word in WORDS if word not in one]
        first.append(" ".join(one))
        second.append(" ".join([*one[:same], *generator.choice(others, 5 - same, replace=False).tolist()]))
        targets.append(same / 5 + generator.normal(0, 0.1))
    return Examples("scored", (first, second), np.clip(targets, 0, 1), np.arange(1, count + 1))


@pytest.fixture(scope="module")
def examples():
    return graded(120)


@pytest.fixture(scope="module")
def folds():
    return np.arange(120) % 4


@pytest.fixture(scope="module")
def whole(examples):
    """What is predicted of all examples."""
    return out_of_fold(examples)


def test_it_learns_and_gives_the_same_again(examples, whole):
    assert spearman(whole, examples.gold) > 0.85 and whole.std() > 0.1
    assert (whole == out_of_fold(examples)).all()


def test_neither_answers_nor_words_of_a_fold_reach_its_own_predictions(examples, folds):
    before, tested = predict_folds(examples, folds), folds == 2
    answered = predict_folds(replace(examples, targets=np.where(tested, 1 - examples.targets, examples.targets)), folds)
    assert (answered[tested] == before[tested]).all() and (answered[~tested] != before[~tested]).mean() > 0.9
    first, second = (list(column) for column in examples.sentences)
    first[2] = second[2] = "cat " * 40  # of fold 2: would change how rare a word is, and the scale of all features
    reworded = predict_folds(replace(examples, sentences=(first, second)), folds)
    others = tested & (np.arange(120) != 2)
    assert (reworded[others] == before[others]).all() and (reworded[~tested] != before[~tested]).mean() > 0.9


def test_a_pair_that_occurs_again_is_not_trained_on_in_either_order(examples, folds):
    first, second = (list(column) for column in examples.sentences)
    first[1], second[1] = second[0].upper(), first[0]  # row 0 lies in fold 0, row 1 in fold 1
    repeated = replace(examples, sentences=(first, second))
    high, low = (repeated.targets.copy() for _ in range(2))
    high[1], low[1] = 1, 0
    before, changed = (predict_folds(replace(repeated, targets=targets), folds) for targets in (high, low))
    assert (changed[folds == 0] == before[folds == 0]).all() and (changed[folds == 2] != before[folds == 2]).any()


def test_a_subset_is_predicted_by_the_others(examples, whole, shared_bench, tmp_path):
    subsets = tuple("abc"[row % 3] for row in range(120))
    own = np.array(subsets) == "a"
    changed = replace(examples, targets=np.where(own, 1 - examples.targets, examples.targets))
    predicted = out_of_fold(examples, subsets)
    assert (predicted[own] == out_of_fold(changed, subsets)[own]).all()
    assert (whole[own] != out_of_fold(changed)[own]).any()
    system, store = load_system(shared_bench, SVR, Choice()), CellStore(tmp_path)
    plain, by_subset = PairSet("a", examples), PairSet("a", examples, subsets=subsets)
    cell = measure_cell(system, by_subset)
    assert cell.model == LEARNS and cell.predicted == pytest.approx(predicted, abs=1e-6)
    store.put(system, by_subset, cell)
    assert store.get(system, by_subset) == cell and store.get(system, plain) is None


def test_too_few_pairs_and_other_examples_get_a_sentence(examples, shared_bench):
    with pytest.raises(UserError, match=f"learn from 36 pairs, at least {LEAST_TRAINED}"):
        out_of_fold(examples.take(np.arange(40)))
    with pytest.raises(UserError, match="learn from 20 pairs"):
        out_of_fold(examples, ["large"] * 100 + ["small"] * 20)
    triplets = Examples("triplets", (["a"] * 60, ["b"] * 60, ["c"] * 60), np.zeros(60), np.arange(60))
    with pytest.raises(UserError, match="Learns from scored or labelled pairs"):
        load_system(shared_bench, SVR, Choice()).score(triplets)
    with pytest.raises(UserError, match="learn from 0 pairs"):
        out_of_fold(replace(examples, sentences=(["a cat"] * 120, ["a dog"] * 120)))
    marks = ["!" * row for row in range(1, 121)]  # no words, which is no fault
    assert np.isfinite(out_of_fold(replace(examples, sentences=(marks, marks)))).all()


def test_labels_are_learnt_as_no_and_yes_and_stop_is_heard(examples):
    labelled = replace(examples, kind="labelled", targets=np.round(examples.targets), labels=("no", "yes"), positive=1)
    predicted = out_of_fold(labelled)
    assert predicted[labelled.gold == 1].mean() > predicted[labelled.gold == 0].mean() + 0.5

    def stopped() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        out_of_fold(examples, tick=stopped)


def test_many_pairs_are_drawn_from(monkeypatch, examples, whole):
    assert MOST_TRAINED == 5_000
    monkeypatch.setattr("sbert_app.grid.support_vectors.MOST_TRAINED", 60)
    drawn = out_of_fold(examples)
    assert (drawn != whole).any() and spearman(drawn, examples.gold) > 0.7


def test_a_group_lies_in_one_fold_and_folds_are_about_equally_large():
    groups = np.repeat(np.arange(28), 130 - np.arange(28) % 7)
    folds = cut(groups)
    sizes = np.bincount(folds)
    assert len(sizes) == 10 and sizes.min() > 0.6 * sizes.max()
    assert all(len(set(folds[groups == group])) == 1 for group in range(28))
    assert sorted(np.bincount(cut(np.array([0, 0, 1, 1, 2]))).tolist()) == [1, 2, 2]  # fewer groups than folds
    assert cut(np.zeros(3, np.int64)).tolist() == [0, 0, 0]
    rows = np.arange(95)  # of their own: shuffled, always alike
    assert sorted(np.bincount(cut(rows)).tolist()) == [9] * 5 + [10] * 5
    assert (cut(rows) == cut(rows)).all()
    assert (np.diff(cut(rows)) != 0).sum() > 60  # not cut in the order of the file
