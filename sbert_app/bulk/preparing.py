"""Before a bulk run: its files, columns, encoder and collection, all checked against each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sbert_app.bulk.encoding import load_encoder
from sbert_app.bulk.estimate import estimate, expected_rows, row_characters
from sbert_app.bulk.marks import Marks
from sbert_app.bulk.pieces import Columns, digest
from sbert_app.bulk.reading import Chunk, Tally, chunks
from sbert_app.bulk.request import AUTO, Request
from sbert_app.collections.collection import EXACT, Collection, CollectionError, Facts
from sbert_app.errors import UserError
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.settings import Settings
from sbert_app.storage import writing

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

WORTH_CONVERTING = 10_000  # rows: converting a model takes 10 to 20 s of one core, once, and halves the time of each row


@dataclass(frozen=True)
class Plan:
    """What a run works with. facts: with all files, old and new. collection, marks: None for Parquet files and for a part
    of the shards.

    rows: about how many; characters: of a row, on average. created: whether this run began the collection.
    """

    request: Request
    paths: tuple[Path, ...]
    columns: Columns
    encoder: "Encoder"
    facts: Facts
    rows: int
    characters: float
    collection: Collection | None = None
    marks: Marks | None = None
    created: bool = False

    def outlook(self) -> str:
        """What it will take, for people."""
        usual = self.collection.kind_for(self.rows) if self.collection else EXACT
        kind = usual if self.request.index == AUTO else self.request.index
        size = estimate(self.rows, self.facts.dim, self.characters, kind)
        lines = f"About {self.rows:,} rows in {len(self.paths):,} files, column '{self.facts.sentence}', model {self.facts.model}"
        if self.request.partial:
            return f"{lines}; part {self.request.part[0]} of {self.request.part[1]}."
        disk = f"{megabytes(size.disk)} on disk and {megabytes(size.memory)} in memory with the index '{kind}'"
        return f"{lines}. It takes {disk}; the work folder, {megabytes(size.embeddings)} more."


def prepare(request: Request, paths: Sequence[Path], settings: Settings, work: Path) -> Plan:
    """Raises UserError where files, model and collection do not fit each other."""
    chunk = first_rows(paths)
    rows = expected_rows(paths, chunk)
    collection, created = _existing(request), False
    try:
        old = collection.facts if collection else None
        columns = Columns.of_collection(old, request.columns, chunk.cells) if old else Columns.chosen(chunk, request.columns)
        encoder = load_encoder(settings, request.model or (old.model if old else DEFAULT_ENCODER), rows > WORTH_CONVERTING)
        facts = _facts(columns, encoder)
        if old:
            _check_model(request.store, old, facts)
            facts = old
        facts = with_files(facts, paths)
        if collection is None and request.store and not request.partial:
            collection, created = _create(request, facts), True
        marks = _marks(request, collection, work, created) if collection else None
        if marks:
            facts = with_files(replace(facts, files=marks.files), paths)
            marks.name_files(facts.files)
    except BaseException:
        if collection:
            if created:
                collection.drop()
            collection.close()
        raise
    return Plan(request, tuple(paths), columns, encoder, facts, rows, row_characters(chunk), collection, marks, created)


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


def megabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _facts(columns: Columns, encoder: "Encoder") -> Facts:
    return Facts(
        encoder.name, encoder.fingerprint, encoder.dim, columns.name, columns.metadata, columns.scales, (), joined=columns.sentence
    )


def with_files(facts: Facts, paths: Sequence[Path]) -> Facts:
    """Facts that name these files too, behind those they name."""
    return replace(facts, files=(*facts.files, *(str(path) for path in paths if str(path) not in facts.files)))


def _marks(request: Request, collection: Collection, work: Path, created: bool) -> Marks:
    path = work / f"stored-{digest(request.target)}.jsonl"
    if created:
        with writing("The work folder"):
            path.unlink(missing_ok=True)
    return Marks(path, collection.facts.files, collection.count())


def _existing(request: Request) -> Collection | None:
    if not request.store or request.partial:
        return None
    from sbert_app.collections.opening import open_collection

    try:
        return open_collection(request.store, request.token)
    except CollectionError:
        return None  # `_create` says what is wrong, if it is not that there is none


def _create(request: Request, facts: Facts) -> Collection:
    from sbert_app.collections.opening import create_collection

    return create_collection(request.store, facts, request.token)


def _check_model(store: str, old: Facts, new: Facts) -> None:
    """Raise UserError unless a collection's embeddings can be compared with those of a model."""
    way_out = "Choose the model it was made with, or another --store."
    if old.model != new.model:
        raise UserError(f"The collection '{store}' was made with the model '{old.model}', not with '{new.model}'. {way_out}")
    if old.dim != new.dim:
        raise UserError(f"The collection '{store}' holds {old.dim} dimensions, the model '{new.model}' gives {new.dim}. {way_out}")
    if old.fingerprint != new.fingerprint:
        raise UserError(
            f"The model '{new.model}' has changed since the collection '{store}' was made, or computes in another precision "
            f"(SBERT_STUDIO_PRECISION). {way_out}"
        )
