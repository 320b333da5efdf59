"""Find the header of a table: the lines above it, names in one row or in two, or none; and the end of the table."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from sbert_app.errors import UserError
from sbert_app.tables.table import LINE_COLUMN
from sbert_app.wording import amount

SNIFFED_LINES = 50
BLANK_ROWS = 2_000_000  # consecutive; spreadsheets write up to 1,048,576 of them below a table
NUMERIC = re.compile(r"[^\W\d_]{0,3}(?=\D*\d)[\d\W_]+[^\W\d_]{0,3}")  # a number or a moment: 3, 2025-03-01, 12:30 PM, EUR 5
LEAST_CELLS, NUMERIC_SHARE, MOST_DIFFERENT = 3, 0.9, 1 / 3  # of a column below a header that its cells alone do not show
NO_HEADER = "No header row was found: the first row was read as data."
IMPORT_ID = '{"ImportId"'  # Qualtrics writes these below the questions, which stand below the names

Row = Sequence[str]


def without_blank_end(name: str, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows up to the last one that is not blank. Raises UserError for too many blank rows."""
    widths = array("L")  # of the blank rows since the last filled one
    for row in rows:
        if any(map(str.strip, row)):
            if widths:
                yield from ([""] * width for width in widths)
                widths = array("L")
            yield row
        elif len(widths) < BLANK_ROWS:
            widths.append(len(row))
        else:
            raise UserError(f"'{name}' has more than {BLANK_ROWS:,} consecutive blank rows. Delete them.")


def first_row(rows: Sequence[Row]) -> int | None:
    """The index of the first row of the table. A title above it is shorter than the rows, or fills one cell of three or more."""
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    ((width, _),) = Counter(len(row) for row in rows if any(row)).most_common(1) or [(0, 0)]
    least = 2 if width >= 3 else 1
    fitting = (i for i, count in enumerate(filled) if count >= least and len(rows[i]) == width)
    return next(fitting, next((i for i, count in enumerate(filled) if count), None))


def with_header(name: str, every_row: Iterable[Row], sheet: bool = False) -> tuple[list[str], list[str], Iterator[Row]]:
    """The names of the columns, notes, the rows below. sheet: its first row has the names unless it cannot. Raises UserError."""
    rows = without_blank_end(name, every_row)
    head = list(islice(rows, SNIFFED_LINES))
    start = first_row(head)
    if start is None:
        raise UserError(f"'{name}' has no rows. Choose a file with at least one sentence.")
    header, below, notes = [cell.strip() for cell in head[start]], head[start + 1 :], list[str]()
    if (shifted := _one_cell_off(head, start)) and _is_data(header, below):
        header, below, start = shifted, head[start:], start - 1
    elif _are_names(header, below, sheet):
        header, left_out, notes = _in_two_rows(header, below)
        below = below[left_out:]
    else:
        header = [LINE_COLUMN] if len(header) == 1 else [f"column_{i}" for i in range(1, len(header) + 1)]
        below, notes, start = head, [NO_HEADER], 0
    if skipped := sum(map(any, head[:start])):
        notes = [f"{amount(skipped, 'row' if sheet else 'line')} above the header left out.", *notes]
    return header, notes, chain(below, rows)


def _are_names(header: Row, rows: Sequence[Row], sheet: bool) -> bool:
    """Whether a row names the columns: short cells, or longer ones, such as questions, above cells of another kind."""
    if not any(header) or all(map(_may_be_a_name, header)):
        return any(header)
    columns = [_column(rows, place) for place in range(len(header))]
    if [*filter(None, header)] == [str(i) for i in range(sum(map(bool, header)))]:  # as pandas counts columns
        return not all(map(_is_numeric, columns))
    if _is_data(header, rows):
        return False
    asked = all(_may_be_a_name(cell.removesuffix("?")) for cell in header) and 2 * sum(map(_may_be_a_name, header)) > len(header)
    return sheet or asked or any(map(_is_below_a_name, header, columns))


def _is_data(row: Row, rows: Sequence[Row]) -> bool:
    """Whether a row holds a number, or a cell that is found again below it."""
    return any(NUMERIC.fullmatch(cell) or cell in _column(rows, place) for place, cell in enumerate(row) if cell)


def _column(rows: Sequence[Row], place: int) -> list[str]:
    """The filled cells of a column."""
    return [cell for row in rows if place < len(row) and (cell := row[place].strip())]


def _is_numeric(cells: Sequence[str]) -> bool:
    return sum(NUMERIC.fullmatch(cell) is not None for cell in cells) > NUMERIC_SHARE * len(cells)


def _is_below_a_name(name: str, cells: Sequence[str]) -> bool:
    """Whether cells are of another kind than the one above, which is not among them: numbers, a few values, or no questions."""
    answers = name.endswith("?") and not any(cell.endswith("?") for cell in cells)
    return len(cells) >= LEAST_CELLS and (answers or _is_numeric(cells) or len(set(cells)) <= MOST_DIFFERENT * len(cells))


def _may_be_a_name(cell: str) -> bool:
    """Whether a cell of the header can be there: short, and no number."""
    short = len(cell) <= 40 and len(cell.split()) <= 5 and not cell.endswith((".", "?", "!"))
    return short and not re.fullmatch(r"[-+]?\d+([.,]\d+)?", cell)


def _one_cell_off(head: Sequence[Row], start: int) -> list[str]:
    """The names above rows with one cell more: a name without a column at the start, as R writes them, or blank at the end."""
    above = [cell.strip() for cell in head[start - 1]] if start else []
    if len(above) != len(head[start]) - 1 or len(above) < 2 or not all(cell and _may_be_a_name(cell) for cell in above):
        return []
    return ["", *above] if _column(head[start:], len(above)) else [*above, ""]


def _in_two_rows(header: list[str], rows: Sequence[Row]) -> tuple[list[str], int, list[str]]:
    """The names, how many rows below belong to the header, and a note: names of groups may stand above those of columns."""
    for number, row in enumerate(rows[:2], 1):
        if any(cell.startswith(IMPORT_ID) for cell in row):
            return header, number, [f"{amount(number, 'row')} below the names left out: the questions, and what Qualtrics adds."]
    second = [cell.strip() for cell in rows[0]] if rows else []
    blank = [place for place, name in enumerate(header) if not name]
    named_in_part = len(blank) > 1 and header[0] and len(rows) > LEAST_CELLS
    if len(second) != len(header) or not named_in_part or not all(second[place] for place in blank):
        return header, 0, []
    sparse = 2 * second.count("") >= len(header) - len(blank)  # of SurveyMonkey, where the answers repeat the name of their column
    repeats = any(cell in _column(rows[1:], place) for place, cell in enumerate(second) if cell)
    if not all(map(_may_be_a_name, second)) or (repeats and not sparse):
        return header, 0, []
    names, group = list[str](), ""
    for place, (name, below) in enumerate(zip(header, second, strict=True)):
        group = name or group
        grouped = not name or header[place + 1 : place + 2] == [""]
        names.append(f"{group}: {below}" if grouped and below else name)
    return names, 1, ["The names of the columns stand in two rows, which were joined."]
