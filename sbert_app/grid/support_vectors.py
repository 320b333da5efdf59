"""A support-vector regressor over tf-idf and word overlap, as Misra et al. 2016 grade arguments, and the folds it learns from."""

import math
from collections.abc import Sequence
from collections.abc import Set as AnySet

import numpy as np

from sbert_app.corpus.ranking.lexical import WORD, Tick, tf_idf_cosines, ticking, tokenize
from sbert_app.errors import UserError
from sbert_app.labelled.example_set import Examples, column_groups, pair_groups
from sbert_app.vectors import Array, Rows

LEAST_TRAINED = 40  # pairs; a regressor that has seen fewer has learnt mostly noise
MOST_TRAINED = 5_000  # pairs of a fold, drawn by seed: the time grows with their square
PENALTY, TUBE = 1.0, 0.1  # C and epsilon: an error of a tenth of the range costs nothing
FOLDS = 10


def out_of_fold(examples: Examples, subsets: Sequence[str] = (), tick: Tick = lambda: None) -> Array:
    """Score each pair by what was learnt from other folds, (n,), about 0..1. Ten folds, or fewer subsets; a subset lies in one.

    tick: called between pairs, may raise. Raises UserError for triplets, for pairs without a score or label, and for too few pairs.
    """
    if examples.kind not in ("scored", "labelled"):
        raise UserError("Learns from scored or labelled pairs: there are none here.")
    return predict_folds(examples, cut(column_groups(subsets) if subsets else pair_groups(examples)), tick)


def predict_folds(examples: Examples, folds: Rows, tick: Tick = lambda: None) -> Array:
    """Score the pairs of each fold by a regressor trained on all other folds, (n,). See `out_of_fold`."""
    from sklearn.pipeline import make_pipeline  # takes a second, as all of it
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    pairs, gold = pair_groups(examples), examples.gold
    overlaps = np.array([_shared(one, other) for one, other in ticking(zip(*examples.sentences, strict=True), tick)])
    predicted = np.empty(len(examples))
    for fold in range(int(folds.max()) + 1):
        tested = np.flatnonzero(folds == fold)
        trained = np.flatnonzero(~np.isin(pairs, pairs[tested]))  # not even tested pairs that occur again, in either order
        if len(trained) < LEAST_TRAINED:
            raise UserError(
                f"Would learn from {len(trained)} pairs, at least {LEAST_TRAINED} are needed. Use a data set with more."
            )
        if len(trained) > MOST_TRAINED:
            trained = np.sort(np.random.default_rng(fold).choice(trained, MOST_TRAINED, replace=False))
        columns = _cosines(examples, trained, tick)
        features = [np.hstack([overlaps[rows], *(column[rows] for column in columns)]) for rows in (trained, tested)]
        regressor = make_pipeline(StandardScaler(), SVR(C=PENALTY, epsilon=TUBE))  # with a Gaussian kernel
        predicted[tested] = regressor.fit(features[0], gold[trained]).predict(features[1])
    return predicted


def _cosines(examples: Examples, trained: Rows, tick: Tick) -> list[Array]:
    """Each pair's tf-idf cosine by words, by words and pairs of words, and by letters, (n, 1); rarity is of the training pairs."""
    pairs_of_words = {"token_pattern": WORD.pattern, "ngram_range": (1, 2)}
    letters = {"analyzer": "char_wb", "ngram_range": (3, 5)}
    known = examples.take(trained).sentences
    cosines = [tf_idf_cosines(examples.sentences, tick, known, **terms) for terms in ({}, pairs_of_words, letters)]
    return [column.reshape(-1, 1) for (column,) in cosines]


def _shared(one: str, other: str) -> list[float]:
    """What both sentences share and how long they are, 10 numbers: the same for either order."""
    words = [WORD.findall(sentence.lower()) for sentence in (one, other)]
    values = _both(*(set(tokenize(sentence)) for sentence in (one, other)))
    for length in (1, 2, 3):
        values += _both(*({tuple(side[i : i + length]) for i in range(len(side) - length + 1)} for side in words))
    shorter, longer = sorted(map(len, words))
    return [*values, math.log1p(shorter), math.log1p(longer)]


def _both(one: AnySet[object], other: AnySet[object]) -> list[float]:
    """The Jaccard overlap of two sets, and the share of the smaller one that is in the other; 0 without any."""
    shared = len(one & other)
    return [shared / max(1, len(one | other)), shared / max(1, min(len(one), len(other)))]


def cut(groups: Rows) -> Rows:
    """Number each example's fold, (n,), 0 to FOLDS - 1. A group, (n,), 0 to G-1, lies in one; all are about equally large."""
    from sklearn.model_selection import GroupKFold  # takes a second

    count = int(groups.max()) + 1
    if count == 1:
        return np.zeros(len(groups), np.int64)
    shuffled = np.random.default_rng(0).permutation(count)[groups]
    numbers = np.empty(len(groups), np.int64)
    for number, (_, tested) in enumerate(GroupKFold(min(FOLDS, count)).split(groups, groups=shuffled)):
        numbers[tested] = number
    return numbers
