"""Transfer, the quick form: scikit-learn's logistic regression, as SentEval's own for a first look (usepytorch off, kfold 5).

Figures can be points away from those of the real protocol, as C is high for features of this length: compare quick with quick ones.
"""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sbert_app.training.transfer import SEED, Targets, Transfer, scaled, stratified
from sbert_app.vectors import Vectors

FOLDS = 5
C = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # inverse strengths; SentEval's for nested folds and for a dev part
C_OF_FOLDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # its own where folds of a train part choose
MOST_STEPS = 100  # scikit-learn's default, as in SentEval
QUICK = "quick: scikit-learn's logistic regression"
Mask = NDArray[np.bool_]

# One fit at a time: the number of BLAS's threads and the filters of warnings belong to the process, and two that overlap would
# restore each other's. The only mutable object here.
FITTING = threading.Lock()


def cross_validated(features: Vectors, targets: Targets, tick: Callable[[], None] = lambda: None) -> Transfer:
    """Nested cross-validation, for data without a test part. features (n, dim), targets (n,), each class in FOLDS rows or more."""
    fits = _Fits(scaled(features), targets, tick)
    predicted, shares, chosen = np.empty_like(targets), [], []
    for test in stratified(targets, np.arange(len(targets)), FOLDS):
        chosen.append(fits.best(C, stratified(targets, np.flatnonzero(~test), FOLDS), ~test))
        predicted[test] = fits.predict(chosen[-1], ~test, test)
        shares.append(float((predicted == targets)[test].mean()))
    protocol = f"{QUICK}, nested cross-validation, {FOLDS} folds"
    return Transfer(float(np.mean(shares)), shares, chosen, predicted, protocol)


def with_test_part(
    features: Vectors, targets: Targets, test: Mask, dev: Mask | None = None, tick: Callable[[], None] = lambda: None
) -> Transfer:
    """For data with a test part: C is chosen by folds of the rest, or on the dev part if there is one."""
    fits = _Fits(scaled(features), targets, tick)
    if dev is None:
        train, how = ~test, f"by {FOLDS} folds of the rest"
        chosen = fits.best(C_OF_FOLDS, stratified(targets, np.flatnonzero(train), FOLDS), train)
    else:
        train, how = ~test & ~dev, "on the dev part"
        chosen = fits.best(C, [dev], train)
    predicted = fits.predict(chosen, train, test)
    accuracy = float((predicted == targets[test]).mean())
    return Transfer(accuracy, [accuracy], [chosen], predicted, f"{QUICK}, test part, C chosen {how}")


class _Fits:
    """Classifiers on parts of the same features."""

    def __init__(self, features: Vectors, targets: Targets, tick: Callable[[], None]) -> None:
        self._features, self._targets, self._tick = features, targets, tick

    def best(self, strengths: tuple[float, ...], devs: list[Mask], train: Mask) -> float:
        """The C of the highest mean accuracy on these parts, each time learnt from the other training rows."""
        means = [
            float(np.mean([(self.predict(c, train & ~dev, dev) == self._targets[dev]).mean() for dev in devs])) for c in strengths
        ]
        return strengths[int(np.argmax(means))]

    def predict(self, c: float, train: Mask, rows: Mask) -> Targets:
        """The classes of these rows by a classifier that learnt from the training rows."""
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
            model.fit(self._features[train], self._targets[train])
            return np.asarray(model.predict(self._features[rows]), np.int64)
