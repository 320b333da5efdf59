"""Transfer: how well a linear classifier learns from embeddings or words, by the protocol of SentEval (Conneau & Kiela 2018).

One thing differs: embeddings are scaled to a mean length of √dim. The learning rate was chosen for embeddings that are not
normalised; from those of length 1 the classifiers would learn too slowly and stop too early.

The quick form is scikit-learn's logistic regression, as SentEval's own for a first look (usepytorch off, kfold 5). Its figures can
be points away from those of the real protocol, as C is high for features of this length: compare quick with quick ones.
"""

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from sbert_app.corpus.ranking.lexical import WORD
from sbert_app.errors import UserError
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.training.linear_heads import SEED, Heads, Tick, fit_heads
from sbert_app.vectors import Integers, Mask, Vectors

FOLDS, QUICK_FOLDS, DEV_SHARE = 10, 5, 0.05
L2 = (1e-5, 1e-4, 1e-3, 1e-2)
C = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # inverse strengths; SentEval's for nested folds and for a dev part
C_OF_FOLDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # its own where folds of a train part choose
MOST_STEPS = 100  # scikit-learn's default, as in SentEval
QUICK = "quick: scikit-learn's logistic regression, "
OF_WORDS = "tf-idf of the training rows, scikit-learn's logistic regression, "
Part = tuple[Mask, Mask]  # the rows to learn from, and the rows to predict

# One fit at a time: the number of BLAS's threads and the filters of warnings belong to the process, and two that overlap would
# restore each other's. The only mutable object here.
FITTING = threading.Lock()


@dataclass(frozen=True)
class Transfer:
    """How well the classes were learnt."""

    accuracy: float  # 0..1: over all rows in turn, fold by fold, or on the test part
    folds: list[float]
    chosen: list[float]  # of each fold, the weight decay; of the quick form, the inverse strength C
    predicted: Integers  # the class given to each tested row, in their order
    protocol: str  # how it was measured, in words


def learn(features: Vectors, data: LabelledSentences, quick: bool = False, tick: Tick = lambda: None, folds: int = 0) -> Transfer:
    """How well the classes are learnt from features (n, dim). Each class has `folds` rows or more; tick may raise."""
    folds, features = folds or (QUICK_FOLDS if quick else FOLDS), scaled(features)
    if not quick:
        return _learnt(ManyHeads(features, data.targets, tick), data, folds)
    strengths = C_OF_FOLDS if data.test is not None and data.dev is None else C
    own = Regressions(QUICK, strengths, lambda train, rows: (features[train], features[rows]), data.targets, tick)
    return _learnt(own, data, folds)


def learn_words(counts: Any, data: LabelledSentences, quick: bool = False, tick: Tick = lambda: None) -> Transfer:
    """How well the classes are learnt: the folds of the embeddings' protocol, the strength chosen by folds of the training rows.

    As scikit-learn's TfidfVectorizer fitted to the training rows of each fold: words and their rarity are theirs alone.
    """

    def features(train: Mask, rows: Mask) -> tuple[Any, Any]:
        known = np.flatnonzero(counts[train].getnnz(axis=0))
        own = counts[train][:, known]
        rarity = TfidfTransformer().fit(own)
        return rarity.transform(own), rarity.transform(counts[rows][:, known])

    return _learnt(Regressions(OF_WORDS, C_OF_FOLDS, features, data.targets, tick), data, QUICK_FOLDS if quick else FOLDS)


def count_words(data: LabelledSentences) -> Any:
    """How often each word occurs in each sentence, sparse (n, words). Raises UserError for pairs, and without any word."""
    if data.partners:
        raise UserError("Learns classes of sentences from their words, not of pairs.")
    try:
        return CountVectorizer(token_pattern=WORD.pattern).fit_transform(data.sentences).tocsr()
    except ValueError as error:
        raise UserError("No sentence has a word.") from error


def _learnt(learner: "ManyHeads | Regressions", data: LabelledSentences, folds: int) -> Transfer:
    """On the test part, or without one by nested folds. The strength is chosen by folds of the rest, or on the dev part."""
    targets, dev = data.targets, data.dev
    tests = _stratified(targets, np.arange(len(targets)), folds) if data.test is None else [data.test]
    rests = [~test if dev is None else ~test & ~dev for test in tests]
    devs = [_stratified(targets, np.flatnonzero(rest), folds) if dev is None else [dev] for rest in rests]
    chosen = learner.best([[(rest & ~part, part) for part in parts] for rest, parts in zip(rests, devs, strict=True)])
    parts = learner.predict(list(zip(rests, tests, strict=True)), chosen, dev)
    predicted = np.empty_like(targets)
    for test, part in zip(tests, parts, strict=True):
        predicted[test] = part
    shares = [float((predicted == targets)[test].mean()) for test in tests]
    how = f"by {folds} folds of the rest" if dev is None else "on the dev part"
    nested = f"nested cross-validation, {folds} folds"
    protocol = learner.name + (nested if data.test is None else f"test part, {learner.strength} chosen {how}")
    return Transfer(float(np.mean(shares)), shares, chosen, predicted[data.tested], protocol)


@dataclass(frozen=True)
class ManyHeads:
    """SentEval's classifiers, trained by steps; all parts at once. features: (n, dim), scaled; strength: what is chosen."""

    features: Vectors
    targets: Integers
    tick: Tick
    name = ""
    strength = "weight decay"

    def best(self, parts: Sequence[Sequence[Part]]) -> list[float]:
        """The strength of the highest mean accuracy on each sequence of parts, all equally long."""
        every = [part for group in parts for part in group]
        heads = self._fit([part for part in every for _ in L2], list(L2) * len(every))
        return [L2[int(best)] for best in heads.dev.view(len(parts), -1, len(L2)).mean(1).argmax(1)]

    def predict(self, parts: Sequence[Part], chosen: Sequence[float], held: Mask | None) -> list[Integers]:
        """The classes of each part's rows, by its chosen strength. held: further rows, by which a fit may be stopped."""
        stopped_by = [_share(train) if held is None else held for train, _ in parts]
        heads = self._fit([(train & ~own, own) for (train, _), own in zip(parts, stopped_by, strict=True)], chosen)
        predicted = heads.predict(torch.from_numpy(self.features)).numpy()
        return [predicted[rows, number] for number, (_, rows) in enumerate(parts)]

    def _fit(self, parts: Sequence[Part], l2: Sequence[float]) -> Heads:
        own, held = (torch.from_numpy(np.stack(masks)) for masks in zip(*parts, strict=True))
        x, y = torch.from_numpy(self.features), torch.from_numpy(self.targets)
        return fit_heads(x, y, own, held, torch.tensor(l2), self.tick)


@dataclass(frozen=True)
class Regressions:
    """scikit-learn's classifiers, one after the other. features: (training rows, other rows) -> the features of both."""

    name: str
    strengths: tuple[float, ...]
    features: Callable[[Mask, Mask], tuple[Any, Any]]
    targets: Integers
    tick: Tick
    strength = "C"

    def best(self, parts: Sequence[Sequence[Part]]) -> list[float]:
        right = [[self._fit(part, self.strengths) == self.targets[part[1]] for part in group] for group in parts]
        return [self.strengths[int(np.mean([part.mean(1) for part in group], axis=0).argmax())] for group in right]

    def predict(self, parts: Sequence[Part], chosen: Sequence[float], held: Mask | None) -> list[Integers]:
        return [self._fit(part, (c,))[0] for part, c in zip(parts, chosen, strict=True)]

    def _fit(self, part: Part, strengths: Sequence[float]) -> Integers:
        """The classes of the part's rows by a classifier for each C, (C, rows)."""
        own, others = self.features(*part)
        predicted = []
        for c in strengths:
            self.tick()
            with FITTING, threadpool_limits(1), warnings.catch_warnings():  # milliseconds: threads wait longer than they compute
                warnings.simplefilter("ignore", ConvergenceWarning)  # a hundred steps are meant
                model: Any = LogisticRegression(C=c, max_iter=MOST_STEPS, random_state=SEED).fit(own, self.targets[part[0]])
                predicted.append(np.asarray(model.predict(others), np.int64))
        return np.stack(predicted)


def scaled(features: Vectors) -> Vectors:
    """The features with a mean length of √dim."""
    length = float(np.linalg.norm(features, axis=1).mean()) or 1.0
    return features * np.float32(features.shape[1] ** 0.5 / length)


def _stratified(targets: Integers, rows: Integers, folds: int) -> list[Mask]:
    """The rows cut in parts with the same share of each class, as masks over all rows."""
    parts = StratifiedKFold(folds, shuffle=True, random_state=SEED).split(np.zeros(len(rows)), targets[rows])
    return [np.isin(np.arange(len(targets)), rows[part]) for _, part in parts]


def _share(rest: Mask) -> Mask:
    """A share of these rows by which the last fit is stopped."""
    rows = np.flatnonzero(rest)
    chosen = np.random.default_rng(SEED).choice(rows, max(1, round(DEV_SHARE * len(rows))), replace=False)
    return np.isin(np.arange(len(rest)), chosen)
