"""Nearest neighbours by cosine among vectors in memory: exact while that is fast, approximate with a measured recall beyond."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sbert_app.corpus.faiss_index import FLAT, LEAST_REFINED, SCANN, TOP, FaissIndex, closest, read_index, training_rows
from sbert_app.vectors import Rows, Vectors

# Measured on 2 cores, 384 dimensions, one query: exact takes 0.4 ms for 10,000 rows, 5 ms for 100,000, 16 to 43 ms for 300,000.
# Inverted lists of 4-bit codes, the best candidates compared again, take 0.8 ms over 300,000 at recall 0.993, 114 bytes a row; of
# float16 numbers 6 ms and 770 bytes. HNSW takes 1.7 ms at recall 0.990, and minutes to build instead of seconds.
EXACT_ROWS = 100_000
RECALL_QUERIES = 200
FIRST_SHARE = 16  # see `FaissIndex.tune`
TIE = 1e-6  # cosines of float32 vectors that differ by less are equally close


@dataclass(frozen=True)
class IndexReport:
    """How an index was built."""

    kind: str  # "exact" or "approximate"
    rows: int
    megabytes: float
    build_seconds: float
    recall: float  # recall@10 against exact search, measured on rows of this corpus
    recall_queries: int
    candidates: int = LEAST_REFINED  # of an approximate index, that are compared again, at least


class VectorIndex:
    """Unit vectors searched by inner product, that is by cosine: scores in -1..1, higher is closer."""

    def __init__(self, index: FaissIndex, report: IndexReport, vectors: Vectors) -> None:
        self.report, self._index, self._vectors = report, index, vectors

    @classmethod
    def build(cls, vectors: Vectors, exact: bool | None = None) -> "VectorIndex":
        """Index unit rows, (n, dim) float32. exact: None decides by the number of rows."""
        start, (rows, dim) = time.perf_counter(), vectors.shape
        exact = rows <= EXACT_ROWS if exact is None else exact
        training = vectors[:0] if exact else vectors[sampled(rows, training_rows(SCANN, rows, least=0))]
        index = FaissIndex.build(FLAT if exact else SCANN, dim, rows, training, [vectors])
        kind, recall, queries, candidates = "exact", 1.0, 0, 0
        if not exact:
            import faiss

            sample = sampled(rows, RECALL_QUERIES)
            nearest = faiss.knn(vectors[sample], vectors, TOP + 1, metric=faiss.METRIC_INNER_PRODUCT)
            recall = index.tune(sample, nearest, vectors.__getitem__, FIRST_SHARE, TIE)
            kind, queries, candidates = "approximate", len(sample), index.depth
        seconds = time.perf_counter() - start
        return cls(index, IndexReport(kind, rows, index.nbytes / 1e6, seconds, recall, queries, candidates), vectors)

    def search(self, queries: Vectors, top: int) -> tuple[Vectors, Rows]:
        """Find the closest rows of unit queries, best first: scores and rows, (q, min(top, n)); row -1 where none was found."""
        top = min(top, self.report.rows)
        if self.report.kind == "exact":
            return self._index.index.search(np.ascontiguousarray(queries), top)
        return closest(queries, self._index.candidates(queries, top), top, self._vectors.__getitem__)

    def save(self, folder: Path) -> None:
        self._index.save(folder / "index.faiss")
        (folder / "index.json").write_text(json.dumps(asdict(self.report)), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, vectors: Vectors) -> "VectorIndex":
        """Load what `save` wrote for these vectors, or an earlier version. Verify its checksum first: FAISS trusts the file."""
        report = IndexReport(**json.loads((folder / "index.json").read_text(encoding="utf-8")))
        index = read_index(folder / "index.faiss")
        if index.ntotal != report.rows:
            raise ValueError(f"the index holds {index.ntotal} rows, its report {report.rows}")
        return cls(FaissIndex(FLAT if report.kind == "exact" else SCANN, index, report.candidates), report, vectors)


def sampled(rows: int, most: int) -> Rows:
    """At most so many of the numbers below `rows`, at random, always the same."""
    return np.random.default_rng(0).choice(rows, min(rows, most), replace=False)
