"""Transfer, the quick form: scikit-learn's logistic regression, as SentEval's own for a first look (usepytorch off, kfold 5).

Figures can be points away from those of the real protocol, as C is high for features of this length: compare quick with quick ones.
"""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from threadpoolctl import threadpool_limits

from sbert_app.corpus.ranking.lexical import WORD
from sbert_app.errors import UserError
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.training import transfer
from sbert_app.training.linear_heads import Tick
from sbert_app.training.transfer import SEED, Mask, Targets, Transfer, scaled, stratified
from sbert_app.vectors import Vectors

FOLDS = 5
C = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # inverse strengths; SentEval's for nested folds and for a dev part
C_OF_FOLDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # its own where folds of a train part choose
MOST_STEPS = 100  # scikit-learn's default, as in SentEval
QUICK = "quick: scikit-learn's logistic regression"

# One fit at a time: the number of BLAS's threads and the filters of warnings belong to the process, and two that overlap would
# restore each other's. The only mutable object here.
FITTING = threading.Lock()
NAME = "tf-idf of the training rows, scikit-learn's logistic regression"


def learn(features: Vectors, data: LabelledSentences, tick: Tick = lambda: None) -> Transfer:
    """How well the classes are learnt from features (n, dim). Each class has FOLDS rows or more."""
    features = scaled(features)
    fits = Fits(lambda train, rows: (features[train], features[rows]), data.targets, tick)
    return _learnt(fits, C_OF_FOLDS if data.test is not None and data.dev is None else C, FOLDS, QUICK, data)


class Fits:
    """Classifiers on parts of the same rows. parts: (training rows, other rows) -> the features of both."""

    def __init__(self, parts: Callable[[Mask, Mask], tuple[Any, Any]], targets: Targets, tick: Tick) -> None:
        self.targets, self._parts, self._tick = targets, parts, tick

    def best(self, strengths: tuple[float, ...], devs: list[Mask], train: Mask) -> float:
        """The C of the highest mean accuracy on these parts, each time learnt from the other training rows."""
        right = [self.predict(strengths, train & ~dev, dev) == self.targets[dev] for dev in devs]
        return strengths[int(np.mean([part.mean(1) for part in right], axis=0).argmax())]

    def predict(self, strengths: tuple[float, ...], train: Mask, rows: Mask) -> Targets:
        """The classes of these rows by classifiers that learnt from the training rows, one for each C, (C, rows)."""
        own, others = self._parts(train, rows)
        return np.stack([self._fit(c, own, self.targets[train], others) for c in strengths])

    def _fit(self, c: float, own: Any, targets: Targets, others: Any) -> Targets:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        self._tick()
        with (
            FITTING,
            threadpool_limits(1),
            warnings.catch_warnings(),
        ):  # a fit takes milliseconds: threads wait longer than they compute
            warnings.simplefilter("ignore", ConvergenceWarning)  # a hundred steps are meant
            model: Any = LogisticRegression(C=c, max_iter=MOST_STEPS, random_state=SEED)
            model.fit(own, targets)
            return np.asarray(model.predict(others), np.int64)


def _nested(fits: Fits, strengths: tuple[float, ...], folds: int, name: str) -> Transfer:
    """Nested cross-validation: in each fold C is chosen by folds of the rest."""
    targets = fits.targets
    predicted, shares, chosen = np.empty_like(targets), [], []
    for test in stratified(targets, np.arange(len(targets)), folds):
        chosen.append(fits.best(strengths, stratified(targets, np.flatnonzero(~test), folds), ~test))
        predicted[test] = fits.predict((chosen[-1],), ~test, test)[0]
        shares.append(float((predicted == targets)[test].mean()))
    return Transfer(float(np.mean(shares)), shares, chosen, predicted, f"{name}, nested cross-validation, {folds} folds")


def _learnt(fits: Fits, strengths: tuple[float, ...], folds: int, name: str, data: LabelledSentences) -> Transfer:
    """On the test part, if there is one: C is chosen by folds of the rest, or on the dev part."""
    test, dev = data.test, data.dev
    if test is None:
        return _nested(fits, strengths, folds, name)
    train = ~test if dev is None else ~test & ~dev
    how = f"by {folds} folds of the rest" if dev is None else "on the dev part"
    chosen = fits.best(strengths, stratified(fits.targets, np.flatnonzero(train), folds) if dev is None else [dev], train)
    predicted = fits.predict((chosen,), train, test)[0]
    accuracy = float((predicted == fits.targets[test]).mean())
    return Transfer(accuracy, [accuracy], [chosen], predicted, f"{name}, test part, C chosen {how}")


def count_words(data: LabelledSentences) -> Any:
    """How often each word occurs in each sentence, sparse (n, words). Raises UserError for pairs, and without any word."""
    if data.partners:
        raise UserError("Learns classes of sentences from their words, not of pairs.")
    try:
        return CountVectorizer(token_pattern=WORD.pattern).fit_transform(data.sentences).tocsr()
    except ValueError as error:
        raise UserError("No sentence has a word.") from error


def learn_words(counts: Any, data: LabelledSentences, quick: bool = False, tick: Tick = lambda: None) -> Transfer:
    """How well the classes are learnt: the folds of the embeddings' protocol, the strength chosen by folds of the training rows.

    As scikit-learn's TfidfVectorizer fitted to the training rows of each fold: words and their rarity are theirs alone.
    """

    def parts(train: Mask, rows: Mask) -> tuple[Any, Any]:
        known = np.flatnonzero(counts[train].getnnz(axis=0))
        own = counts[train][:, known]
        rarity = TfidfTransformer().fit(own)
        return rarity.transform(own), rarity.transform(counts[rows][:, known])

    return _learnt(Fits(parts, data.targets, tick), C_OF_FOLDS, FOLDS if quick else transfer.FOLDS, NAME, data)
