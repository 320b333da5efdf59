"""An index of unit vectors with FAISS: built in passes, tuned to a recall, searched by inner product, that is by cosine."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.vectors import Mask, Rows, Vectors

FLAT, EXACT, IVF, HNSW, SCANN = "flat", "exact", "ivf", "hnsw", "scann"
INDEXES = {  # of collections; "flat" holds the vectors of a corpus in memory as they are
    EXACT: "every row is compared",
    IVF: "inverted lists, 8 bits a number",
    HNSW: "a graph of near rows, 8 bits a number",
    SCANN: "inverted lists, 2 bits a number, the best candidates compared again; in a folder only",
}
TARGET_RECALL = 0.995
TOP, TIE = 10, 1e-4  # of recall@10; float16 embeddings whose cosines differ by less are equally close
TRAINING_ROWS_PER_LIST, LEAST_TRAINING_ROWS = 40, 10_000
REFINED, LEAST_REFINED = 5, 100  # candidates for each row asked for, and at least (before tuning), that are compared again
CODES = 16  # of 4 bits: fewer rows cannot teach them
LINKS, BUILD_DEPTH, MOST_CANDIDATES = 16, 100, 1024  # of HNSW: links a row on each level, candidates while one is added, of a query
TABLES = 8  # times the bytes of its centres: the largest table that FAISS computes for an index of 4-bit codes while it reads it
LAYOUT = ("d", "metric_type", "nlist", "code_size", "by_residual", "M", "M2", "ksub", "bbs", "implem", "qbs")  # of FAISS
READING = threading.Lock()


class FaissIndex:
    """Positions 0..n-1 searched by inner product. Approximate ones give candidates, which are compared again."""

    def __init__(self, kind: str, index: Any, depth: int = LEAST_REFINED) -> None:
        """depth: the number of candidates compared again, at least."""
        self.kind, self.index, self.depth = kind, index, depth

    @property
    def nbytes(self) -> int:
        """Memory in bytes: its numbers or codes, and of inverted lists ids and centres."""
        lists = getattr(self.index, "nlist", 0)
        code_bytes = getattr(self.index, "code_size", self.index.d) + (8 if lists else 0)
        return int(self.index.ntotal * code_bytes + lists * self.index.d * 4)

    @classmethod
    def build(cls, kind: str, dim: int, rows: int, sample: Vectors, batches: Iterable[Vectors]) -> "FaissIndex":
        """Index unit rows given in batches. sample: rows to train on, see `training_rows`."""
        index = _empty(kind, dim, rows)
        index.train(sample)
        for batch in batches:
            index.add(batch)
        return cls(kind, index)

    def tune(
        self, own: Rows, exact: tuple[Vectors, Rows], vectors: Callable[[Rows], Vectors], first_share: int, tie: float = TIE
    ) -> float:
        """Let a query read more, or compare more candidates again, whichever helps more, until the target; return the recall.

        own: the rows it is measured on; exact: their closest rows, see `recall`; first_share: it begins with one list in so many.
        """
        queries = vectors(own)

        def at(reads: int, depth: int) -> float:
            self.reads, self.depth = reads, depth
            return recall(*exact, *closest(queries, self.candidates(queries, TOP + 1), TOP + 1, vectors), own, tie)

        most, rows = self.most_reads, self.index.ntotal
        reads, depth = max(1, most // first_share), self.depth
        reached = at(reads, depth)
        while reached < TARGET_RECALL and (reads < most or depth < rows):
            wider, deeper = min(most, int(reads * 1.25) + 1), min(rows, depth * 2)
            by_reads = at(wider, depth) if wider > reads else 0.0
            by_depth = at(reads, deeper) if deeper > depth else 0.0
            if by_depth > by_reads or wider == reads:
                reached, depth = by_depth, deeper
            else:
                reached, reads = by_reads, wider
        self.reads, self.depth = reads, depth
        return reached

    @property
    def reads(self) -> int:
        """How much one query reads: lists of IVF, candidates of HNSW; 0 for exact search."""
        return int(self.index.hnsw.efSearch if self.kind == HNSW else getattr(self.index, "nprobe", 0))

    @reads.setter
    def reads(self, value: int) -> None:
        if self.kind == HNSW:
            self.index.hnsw.efSearch = value
        elif hasattr(self.index, "nprobe"):
            self.index.nprobe = value

    @property
    def most_reads(self) -> int:
        return MOST_CANDIDATES if self.kind == HNSW else getattr(self.index, "nlist", 0)

    def candidates(self, queries: Vectors, top: int, mask: Mask | None = None) -> Rows:
        """Positions near unit queries, (q, top or more), -1 for none, in no reliable order. mask: which may be returned, (n,)."""
        depth = min(self.index.ntotal, top if self.kind == EXACT else max(top * REFINED, self.depth))
        parameters = None if mask is None else self._parameters(mask)
        _, positions = self.index.search(np.ascontiguousarray(queries), depth, params=parameters)
        if positions.min(initial=-1) < -1 or positions.max(initial=-1) >= self.index.ntotal:
            raise ValueError("its index names rows that are not there")
        return np.asarray(positions, dtype=np.int64)

    def _parameters(self, mask: Mask) -> Any:
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
        _faiss().write_index(self.index, str(path))

    @classmethod
    def load(cls, kind: str, path: Path, dim: int, rows: int, reads: int, depth: int) -> "FaissIndex":
        """Load what `save` wrote. Verify its checksum first. Raises ValueError for another index than `build` makes."""
        index, built = read_index(path), _empty(kind, dim, rows)
        if type(index) is not type(built) or index.ntotal != rows or _layout(index) != _layout(built):
            raise ValueError("its index is another")
        loaded = cls(kind, index, depth)
        if not (0 <= reads <= loaded.most_reads and 0 < depth <= max(rows, LEAST_REFINED)):
            raise ValueError("its index reads more than it has")
        loaded.reads = reads
        return loaded


def read_index(path: Path) -> Any:
    """Read an index of FAISS, whose parts may not claim much more memory than the file has. Raises RuntimeError if damaged."""
    faiss = _faiss()
    with READING:  # the limit holds for all threads
        faiss.set_deserialization_vector_byte_limit(TABLES * path.stat().st_size)
        return faiss.read_index(str(path))


def lists(rows: int) -> int:
    """The number of inverted lists for so many rows."""
    return max(1, int(rows**0.5))


def training_rows(kind: str, rows: int, least: int = LEAST_TRAINING_ROWS) -> int:
    """How many rows an index of so many rows is trained on."""
    return min(rows, 1 if kind == EXACT else max(lists(rows) * TRAINING_ROWS_PER_LIST, least))


def closest(queries: Vectors, candidates: Iterable[Rows], top: int, vectors: Callable[[Rows], Vectors]) -> tuple[Vectors, Rows]:
    """The best `top` of the candidates of each query, -1 for none, by the vectors themselves: cosines and rows, (q, top)."""
    scores, rows = np.full((len(queries), top), -1, dtype=np.float32), np.full((len(queries), top), -1, dtype=np.int64)
    for number, (query, near) in enumerate(zip(queries, candidates, strict=True)):
        near = near[near >= 0]
        cosines = vectors(near) @ query
        best = np.argsort(-cosines, kind="stable")[:top]
        scores[number, : len(best)], rows[number, : len(best)] = cosines[best], near[best]
    return scores, rows


def recall(exact: Vectors, exact_rows: Rows, returned: Vectors, returned_rows: Rows, queries: Rows, tie: float = TIE) -> float:
    """The share of the ten closest rows that a search returned, 0..1, without each query's own row.

    exact, returned: cosines, (q, TOP + 1), best first; with their rows; queries: the rows that were searched for, (q,). A row as
    close as the tenth counts as one of the ten: equal sentences are in no order.
    """
    shares = []
    for truth, cosines, true_rows, rows, own in zip(exact, returned, exact_rows, returned_rows, queries, strict=True):
        if len(others := truth[(true_rows != own) & (true_rows >= 0)][:TOP]):
            near = cosines[(rows != own) & (rows >= 0)] >= others[-1] - tie
            shares.append(min(int(near.sum()), len(others)) / len(others))
    return float(np.mean(shares)) if shares else 1.0


def _layout(index: Any) -> list[object]:
    """What an index of a kind, dimensions and rows always has the same, as far as it has it."""
    codes = [getattr(index, part, None) for part in ("pq", "sq")]
    values = [getattr(each, name, None) for each in codes for name in ("d", "M", "nbits", "qtype", "code_size")]
    coarse = _faiss().downcast_index(index.quantizer) if hasattr(index, "quantizer") else None
    coarse_values = [type(coarse), getattr(coarse, "d", None), getattr(coarse, "metric_type", None)]
    return [*(getattr(index, name, None) for name in LAYOUT), *values, *coarse_values]


def _empty(kind: str, dim: int, rows: int) -> Any:
    faiss = _faiss()
    coarse, by_product, codes = faiss.IndexFlatIP(dim), faiss.METRIC_INNER_PRODUCT, faiss.ScalarQuantizer  # the default is L2
    if kind == FLAT:
        return coarse
    if kind == EXACT:
        return faiss.IndexScalarQuantizer(dim, codes.QT_fp16, by_product)
    if kind == HNSW:
        index = faiss.IndexHNSWSQ(dim, codes.QT_8bit, LINKS, by_product)
        index.hnsw.efConstruction = BUILD_DEPTH
        return index
    if kind == SCANN and dim % 2 == 0 and rows >= CODES:  # each pair of numbers a code of 4 bits, for a first choice
        index = faiss.IndexIVFPQFastScan(coarse, dim, lists(rows), dim // 2, 4, by_product)
    else:
        index = faiss.IndexIVFScalarQuantizer(coarse, dim, lists(rows), codes.QT_8bit if kind == IVF else codes.QT_fp16, by_product)
    index.cp.min_points_per_centroid = 1
    return index


def _faiss() -> Any:
    """The library, whose stubs lack what its Python part adds."""
    import faiss

    return faiss
