"""Cut the rows of files into pieces, each of which becomes a shard; choose which columns are read."""

import hashlib
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress, groupby
from pathlib import Path

import pandas as pd

from sbert_app.bulk.reading import Chunk, Tally, chunks
from sbert_app.collections.collection import Facts
from sbert_app.corpus.reader import joined_cells
from sbert_app.corpus.text_column import guess_column
from sbert_app.corpus.values import read
from sbert_app.errors import UserError
from sbert_app.settings import Limits

PIECE_CHARACTERS = 64_000_000  # a piece of long texts ends before its last row
SENTENCE_CHARACTERS = Limits().row_characters
BLANK, CUT = "blank sentence", f"cut to {SENTENCE_CHARACTERS:,} characters"
JOINED = " + "  # between the names of several sentence columns, as in Corpus.filterable


def first_facts(chunk: Chunk, wanted: Sequence[str]) -> Facts:
    """Those of a new collection, without its model. wanted: the columns joined to the sentence, else one is guessed. UserError."""
    frame = pd.DataFrame({column: list(cells) for column, cells in chunk.cells.items()}, dtype=object)
    if missing := [column for column in wanted if column not in frame.columns]:
        raise UserError(f"There is no column '{missing[0]}'. The columns are: {', '.join(frame.columns)}.")
    sentence = [column for column in frame.columns if column in (wanted or [guess_column(frame)])]
    metadata = [column for column in frame.columns if column not in sentence]
    scales = {column: values.scale for column in metadata if (values := read(frame[column]))}
    return Facts("", "", 0, JOINED.join(sentence), tuple(metadata), scales, (), joined=tuple(sentence))


def known_facts(facts: Facts, wanted: Sequence[str], present: Container[str]) -> Facts:
    """Those of a collection. present: the columns of the first file. Raises UserError if other sentence columns are wanted."""
    former = (facts.sentence,) if facts.sentence in present else tuple(facts.sentence.split(JOINED))
    facts = replace(facts, joined=facts.joined or former)
    if wanted and set(wanted) != set(facts.joined):
        raise UserError(f"The sentences of this collection are the column '{facts.sentence}'. Leave out --column.")
    return facts


@dataclass(frozen=True)
class Piece:
    """Rows of one file from `start` + 1 to `end`; rows, sentences: the numbers and texts of those with a sentence, (n,)."""

    path: Path
    start: int
    end: int
    rows: list[int]
    sentences: list[str]
    metadata: dict[str, list[str]]

    @property
    def name(self) -> str:
        """How it is named in messages."""
        return f"{self.path}, rows {self.start + 1:,} to {self.end:,}"

    def key(self, fingerprint: str) -> str:
        """Names the embeddings of these sentences by this model."""
        return digest(fingerprint, *self.sentences)

    @cached_property
    def content(self) -> str:
        """Changes with any row number, sentence or other cell."""
        cells = (f"{column}\0" + "\0".join(values) for column, values in self.metadata.items())
        return digest(repr((self.start, self.end, self.rows)), *self.sentences, "", *cells)


class Cutter:
    """Cuts files into pieces. `tally`: rows left out, of all files; `ignored`: columns that are not read, each with a file."""

    def __init__(self, facts: Facts, shard_rows: int) -> None:
        self.facts, self.shard_rows = facts, shard_rows
        self.tally = Tally()
        self.ignored: dict[str, str] = {}

    def pieces(self, path: Path) -> Iterator[Piece]:
        """The pieces of a file, without gaps. Raises UserError where it cannot be read further: what came before is sound."""
        start, rows, size, checked = 0, list[Chunk](), 0, False
        known = self.facts.joined + self.facts.columns
        for chunk in chunks(path, self.tally):
            for column in chunk.cells:
                if column not in known:
                    self.ignored.setdefault(column, path.name)
            if chunk.numbers and not checked and not any(column in chunk.cells for column in self.facts.joined):
                raise UserError(f"'{path.name}' has no column '{self.facts.sentence}'. Its columns are: {', '.join(chunk.cells)}.")
            checked = checked or bool(chunk.numbers)
            for own in _split(chunk, self.shard_rows, known):
                window = own.numbers[0] - 1 - (own.numbers[0] - 1) % self.shard_rows
                if rows and (window > start or size > PIECE_CHARACTERS):
                    end = window if window > start else rows[-1].numbers[-1]
                    yield self._piece(path, start, end, rows)
                    start, rows, size = end, [], 0
                rows.append(own)
                size += sum(sum(map(len, cells)) for cells in own.cells.values())
        if rows:
            yield self._piece(path, start, rows[-1].numbers[-1], rows)

    def _piece(self, path: Path, start: int, end: int, rows: Sequence[Chunk]) -> Piece:
        numbers = [number for chunk in rows for number in chunk.numbers]
        texts = joined_cells(_cells(rows, column) for column in self.facts.joined)
        for number, text in zip(numbers, texts, strict=True):
            if not text or len(text) > SENTENCE_CHARACTERS:
                self.tally.add(path.name, number, CUT if text else BLANK)
        metadata = {column: list(compress(_cells(rows, column), texts)) for column in self.facts.columns}
        sentences = [text[:SENTENCE_CHARACTERS] for text in texts if text]
        return Piece(path, start, end, list(compress(numbers, texts)), sentences, metadata)


def _cells(rows: Sequence[Chunk], column: str) -> list[str]:
    """The cells of a column, "" where a chunk lacks it."""
    return list(chain.from_iterable(chunk.cells.get(column) or [""] * len(chunk.numbers) for chunk in rows))


def _split(chunk: Chunk, rows: int, columns: Container[str]) -> Iterator[Chunk]:
    """Cut these columns of a chunk where a piece ends: after each row whose number is a multiple of `rows`."""
    first = 0
    for _, numbers in groupby(chunk.numbers, lambda number: (number - 1) // rows):
        last = first + len(list(numbers))
        cells = {column: cells[first:last] for column, cells in chunk.cells.items() if column in columns}
        yield Chunk(chunk.numbers[first:last], cells)
        first = last


def digest(*texts: str) -> str:
    """A name for these texts together, 32 hex digits."""
    state = hashlib.blake2b(digest_size=16)
    for text in texts:
        state.update(f"{text}\0".encode())  # NUL occurs in no text: see wording.storable
    return state.hexdigest()
