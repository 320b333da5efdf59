"""The cells of each line of a csv or tsv file, as a stream: its delimiter, whether cells are quoted, and stray quotation marks."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from sbert_app.errors import UserError
from sbert_app.tables.collecting import long_cell
from sbert_app.tables.decoding import TextFile
from sbert_app.tables.header import SNIFFED_LINES

DELIMITERS = "\t;|,"
NO_DELIMITER = "\x1f"  # occurs in no text: the file has one column
SNIFFED_CHARACTERS = 1_000_000
REGULAR_SHARE = 0.7
ESCAPED, DOUBLED = re.compile(r'[^\\]\\"[^,;|\t\n]'), re.compile(r'[^,;|\t\n"\\]""|""[^,;|\t\n"]')  # a quotation mark in a cell
STATED = re.compile(r'sep=([^"\r\n])\s*')  # the first line, if it tells Excel the delimiter
# A cell of so many lines between its first and last, of which so many have the delimiters of a row, has swallowed rows.
LEAST_SWALLOWED, SWALLOWED_SHARE = 5, 0.9


class Rows:
    """Iterate over the rows, header and all; once. Raises UserError where the file is no table.

    swallowed: once all are read, how many lines are part of the cell above them by a quotation mark that seems not to be closed;
    first: the line where the first of these cells begins.
    """

    def __init__(self, file: TextFile, lines: Iterator[str], delimiter: str, quoted: bool = True) -> None:
        self._file, self._lines, self.delimiter, self._quoted = file, lines, delimiter, quoted
        self.swallowed = self.first = 0
        self._signs: list[int] = []  # delimiters in each line since the last row
        self._marks = 0  # quotation marks in them

    @property
    def notes(self) -> list[str]:
        if not self.swallowed:
            return []
        return [
            f"A quotation mark in line {self.first:,} seems not to be closed: in all {self.swallowed:,} lines were read as part of "
            "a cell above them. Remove such a mark, or write it twice."
        ]

    def __iter__(self) -> Iterator[list[str]]:
        return self._split() if self._quoted else (line.removesuffix("\n").split(self.delimiter) for line in self._lines)

    def _split(self) -> Iterator[list[str]]:
        csv.field_size_limit(self._file.limits.cell_characters)
        reader, line, width = csv.reader(self._counted(), delimiter=self.delimiter, skipinitialspace=True), 0, 0
        try:
            for row in reader:
                if reader.line_num > line + 1:
                    self._look(line, width)
                self._signs, self._marks, line, width = [], 0, reader.line_num, len(row)
                yield row
        except csv.Error as error:
            if "field limit" in str(error):
                place = f"the row that begins in line {line + 1:,}"
                raise UserError(long_cell(self._file.name, place, self._file.limits)) from error
            raise UserError(f"'{self._file.name}' cannot be read as a table ({error}). Export it again as CSV.") from error

    def _counted(self) -> Iterator[str]:
        for line in self._lines:
            self._signs.append(line.count(self.delimiter))
            self._marks += line.count('"')
            yield line

    def _look(self, line: int, width: int) -> None:
        """Whether a row of several lines after this one swallowed rows: an odd mark, lines like rows. width: of the row before."""
        inside = self._signs[1:-1]
        like_rows = width > 1 and inside.count(width - 1) >= max(LEAST_SWALLOWED, SWALLOWED_SHARE * len(inside))
        if like_rows or self._marks % 2:
            self.first = self.first or line + 1
            self.swallowed += len(self._signs) - 1


def csv_rows(file: TextFile) -> Rows:
    """Cells delimited by comma, semicolon, bar, tab (then as `tsv_rows`), or as a first line such as `sep=;` states.

    Quotation marks in a cell may be written as \\", as Spark and MySQL do, and digits as ="007", which a spreadsheet keeps so.
    """
    start = file.read(SNIFFED_CHARACTERS, None)
    stated, escaped = STATED.fullmatch(next(file.lines(""), "")), ESCAPED.search(start) and not DOUBLED.search(start)
    delimiter = stated[1] if stated else _delimiter(start.replace('\\"', "") if escaped else start)
    if delimiter == "\t" and not stated:
        return tsv_rows(file)
    lines: Iterator[str] = islice(file.lines(""), 1 if stated else 0, None)
    if escaped:
        lines = (line.replace('\\"', '""') for line in lines)
    formula = re.compile(rf'((?:^|{re.escape(delimiter)}) *)="', re.MULTILINE)
    if formula.search(start):
        lines = (formula.sub(r'\1"', line) for line in lines)
    return Rows(file, lines, delimiter)


def tsv_rows(file: TextFile) -> Rows:
    """Cells delimited by tabs, quoted only if `_quotes`: in most files a stray quotation mark must not swallow the next lines."""
    quoted = _quotes(file)
    return Rows(file, file.lines("" if quoted else None), "\t", quoted)


def _quotes(file: TextFile) -> bool:
    """Whether the cells of a tsv are quoted: each opening quotation mark is closed in its cell, or it has cut lines short."""
    widths = Counter[int]()
    opened = closed = 0
    for row in Rows(file, file.lines(), "\t", quoted=False):
        if row != [""]:
            widths[len(row)] += 1
        quoted = [cell for cell in row if cell.startswith('"')]
        opened += len(quoted)
        closed += sum(1 for cell in quoted if len(cell) > 1 and cell.endswith('"'))
    return opened > 0 and (opened == closed or min(widths) < widths.most_common(1)[0][0])


def _delimiter(start: str) -> str:
    """The delimiter that most lines contain equally often, else the most frequent one of the first line.

    Of several, prefer one that is as frequent in the first line, then the most frequent one: a column of amounts such as 3,50
    makes the comma as regular as the semicolon between the columns.
    """
    lines = [re.sub(r'"[^"]*"', "", line) for line in start.split("\n", SNIFFED_LINES)[:SNIFFED_LINES] if line.strip()] or [""]
    regular: dict[str, tuple[bool, int]] = {}
    for sign in DELIMITERS:
        usual, regular_lines = Counter(line.count(sign) for line in lines).most_common(1)[0]
        if usual and regular_lines >= len(lines) * REGULAR_SHARE:
            regular[sign] = lines[0].count(sign) == usual, usual
    if regular:
        return max(regular, key=regular.__getitem__)
    best = max(DELIMITERS, key=lines[0].count)
    return best if best in lines[0] else NO_DELIMITER
