"""Is SentEval's protocol right here? Customer reviews (CR) beside a nested search by scikit-learn alone, and the quick form."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits

from sbert_app.labelled.labelled_sentences import LabelledSentences, read_labelled_sentences
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.training.transfer import learn
from sbert_app.vectors import Vectors
from tests.benchmarks import data
from tests.benchmarks.models import on_torch

STRENGTHS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]  # C, for features of variance 1


def oracle(features: Vectors, targets: np.ndarray) -> list[float]:
    """The accuracy of each of ten folds: C chosen by ten folds of the rest, then learnt from all of the rest."""
    folds, shares = StratifiedKFold(10, shuffle=True, random_state=1111), []
    for train, test in folds.split(features, targets):
        search = GridSearchCV(LogisticRegression(max_iter=1_000), {"C": STRENGTHS}, cv=folds)
        shares.append(float(search.fit(features[train], targets[train]).score(features[test], targets[test])))
    return shares


def report() -> dict[str, Any]:
    """Accuracy × 100 by each way, their seconds, and the difference with its standard error over folds."""
    reviews = read_labelled_sentences(read_table(data.DATA / "senteval" / "cr.tsv.gz", Limits()), Limits())
    features = on_torch().encode(reviews.sentences)
    features *= np.float32(1 / features.std())
    return compare(features, reviews)


def compare(features: Vectors, reviews: LabelledSentences) -> dict[str, Any]:
    """See `report`; without the embedding."""
    with threadpool_limits(1):
        ways: dict[str, Callable[[], list[float]]] = {
            "protocol": lambda: learn(features, reviews).folds,
            "quick": lambda: learn(features, reviews, quick=True).folds,
            "scikit-learn": lambda: oracle(features, reviews.targets),
        }
        folds, seconds = {}, {}
        for name, way in ways.items():
            start = time.perf_counter()
            folds[name] = way()
            seconds[name] = round(time.perf_counter() - start, 1)
    difference = 100 * (np.array(folds["protocol"]) - folds["scikit-learn"])
    return {
        "sentences": len(reviews.sentences),
        "accuracy": {name: round(100 * float(np.mean(shares)), 2) for name, shares in folds.items()},
        "difference": round(float(difference.mean()), 2),
        "standard_error": round(float(difference.std(ddof=1) / len(difference) ** 0.5), 2),
        "seconds": seconds,
    }
