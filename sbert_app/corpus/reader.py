"""Read a corpus from a table: one column (or several, joined) is the sentence, all others become metadata."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.corpus.filters import FilterColumn, filter_columns
from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables import SPREADSHEET, Form, Skip, Table
from sbert_app.vectors import Integers, Mask
from sbert_app.wording import amount, row_list

WORDS_OF_A_PART = 3  # a text of so many words is looked for inside of rows too


def free_names(columns: Iterable[Any], taken: Iterable[str]) -> Iterator[str]:
    """The names of the columns, with an underscore, or several, after one that is taken."""
    used = set(taken)
    for name in map(str, columns):
        while name in used:
            name += "_"
        used.add(name)
        yield name


@dataclass(frozen=True)
class Corpus:
    """n sentences in file order."""

    name: str
    columns: tuple[str, ...]
    sentences: list[str]
    metadata: pd.DataFrame  # n rows of strings
    rows: Integers  # their numbers in the file, counted from 1
    skipped: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()
    first_query: str = ""  # of an example: the query to show when it is opened
    title_ends: Integers | None = None  # of joined columns: how many characters of each sentence are of the first, (n,)
    place: int = 0  # the number of columns of the file before the sentence
    row_names: Mapping[int, str] = field(default_factory=dict)  # where `rows` are not of one file: "17 of b.csv"
    store: str = ""  # of a sample of a collection, the address of that, or its name among those that the app offers
    form: Form = SPREADSHEET  # of the file
    mends: tuple[str, ...] = ()  # what was mended before it was read, of MENDS

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def nbytes(self) -> int:
        """Approximate memory in bytes: of the texts, the words of their index, and the metadata."""
        return 3 * (sum(map(len, self.sentences)) + int(self.metadata.memory_usage(deep=True).sum()))

    @cached_property
    def filter_columns(self) -> list[FilterColumn]:
        """How rows can be filtered by the metadata and by the sentences."""
        return filter_columns(self.filterable())

    @cached_property
    def distinct(self) -> int:
        return len(set(self.sentences))

    def title(self, row: int) -> str:
        """The part of a sentence that comes from the first of several columns, "" if only one was read."""
        return "" if self.title_ends is None else self.sentences[row][: self.title_ends[row]]

    def index_of(self, row: int) -> int:
        """The place of one of `rows`. Raises UserError for a row that was skipped, or that the file has not."""
        if (place := self.find(row)) is None:
            raise UserError(f"Row {row:,} was skipped when the corpus was read. Choose another.")
        return place

    def find(self, row: int) -> int | None:
        """The place of a row of the file, None for a skipped one. Raises UserError for a row that the file has not."""
        if len(places := np.flatnonzero(self.rows == row)):
            return int(places[0])
        last = max(int(self.rows[-1]), *(skip.row for skip in self.skipped), 0)
        if not 1 <= row <= last:
            raise UserError(f"There is no row {row:,}: the rows of '{self.name}' are 1 to {last:,}.")
        return None

    def find_text(self, text: str, mask: Mask | None) -> int | None:
        """The place of the first row with this text, else of one that holds it, blanks and case aside; rows of the mask first."""
        wanted, *texts = (" ".join(each.lower().split()) for each in (text, *self.sentences))
        places = [place for place, other in enumerate(texts) if other == wanted]
        if not places and len(wanted.split()) >= WORDS_OF_A_PART:
            places = [place for place, other in enumerate(texts) if wanted in other]
        return next((place for place in places if mask is None or mask[place]), places[0] if places else None)

    def row_label(self, row: int) -> int | str:
        """One of `rows` in a table: its number, or its name where it has one; in a sentence see `row_text`."""
        return self.row_names.get(row, row)

    def with_metadata(
        self, records: Iterable[dict[str, Any]], places: slice | NDArray[np.integer] = slice(None)
    ) -> Iterator[dict[str, Any]]:
        """Add its metadata to a record of each of these rows, under `free_names`."""
        for record, values in zip(records, self.metadata.iloc[places].to_dict("records"), strict=True):
            yield record | dict(zip(free_names(values, record), values.values(), strict=True))

    def filterable(self) -> pd.DataFrame:
        """The metadata with the sentences as one more column, named as in the file."""
        return self.metadata.assign(**{" + ".join(self.columns): self.sentences})

    def as_in_file(self) -> pd.DataFrame:
        """The metadata and the sentences, with the columns in the order of the file. Of joined columns the first is apart."""
        texts = {" + ".join(self.columns): self.sentences}
        if self.title_ends is not None:
            cut = list(zip(self.sentences, self.title_ends.tolist(), strict=True))
            texts = {self.columns[0]: [text[:end] for text, end in cut]}
            texts[" + ".join(self.columns[1:])] = [text[end:].strip() for text, end in cut]
        others = [column for column in self.metadata.columns if column not in texts]
        return self.metadata.assign(**texts)[[*others[: self.place], *texts, *others[self.place :]]]


def read_corpus(table: Table, columns: Sequence[str], limits: Limits) -> Corpus:
    """Join columns in file order to sentences; blank ones are skipped, over-long ones cut, and both reported. Raises UserError."""
    columns = existing(table, columns)
    texts = joined(table.frame, columns)
    filled = (texts != "").to_numpy()
    if not filled.any():
        raise UserError(f"Every row of column '{', '.join(columns)}' is blank. Choose another sentence column.")
    blank = [Skip(int(row), "blank sentence") for row in table.rows[~filled]]
    sentences = [text[: limits.row_characters] for text in texts[filled]]
    rows = table.rows[filled]
    return Corpus(
        name=table.name,
        columns=tuple(columns),
        sentences=sentences,
        metadata=table.frame.loc[filled].drop(columns=columns).reset_index(drop=True),
        rows=rows,
        skipped=tuple(sorted((*table.skipped, *blank), key=lambda skip: skip.row)),
        notes=(*table.notes, *_remarks(texts[filled].tolist(), sentences, rows, limits)),
        title_ends=np.array(joined(table.frame, columns[:1]).str.len(), dtype=np.int64)[filled] if len(columns) > 1 else None,
        place=list(table.frame.columns).index(columns[0]),
        form=table.form,
    )


def existing(table: Table, columns: Sequence[str]) -> list[str]:
    """These columns in the order of the file. Raises UserError for none, or one that the table does not have."""
    missing = [column for column in columns if column not in table.frame.columns]
    if missing or not columns:
        problem = f"no column '{missing[0]}'" if missing else "no sentence column chosen"
        raise UserError(f"'{table.name}' has {problem}. Its columns are: {', '.join(table.frame.columns)}.")
    return [column for column in table.frame.columns if column in columns]


def joined(frame: pd.DataFrame, columns: Sequence[str]) -> "pd.Series[str]":
    return pd.Series(joined_cells(frame[column] for column in columns), dtype=object)


def joined_cells(columns: Iterable[Iterable[str]]) -> list[str]:
    """The text of each row: its cells without outer blanks; "" for none."""
    parts = [[cell.strip() for cell in column] for column in columns]
    return parts[0] if len(parts) == 1 else [" ".join(filter(None, row)) for row in zip(*parts, strict=True)]


def _remarks(texts: Sequence[str], sentences: list[str], rows: Integers, limits: Limits) -> list[str]:
    cut = [int(row) for text, row in zip(texts, rows, strict=True) if len(text) > limits.row_characters]
    remarks = [f"Cut to {limits.row_characters:,} characters: {row_list(cut)}."] if cut else []
    if repeated := len(sentences) - len(set(sentences)):
        remarks.append(f"{amount(repeated, 'row repeats', 'rows repeat')} an earlier sentence; kept, computed once.")
    return remarks
