"""The adapter from a few labels: it helps where labels and cosine disagree, and is none where they do not."""

import numpy as np

from sbert_app.training.adapter import fit_adapter
from sbert_app.vectors import unit_rows


def pairs(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs that are alike in 40 of 384 dimensions if they are the same; and in one strong dimension, of style, by chance."""
    random = np.random.default_rng(seed)
    same = random.random(count) < 0.4
    first = random.normal(size=(count, 40))
    second = np.where(same[:, None], first + random.normal(size=(count, 40)), random.normal(size=(count, 40)))
    noise = [np.hstack([6 * random.normal(size=(count, 1)), 0.3 * random.normal(size=(count, 343))]) for _ in range(2)]
    vectors = [np.hstack(parts) for parts in zip((first, second), noise, strict=True)]
    return *(unit_rows(each.astype(np.float32)) for each in vectors), same


def margin(first: np.ndarray, second: np.ndarray, same: np.ndarray) -> float:
    """How far apart the mean cosines of both kinds are, in their spread."""
    cosines = (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    return float((cosines[same].mean() - cosines[~same].mean()) / cosines.std())


def test_what_the_labels_mean_counts_for_more_on_pairs_that_were_never_seen():
    first, second, same = pairs(400, 0)
    made = fit_adapter(first, second, same, np.arange(400))
    assert made.weight is not None and max(made.tried.values()) > made.tried[0]
    first, second, same = pairs(2_000, 1)
    assert margin(first @ made.weight.T, second @ made.weight.T, same) > margin(first, second, same) + 0.05


def test_random_labels_harm_little_and_too_few_or_one_kind_make_none():
    random, weights = np.random.default_rng(2), []
    first, second, same = pairs(200, 2)
    for _ in range(6):
        weights.append(fit_adapter(first, second, random.random(200) < 0.4, np.arange(200)).weight)
    for weight in weights:
        if weight is not None:
            assert margin(first @ weight.T, second @ weight.T, same) > 0.6 * margin(first, second, same)
    assert sum(weight is None for weight in weights) >= 3
    assert fit_adapter(first[:19], second[:19], same[:19], np.arange(19)).weight is None
    assert fit_adapter(first, second, np.ones(200, bool), np.arange(200)).weight is None


def test_what_is_known_of_a_sentence_is_no_gain_for_others():
    """Sentences in many pairs, labelled by their own chance: across the folds of pairs it would look like a gain."""
    found = []
    for seed in range(2):
        random = np.random.default_rng(seed)
        texts, style = unit_rows(random.normal(size=(30, 384)).astype(np.float32)), random.random(30) < 0.5
        one, two = (random.integers(30, size=300) for _ in range(2))
        second = unit_rows(texts[two] + 0.1 * random.normal(size=(300, 384)).astype(np.float32))
        for groups in (np.arange(300), one):
            tried = fit_adapter(texts[one], second, style[one], groups).tried
            found.append(max(tried.values()) - tried[0])
    assert np.mean(found[::2]) > 3 * np.mean(found[1::2])
