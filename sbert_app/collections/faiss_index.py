"""An index of a collection's embeddings with FAISS: built in passes over the parts, searched from a file."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.collections.collection import EXACT, HNSW, SCANN, Rows
from sbert_app.corpus.index import LEAST_REFINED, REFINED, inverted_lists, read_index, tuned
from sbert_app.vectors import Vectors

TRAINING_ROWS_PER_LIST = 40
LINKS, BUILD_DEPTH = 16, 100  # of HNSW: links a row on each level, and candidates while a row is added
MOST_CANDIDATES = 1024  # of HNSW
FIRST_SHARE = 64  # the first setting tried reads one in 64 lists
LAYOUT = ("d", "metric_type", "nlist", "code_size", "by_residual", "M", "M2", "ksub", "bbs", "implem", "qbs")  # of FAISS

Measure = Callable[["FaissIndex"], float]


class FaissIndex:
    """Positions 0..n-1 searched by inner product. Approximate ones give candidates, which the collection compares again."""

    def __init__(self, kind: str, index: Any, depth: int = LEAST_REFINED) -> None:
        """depth: the number of candidates compared again, at least."""
        self.kind = kind
        self.index = index
        self.depth = depth

    @property
    def nbytes(self) -> int:
        """Approximate memory in bytes: one or, exact, two for each number."""
        return int(self.index.ntotal) * int(self.index.d) * (2 if self.kind == EXACT else 1)

    @classmethod
    def build(cls, kind: str, dim: int, rows: int, sample: Vectors, batches: Iterable[Vectors]) -> "FaissIndex":
        """Index unit rows given in batches. sample: rows to train on, see `training_rows`."""
        index = _empty(kind, dim, rows)
        index.train(sample)
        for batch in batches:
            index.add(batch)
        return cls(kind, index)

    @staticmethod
    def training_rows(kind: str, rows: int) -> int:
        """How many rows an index of so many rows is trained on."""
        return min(rows, max(lists(rows) * TRAINING_ROWS_PER_LIST, 10_000)) if kind != EXACT else min(rows, 1)

    def tune(self, measure: Measure) -> float:
        """Read more per query until the recall that `measure` gives reaches the target, and return it."""
        if self.kind == EXACT:
            return 1.0

        def at(reads: int, depth: int) -> float:
            self.reads, self.depth = reads, depth
            return measure(self)

        most = MOST_CANDIDATES if self.kind == HNSW else self.index.nlist
        recall, self.reads, self.depth = tuned(at, max(1, most // FIRST_SHARE), most, self.depth, self.index.ntotal)
        return recall

    @property
    def reads(self) -> int:
        """How much one query reads: lists of IVF, candidates of HNSW; 0 for exact search."""
        return int({EXACT: lambda: 0, HNSW: lambda: self.index.hnsw.efSearch}.get(self.kind, lambda: self.index.nprobe)())

    @reads.setter
    def reads(self, value: int) -> None:
        if self.kind == HNSW:
            self.index.hnsw.efSearch = value
        elif self.kind != EXACT:
            self.index.nprobe = value

    def candidates(self, queries: Vectors, top: int, mask: NDArray[np.bool_] | None = None) -> Rows:
        """Positions near unit queries, (q, at least top where there are so many), -1 for none, in no reliable order.

        mask: (n,), which positions may be returned.
        """
        depth = min(self.index.ntotal, top if self.kind == EXACT else max(top * REFINED, self.depth))
        parameters = None if mask is None else self._parameters(mask)
        _, positions = self.index.search(np.ascontiguousarray(queries), depth, params=parameters)
        if positions.min(initial=-1) < -1 or positions.max(initial=-1) >= self.index.ntotal:
            raise ValueError("its index names rows that are not there")
        return np.asarray(positions, dtype=np.int64)

    def _parameters(self, mask: NDArray[np.bool_]) -> Any:
        """A narrow filter makes IVF read more lists, HNSW more candidates, so that enough rows remain."""
        faiss = _faiss()
        chosen = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        more = int(np.ceil(self.reads / max(float(mask.mean()), 1e-6)))
        if self.kind == EXACT:
            return faiss.SearchParameters(sel=chosen)
        if self.kind == HNSW:
            return faiss.SearchParametersHNSW(sel=chosen, efSearch=min(more, 4 * MOST_CANDIDATES))
        return faiss.SearchParametersIVF(sel=chosen, nprobe=min(more, self.index.nlist))

    def save(self, path: Path) -> None:
        faiss = _faiss()
        faiss.write_index(self.index, str(path))

    @classmethod
    def load(cls, kind: str, path: Path, dim: int, rows: int, reads: int, depth: int) -> "FaissIndex":
        """Load what `save` wrote. Verify its checksum first. Raises ValueError for another index than `build` makes."""
        index, built = read_index(path), _empty(kind, dim, rows)
        if type(index) is not type(built) or index.ntotal != rows or _layout(index) != _layout(built):
            raise ValueError("its index is another")
        most = MOST_CANDIDATES if kind == HNSW else getattr(index, "nlist", 0)
        if not (0 <= reads <= most and 0 < depth <= max(rows, LEAST_REFINED)):
            raise ValueError("its index reads more than it has")
        loaded = cls(kind, index, depth)
        loaded.reads = reads
        return loaded


def _layout(index: Any) -> list[object]:
    """What an index of a kind, dimensions and rows always has the same, as far as it has it."""
    values = [getattr(index, name, None) for name in LAYOUT]
    quantizers = [
        getattr(getattr(index, part, None), name, None)
        for part in ("pq", "sq")
        for name in ("d", "M", "nbits", "qtype", "code_size")
    ]
    coarse = _faiss().downcast_index(index.quantizer) if hasattr(index, "quantizer") else None
    return [*values, *quantizers, type(coarse), getattr(coarse, "d", None), getattr(coarse, "metric_type", None)]


def lists(rows: int) -> int:
    """The number of inverted lists for so many rows."""
    return max(1, int(rows**0.5))


def _empty(kind: str, dim: int, rows: int) -> Any:
    faiss = _faiss()
    by_product = faiss.METRIC_INNER_PRODUCT
    if kind == EXACT:
        return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, by_product)
    if kind == HNSW:
        index = faiss.IndexHNSWSQ(dim, faiss.ScalarQuantizer.QT_8bit, LINKS, by_product)
        index.hnsw.efConstruction = BUILD_DEPTH
        return index
    if kind == SCANN:
        return inverted_lists(dim, lists(rows))
    coarse = faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFScalarQuantizer(coarse, dim, lists(rows), faiss.ScalarQuantizer.QT_8bit, by_product)
    index.cp.min_points_per_centroid = 1
    return index


def _faiss() -> Any:
    """The library, whose stubs lack what its Python part adds."""
    import faiss

    return faiss
