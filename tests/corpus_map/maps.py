"""A small map made by hand: three groups of four rows and two outliers, without a model."""

import numpy as np
import pandas as pd

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.corpus_map.result import CorpusMap, Projection
from sbert_app.mapping.clusters import DENSITY, K_MEANS, Clustering

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


def grouped_map(clusters: int, rows: int, seed: int = 5) -> CorpusMap:
    """A map of `clusters` round groups of different sizes, larger ones first, as far apart as on a drawn one."""
    random = np.random.default_rng(seed)
    side = int(np.ceil(clusters**0.5))
    cells = random.permutation(side * side)[:clusters]
    centres = np.stack([cells % side, cells // side], axis=1) + random.uniform(-0.25, 0.25, (clusters, 2))
    weights = np.sort(random.uniform(0.3, 2, clusters))[::-1]
    sizes = np.bincount(random.choice(clusters, rows - clusters, p=weights / weights.sum()), minlength=clusters) + 1
    labels = np.repeat(np.arange(clusters, dtype=np.int32), np.sort(sizes)[::-1])
    points = (centres[labels] + random.normal(size=(rows, 2)) * 0.12).astype(np.float32) * 20 / side
    sentences = [f"theme{label} {'matter' if label % 2 else 'affair'}{label} {i}" for i, label in enumerate(labels)]
    corpus = Corpus("groups.csv", ("text",), sentences, pd.DataFrame(index=range(rows)), np.arange(1, rows + 1))
    vectors = np.hstack([points, np.ones((rows, 1))]).astype(np.float32)
    indexed = IndexedCorpus.build(corpus, "a-model", "", vectors)
    projection = Projection(indexed, points, np.arange(rows), "by hand", {})
    return CorpusMap.build(projection, Clustering(labels, K_MEANS, "by hand"), 1.0, (K_MEANS, clusters))


def map_in_thirds(indexed: IndexedCorpus) -> CorpusMap:
    """A map of a corpus, all its points at one place, of three clusters to which the rows belong in turn."""
    rows = np.arange(len(indexed.corpus))
    projection = Projection(indexed, np.zeros((len(rows), 2), np.float32), rows, "by hand", {})
    return CorpusMap.build(projection, Clustering((rows % 3).astype(np.int32), K_MEANS, "by hand"), 1.0, (K_MEANS, 3))
