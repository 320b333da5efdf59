"""Linear classifiers on embeddings: many at once learn what each would learn alone, and as well as scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from sbert_app.training import linear_heads
from sbert_app.training.linear_heads import fit_heads
from sbert_app.training.transfer import L2, cross_validated, with_test_part


def blobs(rows: int = 400, dim: int = 12, classes: int = 3, spread: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    """Points around one centre a class, some on the wrong side."""
    random = np.random.default_rng(0)
    targets = random.integers(classes, size=rows)
    features = random.standard_normal((classes, dim))[targets] + spread * random.standard_normal((rows, dim))
    return features.astype(np.float32), targets.astype(np.int64)


@pytest.fixture
def parts():
    features, targets = map(torch.from_numpy, blobs())
    train = torch.zeros(2, 400, dtype=torch.bool)
    train[0, :300], train[1, 100:] = True, True
    return features, targets, train, ~train


def test_heads_learn_together_what_each_learns_alone(parts):
    features, targets, train, dev = parts
    l2 = torch.tensor([1e-4, 1e-2])
    both = fit_heads(features, targets, train, dev, l2)
    for head in range(2):
        alone = fit_heads(features, targets, train[head : head + 1], dev[head : head + 1], l2[head : head + 1])
        assert torch.allclose(alone.weight[:, 0], both.weight[:, head], atol=1e-5)
        assert alone.dev[0] == both.dev[head]
    assert (both.correct(features, targets) & dev.T).sum(0).tolist() == (both.dev * dev.sum(1)).round().tolist()


def test_a_step_is_that_of_adam_with_weight_decay(parts, monkeypatch):
    features, targets, train, dev = parts
    monkeypatch.setattr(linear_heads, "MOST_EPOCHS", 4)
    monkeypatch.setattr(linear_heads, "EPOCHS_A_ROUND", 4)
    monkeypatch.setattr(linear_heads, "BATCH", 300)  # all rows in one step
    heads = fit_heads(features, targets, train[:1], dev[:1], torch.tensor([0.01]))
    random = torch.Generator().manual_seed(0)
    bound = 1 / 12**0.5
    weight = torch.empty(12, 1, 3).uniform_(-bound, bound, generator=random)[:, 0].requires_grad_()
    bias = torch.empty(1, 3).uniform_(-bound, bound, generator=random)[0].requires_grad_()
    adam = torch.optim.Adam([weight, bias], lr=1e-3, weight_decay=0.01)
    for _ in range(4):
        adam.zero_grad()
        own = train[0]
        torch.nn.functional.cross_entropy(features[own] @ weight + bias, targets[own]).backward()
        adam.step()
    assert torch.allclose(heads.weight[:, 0], weight, atol=1e-6) and torch.allclose(heads.bias[0], bias, atol=1e-6)


def test_nested_cross_validation_is_as_good_as_scikit_learns():
    features, targets = blobs(2_000, dim=100, classes=2, spread=4)
    rounds: list[int] = []
    result = cross_validated(features, targets, folds=5, tick=lambda: rounds.append(1))
    folds = StratifiedKFold(5, shuffle=True, random_state=1111)
    expected = cross_val_score(LogisticRegression(C=1), features, targets, cv=folds)
    assert result.accuracy == pytest.approx(expected.mean(), abs=0.01)
    assert len(result.folds) == len(result.chosen) == 5 and set(result.chosen) <= set(L2) and rounds
    assert result.accuracy == pytest.approx(np.mean(result.folds))


def test_the_length_of_embeddings_does_not_matter():
    features, targets = blobs(600, dim=30, classes=2)
    short, long = (cross_validated(features * scale, targets, folds=3) for scale in (np.float32(0.01), np.float32(100)))
    assert short.accuracy == pytest.approx(long.accuracy, abs=0.01) and short.accuracy > 0.9


def test_a_test_part_is_never_learnt_from():
    features, targets = blobs(1_200, dim=60, spread=2.5)
    test, dev = np.zeros(1_200, bool), np.zeros(1_200, bool)
    test[900:], dev[800:900] = True, True
    shuffled = targets.copy()
    shuffled[900:] = np.random.default_rng(1).permutation(targets[900:])
    for part in (None, dev):
        right = with_test_part(features, targets, test, part, folds=5)
        wrong = with_test_part(features, shuffled, test, part, folds=5)
        assert right.accuracy > 0.7 and wrong.accuracy < 0.5
        assert right.chosen == wrong.chosen  # chosen on the same rows


def test_heads_learn_on_one_thread_and_give_the_others_back(parts, monkeypatch):
    features, targets, train, dev = parts
    monkeypatch.setattr(linear_heads, "MOST_EPOCHS", 4)
    before, during = torch.get_num_threads(), []
    fit_heads(features, targets, train, dev, torch.tensor([1e-4, 1e-2]), tick=lambda: during.append(torch.get_num_threads()))
    assert during == [1] and torch.get_num_threads() == before
