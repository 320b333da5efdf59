"""Nearest neighbours by cosine with FAISS: exact while that is fast, approximate with a measured recall beyond."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Vectors

# Measured on 2 cores, 384 dimensions, one query: exact takes 0.4 ms for 10,000 rows, 5 ms for 100,000, 16 to 43 ms for 300,000.
# Inverted lists of 4-bit codes, the best candidates compared again, take 0.8 ms over 300,000 at recall 0.993, 114 bytes a row; of
# float16 numbers 6 ms and 770 bytes. HNSW takes 1.7 ms at recall 0.990, and minutes to build instead of seconds.
EXACT_ROWS = 100_000
TARGET_RECALL = 0.995
RECALL_QUERIES = 200
TRAINING_ROWS_PER_LIST = 40
REFINED, LEAST_REFINED = 5, 100  # candidates for each row asked for, and at least (before tuning), that are compared again
READING = threading.Lock()
TABLES = 8  # times the bytes of its centres: the largest table that FAISS computes for an index of 4-bit codes while it reads it

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class IndexReport:
    """How an index was built. `recall` is recall@10 against exact search, measured on rows of this corpus.

    candidates: how many of an approximate index are compared again at least.
    """

    kind: str  # "exact" or "approximate"
    rows: int
    megabytes: float
    build_seconds: float
    recall: float
    recall_queries: int
    candidates: int = LEAST_REFINED


class VectorIndex:
    """Unit vectors searched by inner product, that is by cosine: scores in -1..1, higher is closer."""

    def __init__(self, index: Any, report: IndexReport, vectors: Vectors) -> None:
        self.report = report
        self._index = index
        self._vectors = vectors

    @classmethod
    def build(cls, vectors: Vectors, exact: bool | None = None) -> "VectorIndex":
        """Index unit rows, (n, dim) float32, n >= 1. exact: None decides by the number of rows."""
        start = time.perf_counter()
        exact = len(vectors) <= EXACT_ROWS if exact is None else exact
        index = _exact(vectors) if exact else _approximate(vectors)
        recall, candidates = (1.0, 0) if exact else _tuned(index, vectors)
        report = IndexReport(
            kind="exact" if exact else "approximate",
            rows=len(vectors),
            megabytes=_nbytes(index) / 1e6,
            build_seconds=time.perf_counter() - start,
            recall=recall,
            recall_queries=0 if exact else min(RECALL_QUERIES, len(vectors)),
            candidates=candidates,
        )
        return cls(index, report, vectors)

    def search(self, queries: Vectors, top: int) -> tuple[Vectors, Rows]:
        """Find the closest rows of unit queries, best first: scores and rows, (q, min(top, n)); row -1 where none was found."""
        queries, top = np.ascontiguousarray(queries), min(top, self.report.rows)
        if self.report.kind == "exact":
            scores, rows = self._index.search(queries, top)
            return scores, rows
        return _refined(self._index, self._vectors, queries, top, self.report.candidates)

    def save(self, folder: Path) -> None:
        import faiss

        faiss.write_index(self._index, str(folder / "index.faiss"))
        (folder / "index.json").write_text(json.dumps(asdict(self.report)), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, vectors: Vectors) -> "VectorIndex":
        """Load what `save` wrote for these vectors. Verify its checksum first: FAISS trusts the file."""
        report = IndexReport(**json.loads((folder / "index.json").read_text(encoding="utf-8")))
        index = read_index(folder / "index.faiss")
        if index.ntotal != report.rows:
            raise ValueError(f"the index holds {index.ntotal} rows, its report {report.rows}")
        return cls(index, report, vectors)


def read_index(path: Path) -> Any:
    """Read an index of FAISS, whose parts may not claim much more memory than the file has. Raises RuntimeError if damaged."""
    import faiss

    with READING:  # the limit holds for all threads
        faiss.set_deserialization_vector_byte_limit(TABLES * path.stat().st_size)
        return faiss.read_index(str(path))


def _exact(vectors: Vectors) -> Any:
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def _approximate(vectors: Vectors) -> Any:
    rows, dim = vectors.shape
    index = inverted_lists(dim, int(rows**0.5))
    index.train(vectors[_sample(rows, index.nlist * TRAINING_ROWS_PER_LIST)])
    index.add(vectors)
    return index


def inverted_lists(dim: int, lists: int) -> Any:
    """An empty index of inverted lists, each pair of numbers a code of 4 bits, for a first choice; float16 for an odd `dim`."""
    import faiss

    coarse, by_product = faiss.IndexFlatIP(dim), faiss.METRIC_INNER_PRODUCT  # the default is L2
    index: Any
    if dim % 2:
        index = faiss.IndexIVFScalarQuantizer(coarse, dim, lists, faiss.ScalarQuantizer.QT_fp16, by_product)
    else:
        index = faiss.IndexIVFPQFastScan(coarse, dim, lists, dim // 2, 4, by_product)
    index.cp.min_points_per_centroid = 1
    return index


def _refined(index: Any, vectors: Vectors, queries: Vectors, top: int, least: int) -> tuple[Vectors, Rows]:
    """The best `top` of the index's candidates, at least so many, by the vectors themselves."""
    candidates = index.search(queries, min(max(top * REFINED, least), len(vectors)))[1]
    scores, rows = np.full((len(queries), top), -1, dtype=np.float32), np.full((len(queries), top), -1, dtype=np.int64)
    for number, (query, near) in enumerate(zip(queries, candidates, strict=True)):
        near = near[near >= 0]
        cosines = vectors[near] @ query
        best = np.argsort(-cosines, kind="stable")[:top]
        scores[number, : len(best)], rows[number, : len(best)] = cosines[best], near[best]
    return scores, rows


def _nbytes(index: Any) -> int:
    """Memory of an index in bytes: its numbers or codes, and of inverted lists ids and centres."""
    lists = getattr(index, "nlist", 0)
    return int(index.ntotal * (index.code_size + (8 if lists else 0)) + lists * index.d * 4)


def _tuned(index: Any, vectors: Vectors) -> tuple[float, int]:
    """Tune the lists read by a query to rows of the corpus: recall@10 without the row itself, candidates to compare again."""
    import faiss

    sample = _sample(len(vectors), RECALL_QUERIES)
    queries = vectors[sample]
    truth = faiss.knn(queries, vectors, 11, metric=faiss.METRIC_INNER_PRODUCT)[1]

    def measure(reads: int, candidates: int) -> float:
        index.nprobe = reads
        return _recall(truth, _refined(index, vectors, queries, 11, candidates)[1], sample)

    recall, index.nprobe, candidates = tuned(measure, max(1, index.nlist // 16), index.nlist, LEAST_REFINED, len(vectors))
    return recall, candidates


def tuned(
    measure: Callable[[int, int], float], reads: int, most_reads: int, candidates: int, most_candidates: int
) -> tuple[float, int, int]:
    """Let a query read more, or compare more candidates again, whichever helps more, until recall reaches the target.

    measure: the recall at (reads, candidates). Returns recall, reads and candidates.
    """
    recall = measure(reads, candidates)
    while recall < TARGET_RECALL and (reads < most_reads or candidates < most_candidates):
        wider, deeper = min(most_reads, int(reads * 1.25) + 1), min(most_candidates, candidates * 2)
        by_reads = measure(wider, candidates) if wider > reads else 0.0
        by_candidates = measure(reads, deeper) if deeper > candidates else 0.0
        if by_candidates > by_reads or wider == reads:
            recall, candidates = by_candidates, deeper
        else:
            recall, reads = by_reads, wider
    return recall, reads, candidates


def _recall(truth: Rows, returned: Rows, queries: Rows) -> float:
    results = zip(truth.tolist(), returned.tolist(), queries.tolist(), strict=True)
    return float(np.mean([len((set(t) & set(r)) - {q}) / len(set(t) - {q}) for t, r, q in results]))


def _sample(rows: int, most: int) -> Rows:
    return np.random.default_rng(0).choice(rows, min(rows, most), replace=False)
