"""What a bulk run will take: rows, and bytes on disk and in memory by kind of index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sbert_app.bulk.inputs import kind_of
from sbert_app.bulk.reading import Chunk
from sbert_app.collections.collection import EXACT, HNSW, IVF, SCANN

PACKED = 3.0  # characters a byte of .gz
LINKS = 16  # of HNSW, a row
ID_BYTES = 16  # of a row's id and place in memory

# Bytes of the index a row, by dimensions. Exact search compares the float16 embeddings themselves; IVF keeps them in 8 bits a
# number, with an id; HNSW has links of 4 bytes besides, twice as many on its lowest level; SCANN has 2 bits a number.
INDEX_BYTES: dict[str, Callable[[int], int]] = {
    EXACT: lambda dim: 2 * dim,
    IVF: lambda dim: dim + 8,
    HNSW: lambda dim: dim + 8 + 4 * 2 * LINKS,
    SCANN: lambda dim: dim // 4 + 9,
}


@dataclass(frozen=True)
class Estimate:
    """Of a collection of `rows` rows: bytes on disk of embeddings, texts and index; bytes in memory to search it."""

    rows: int
    embeddings: int
    texts: int
    index: int
    memory: int

    @property
    def disk(self) -> int:
        return self.embeddings + self.texts + self.index


def estimate(rows: int, dim: int, row_characters: float, kind: str) -> Estimate:
    """kind: of the index. row_characters: of a row's sentence and metadata. The work folder holds the embeddings once more."""
    index = INDEX_BYTES[kind](dim) * rows
    embeddings, texts = 2 * dim * rows, round(row_characters * rows)
    return Estimate(rows, embeddings, texts, index if kind != EXACT else 0, index + ID_BYTES * rows)


def row_characters(chunk: Chunk) -> float:
    """Characters a row, on average over the first rows of a file."""
    total = sum(sum(map(len, cells)) for cells in chunk.cells.values())
    return total / max(1, len(chunk.numbers))


def expected_rows(paths: Sequence[Path], chunk: Chunk) -> int:
    """About how many rows files have: as Parquet files state, for text files by size and the first rows of one."""
    width = row_characters(chunk) + len(chunk.cells)  # a separator or line end for each cell
    return sum(_rows_of(path, width) for path in paths)


def _rows_of(path: Path, width: float) -> int:
    if kind_of(path) == "parquet":
        import pyarrow
        import pyarrow.parquet

        try:
            return int(pyarrow.parquet.read_metadata(path).num_rows)
        except (pyarrow.ArrowException, OSError):
            return 0
    try:
        size = path.stat().st_size * (PACKED if path.suffix == ".gz" else 1)
    except OSError:
        return 0
    return round(size / max(1.0, width))
