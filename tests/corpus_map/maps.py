"""A small map made by hand: three groups of four rows and two outliers, without a model."""

import numpy as np
import pandas as pd

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.corpus_map.result import CorpusMap, Projection
from sbert_app.mapping.clusters import DENSITY, Clustering

TOPICS = ("invoice paid twice", "parcel arrived broken", "password reset mail")
LABELS = np.array([0] * 4 + [1] * 4 + [2] * 4 + [-1] * 2, np.int32)
TEAMS = ["Billing"] * 4 + ["Shipping", "", "Shipping", "Billing"] + ["Technical"] * 6


def small_map(outliers: float = 1.0) -> CorpusMap:
    """outliers: the accepted share."""
    rows = len(LABELS)
    sentences = [f"{TOPICS[label]} {i}" if label >= 0 else f"{TOPICS[1]} {TOPICS[2]} {i}" for i, label in enumerate(LABELS)]
    metadata = pd.DataFrame({"team": TEAMS, "amount": [str(i) for i in range(rows)]}, dtype=str)
    corpus = Corpus("small.csv", ("text",), sentences, metadata, np.arange(1, rows + 1))
    centres = np.array([[0, 0], [10, 0], [10.0, 10], [10, 6]])
    points = (centres[LABELS] + np.random.default_rng(0).normal(size=(rows, 2)) / 10).astype(np.float32)
    vectors = np.hstack([np.eye(4, dtype=np.float32)[LABELS], points / 20]).astype(np.float32)
    indexed = IndexedCorpus.build(corpus, "a-model", "", vectors)
    projection = Projection(indexed, points, np.arange(rows), "by hand", {})
    return CorpusMap.build(projection, Clustering(LABELS, DENSITY, "by hand"), outliers, (DENSITY, None))
