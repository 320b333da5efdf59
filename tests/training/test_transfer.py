"""Linear classifiers on embeddings and on words: many at once learn what each would learn alone, as well as scikit-learn's."""

import time
import warnings
from dataclasses import replace
from threading import Thread

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from sbert_app.corpus.ranking.lexical import WORD
from sbert_app.errors import UserError
from sbert_app.grid.cell import measure_cell, mistakes
from sbert_app.grid.classes import Classes, measures_of, pair_features
from sbert_app.grid.loading import load_system
from sbert_app.grid.systems import OVERLAP, TF_IDF, Choice
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.training import linear_heads, transfer
from sbert_app.training.linear_heads import fit_heads
from sbert_app.training.transfer import L2, C, count_words, learn, learn_words

FOLDS = StratifiedKFold(transfer.QUICK_FOLDS, shuffle=True, random_state=transfer.SEED)


def blobs(rows: int = 400, dim: int = 12, classes: int = 3, spread: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    """Points around one centre a class, some on the wrong side."""
    random = np.random.default_rng(0)
    targets = random.integers(classes, size=rows)
    features = random.standard_normal((classes, dim))[targets] + spread * random.standard_normal((rows, dim))
    return features.astype(np.float32), targets.astype(np.int64)


def labelled(targets: np.ndarray, test: np.ndarray | None = None, dev: np.ndarray | None = None) -> LabelledSentences:
    return LabelledSentences([str(i) for i in range(len(targets))], targets, ["a", "b", "c"], test, dev)


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
    assert ((both.predict(features) == targets[:, None]) & dev.T).sum(0).tolist() == (both.dev * dev.sum(1)).round().tolist()


def test_a_step_is_that_of_adam_with_weight_decay(parts, monkeypatch):
    features, targets, train, dev = parts
    monkeypatch.setattr(linear_heads, "MOST_EPOCHS", 4)
    monkeypatch.setattr(linear_heads, "EPOCHS_A_ROUND", 2)  # two rounds: the averages are kept between them
    monkeypatch.setattr(linear_heads, "BATCH", 300)  # all rows in one step
    heads = fit_heads(features, targets, train[:1], dev[:1], torch.tensor([0.01]))
    random = torch.Generator().manual_seed(linear_heads.SEED)
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


def nested(features: np.ndarray, targets: np.ndarray, strengths: list[float], folds: int) -> list[float]:
    """The accuracy of each fold by nested cross-validation, all by scikit-learn."""
    parts = StratifiedKFold(folds, shuffle=True, random_state=1111)
    return cross_val_score(GridSearchCV(LogisticRegression(), {"C": strengths}, cv=parts), features, targets, cv=parts)


def test_nested_cross_validation_is_as_good_as_scikit_learns():
    features, targets = blobs(2_000, dim=100, classes=2, spread=4)
    rounds: list[int] = []
    result = learn(features, labelled(targets), folds=5, tick=lambda: rounds.append(1))
    expected = nested(features, targets, [1e-3, 1e-2, 0.1, 1.0], 5)
    assert result.accuracy == pytest.approx(np.mean(expected), abs=0.01) and result.protocol == "nested cross-validation, 5 folds"
    assert len(result.folds) == len(result.chosen) == 5 and set(result.chosen) <= set(L2) and rounds
    assert result.accuracy == pytest.approx(np.mean(result.folds))


def test_a_test_part_is_never_learnt_from():
    features, targets = blobs(1_200, dim=60, spread=2.5)
    test, dev = np.zeros(1_200, bool), np.zeros(1_200, bool)
    test[900:], dev[800:900] = True, True
    shuffled = targets.copy()
    shuffled[900:] = np.random.default_rng(1).permutation(targets[900:])
    for part in (None, dev):
        right = learn(features, labelled(targets, test, part), folds=5)
        wrong = learn(features, labelled(shuffled, test, part), folds=5)
        assert right.accuracy > 0.7 and wrong.accuracy < 0.5
        assert right.chosen == wrong.chosen  # chosen on the same rows


def test_heads_learn_on_one_thread_and_give_the_others_back(parts, monkeypatch):
    features, targets, train, dev = parts
    monkeypatch.setattr(linear_heads, "MOST_EPOCHS", 4)
    before, during = torch.get_num_threads(), []
    fit_heads(features, targets, train, dev, torch.tensor([1e-4, 1e-2]), tick=lambda: during.append(torch.get_num_threads()))
    assert set(during) == {1} and torch.get_num_threads() == before


def test_the_quick_form_is_scikit_learns_nested_search():
    features, targets = blobs(300)
    ticks: list[int] = []
    quick = learn(features, labelled(targets), quick=True, tick=lambda: ticks.append(1))
    scaled = features * np.float32(12**0.5 / np.linalg.norm(features, axis=1).mean())
    assert quick.folds == pytest.approx(nested(scaled, targets, list(C), 5), abs=1e-6)
    assert quick.protocol == "quick: scikit-learn's logistic regression, nested cross-validation, 5 folds"
    assert set(quick.chosen) <= set(C) and len(ticks) == 5 * (6 * 5 + 1)


def test_quick_fits_of_two_visitors_take_turns_and_change_nothing_of_the_process(monkeypatch):
    """Threads of BLAS and filters of warnings belong to the process: two that overlap would restore each other's."""
    features, targets = blobs(60)
    test, fit, running, most = np.arange(60) >= 40, LogisticRegression.fit, [], []

    def watched(model, *data):
        running.append(model)
        most.append(len(running))
        time.sleep(0.002)
        fitted = fit(model, *data)
        running.pop()
        return fitted

    monkeypatch.setattr(LogisticRegression, "fit", watched)
    before = list(warnings.filters)
    threads = [Thread(target=learn, args=(features, labelled(targets, test), True)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) > 3 and set(most) == {1} and list(warnings.filters) == before


def related(rows: int = 900, dim: int = 20) -> tuple[np.ndarray, LabelledSentences]:
    """Vectors of n first and n second sentences; a pair is "same" if both vectors are near. The last third is tested."""
    random = np.random.default_rng(3)
    targets = random.integers(2, size=rows)
    first = random.standard_normal((rows, dim))
    second = np.where(targets[:, None] == 1, first + random.standard_normal((rows, dim)), random.standard_normal((rows, dim)))
    test = np.arange(rows) >= 2 * rows // 3
    texts = [str(i) for i in range(rows)]
    data = LabelledSentences(texts, targets, ["no", "same"], test, None, [f"{text}'" for text in texts], 1)
    return np.concatenate([first, second]).astype(np.float32), data


@pytest.mark.parametrize("quick", [False, True])
def test_pairs_are_learnt_from_differences_and_products(quick):
    vectors, data = related()
    features = pair_features(vectors[:900], vectors[900:])
    result = learn(features, data, quick)
    measures = measures_of(data, result)
    right = data.targets[data.test]
    assert features.shape == (900, 40) and len(result.predicted) == 300 and measures["accuracy"] > 0.75
    assert measures["f1"] == pytest.approx(f1_score(right, result.predicted), abs=1e-9)
    other = f1_score(right, result.predicted, pos_label=0)
    assert measures_of(replace(data, positive=0), result)["f1"] == pytest.approx(other, abs=1e-9) != measures["f1"]
    alone = learn(np.concatenate([vectors[:900], vectors[900:]], axis=1), data, quick)
    assert alone.accuracy < measures["accuracy"] - 0.1  # u and v side by side hold the answer too, but not linearly
    assert "folds of the rest" in result.protocol and measures_of(replace(data, positive=-1), result).keys() == {"accuracy"}


def test_pair_features_are_those_of_senteval_whatever_the_length():
    random = np.random.default_rng(0)
    u, v = random.standard_normal((2, 5, 8)).astype(np.float32)
    length = np.linalg.norm(np.concatenate([u, v]), axis=1).mean()
    u_scaled, v_scaled = (8**0.5 / length * vectors for vectors in (u, v))
    expected = np.hstack([np.abs(u_scaled - v_scaled), u_scaled * v_scaled])
    assert np.allclose(pair_features(u, v), expected, atol=1e-5)
    assert np.allclose(pair_features(u * np.float32(0.01), v * np.float32(0.01)), expected, atol=1e-5)
    assert np.allclose(pair_features(v, u), expected, atol=1e-5)


@pytest.fixture(scope="module")
def worded():
    """Sentences of two classes that differ in how often they use some words; some words occur once."""
    generator = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(120)])
    weights = generator.dirichlet(np.full(120, 0.5), size=2)
    targets = generator.integers(0, 2, 150)
    sentences = [" ".join([*generator.choice(words, 3, p=weights[t]), f"once{i}" * (i % 3 == 0)]) for i, t in enumerate(targets)]
    return LabelledSentences(sentences, targets, ["a", "b"], None, None)


@pytest.fixture(scope="module")
def learnt(worded):
    return learn_words(count_words(worded), worded, quick=True)


@pytest.mark.filterwarnings("ignore")
def test_each_fold_is_predicted_as_by_scikit_learn(worded, learnt):
    learner = LogisticRegression(max_iter=transfer.MOST_STEPS, random_state=transfer.SEED)
    pipeline = make_pipeline(TfidfVectorizer(token_pattern=WORD.pattern), learner)
    search = GridSearchCV(pipeline, {"logisticregression__C": transfer.C_OF_FOLDS}, cv=FOLDS)  # by folds of the training rows
    predicted = cross_val_predict(search, worded.sentences, worded.targets, cv=FOLDS)
    assert (learnt.predicted == predicted).all() and 0.7 < learnt.accuracy < 1
    assert "tf-idf of the training rows" in learnt.protocol


def test_tf_idf_has_a_figure_on_classes_and_word_overlap_says_why_not(worded, learnt, shared_bench):
    classes = Classes("words", worded, quick=True)
    cell = measure_cell(load_system(shared_bench, TF_IDF, Choice()), classes)
    assert cell.value == pytest.approx(learnt.accuracy) and cell.seconds > 0
    assert cell.low < cell.value < cell.high and all(each.expected != each.given for each in mistakes(classes, cell, 5))
    with pytest.raises(UserError, match="gives no vectors to learn classes from"):
        measure_cell(load_system(shared_bench, OVERLAP, Choice()), classes)
    with pytest.raises(UserError, match="No sentence has a word"):
        count_words(LabelledSentences(["?!"] * 150, worded.targets, worded.classes, None, None))
