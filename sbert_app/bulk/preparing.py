"""Before a bulk run: its files, columns, encoder and collection, all checked against each other, and what the run will take."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet

from sbert_app.bulk.checkpoint import Checkpoint
from sbert_app.bulk.encoding import load_encoder
from sbert_app.bulk.pieces import digest, first_facts, known_facts
from sbert_app.bulk.reading import Chunk, Tally, chunks
from sbert_app.bulk.request import AUTO, Request
from sbert_app.collections import create_collection, open_collection
from sbert_app.collections.collection import Collection, CollectionError, Facts
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN
from sbert_app.errors import UserError
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.settings import Settings
from sbert_app.storage import writing

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

WORTH_CONVERTING = 10_000  # rows: converting a model takes 10 to 20 s of one core, once, and halves the time of each row
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
class BulkPlan:
    """What a run works with. facts: with all files. collection, checkpoint: None for Parquet files and a part of the shards.

    rows: about how many; characters: of a row's sentence and metadata, on average. created: whether this run began the collection.
    """

    request: Request
    paths: tuple[Path, ...]
    encoder: "Encoder"
    facts: Facts
    rows: int
    characters: float
    collection: Collection | None = None
    checkpoint: Checkpoint | None = None
    created: bool = False

    def outlook(self) -> str:
        """What it will take, for people."""
        lines = f"About {self.rows:,} rows in {len(self.paths):,} files, column '{self.facts.sentence}', model {self.facts.model}"
        if self.request.partial:
            return f"{lines}; part {self.request.part[0]} of {self.request.part[1]}."
        usual = self.collection.kind_for(self.rows) if self.collection else EXACT
        kind = usual if self.request.index == AUTO else self.request.index
        embeddings, index = 2 * self.facts.dim, INDEX_BYTES[kind](self.facts.dim)  # bytes of a row
        disk = embeddings + self.characters + (0 if kind == EXACT else index)
        on_disk, memory, work = (megabytes(self.rows * size) for size in (disk, index + ID_BYTES, embeddings))
        return f"{lines}. It takes {on_disk} on disk and {memory} in memory with the index '{kind}'; the work folder, {work} more."


def megabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def row_characters(chunk: Chunk) -> float:
    """Characters a row, on average over the first rows of a file."""
    return sum(sum(map(len, cells)) for cells in chunk.cells.values()) / max(1, len(chunk.numbers))


def expected_rows(paths: Sequence[Path], chunk: Chunk) -> int:
    """About how many rows files have: as Parquet files state, for text files by size and the first rows of one."""
    rows, width = 0, max(1.0, row_characters(chunk) + len(chunk.cells))  # a separator or line end for each cell
    for path in paths:
        with suppress(pyarrow.ArrowException, OSError):
            if path.suffix.lower() == ".parquet":
                rows += pyarrow.parquet.read_metadata(path).num_rows
            else:
                rows += round(path.stat().st_size * (PACKED if path.suffix == ".gz" else 1) / width)
    return rows


def prepare(request: Request, paths: Sequence[Path], settings: Settings, work: Path) -> BulkPlan:
    """Raises UserError where files, model and collection do not fit each other."""
    chunk = first_rows(paths)
    rows = expected_rows(paths, chunk)
    collection, created = None, False
    with suppress(CollectionError):  # there is none; any other fault is reported by `create_collection`
        collection = open_collection(request.store, request.token) if request.store and not request.partial else None
    try:
        old = collection.facts if collection else None
        facts = known_facts(old, request.columns, chunk.cells) if old else first_facts(chunk, request.columns)
        encoder = load_encoder(settings, request.model or facts.model or DEFAULT_ENCODER, rows > WORTH_CONVERTING)
        if old:
            _check_model(request.store, old, encoder)
        files = tuple(dict.fromkeys((*facts.files, *map(str, paths))))
        facts = replace(facts, model=encoder.name, fingerprint=encoder.fingerprint, dim=encoder.dim, files=files)
        if collection is None and request.store and not request.partial:
            collection, created = create_collection(request.store, facts, request.token), True
        checkpoint = _checkpoint(request, collection, work, created) if collection else None
        if checkpoint:
            checkpoint.name_files(files)
            facts = replace(facts, files=checkpoint.files)
    except BaseException:
        if collection:
            if created:
                collection.drop()
            collection.close()
        raise
    return BulkPlan(request, tuple(paths), encoder, facts, rows, row_characters(chunk), collection, checkpoint, created)


def first_rows(paths: Sequence[Path]) -> Chunk:
    """The first rows of the first file that can be read. Raises UserError if none can."""
    problems = []
    for path in paths:
        try:
            for chunk in chunks(path, Tally()):
                if chunk.numbers:
                    return chunk
        except UserError as error:
            problems.append(str(error))
    raise UserError(" ".join(["Nothing can be indexed.", *(problems[:3] or ["The files hold no rows."])]))


def _checkpoint(request: Request, collection: Collection, work: Path, created: bool) -> Checkpoint:
    path = work / f"stored-{digest(request.target)}.jsonl"
    if created:
        with writing("The work folder"):
            path.unlink(missing_ok=True)
    return Checkpoint(path, collection.facts.files, collection.count())


def _check_model(store: str, old: Facts, new: "Encoder") -> None:
    """Raise UserError unless a collection's embeddings can be compared with those of a model."""
    way_out = "Choose the model it was made with, or another --store."
    if old.model != new.name:
        raise UserError(f"The collection '{store}' was made with the model '{old.model}', not with '{new.name}'. {way_out}")
    if old.dim != new.dim:
        raise UserError(f"The collection '{store}' holds {old.dim} dimensions, the model '{new.name}' gives {new.dim}. {way_out}")
    if old.fingerprint != new.fingerprint:
        raise UserError(
            f"The model '{new.name}' has changed since the collection '{store}' was made, or computes in another precision "
            f"(SBERT_STUDIO_PRECISION). {way_out}"
        )
