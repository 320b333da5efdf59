"""What is wrong with a table that is to be read as a corpus, with the rows of each fault; and how it is mended, if one asks."""

import html
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from sbert_app.corpus.reader import joined
from sbert_app.corpus.values import UNCLEAR, UNREADABLE, Values, read
from sbert_app.explain.cautions import in_latin, is_foreign
from sbert_app.tables import Skip, Table
from sbert_app.vectors import Integers, Mask
from sbert_app.wording import amount, plural, short

MARKUP, SPACES, DATES, REPEATS, NOTHING = "html", "spaces", "dates", "repeats", "nothing"
MENDS = {
    MARKUP: "Take out HTML",
    SPACES: "Tidy spaces",
    DATES: "Write dates as 2026-03-31",
    REPEATS: "Keep one row of each text",
    NOTHING: "Leave out rows that say nothing",
}
EXAMPLES, EXAMPLE_LENGTH = 3, 20
TRIED = 200  # rows that show whether a column holds dates
BEGINNING = 300  # characters that show the language
REPEATED = "repeats an earlier text"
# Texts of signs alone, and what people write into a field that they must fill; "no" and "none of them" may be answers.
SAYS_NOTHING = re.compile(
    r"[-\s.,?!/_*–—…·•]+|[\W_]*(?:n[./ ]?a|k[./ ]{0,2}a|nil|null|nan|none|nothing|not applicable|no (?:comments?|answer|response)|"
    r"keine?|nichts|keine (?:angaben?|antwort)|kein kommentar|rien|aucune?|sans réponse|nada|ning[uú]n[oa]?|nessuno|niente)[\W_]*",
    re.IGNORECASE,
)
HIDDEN = re.compile(r"<(script|style)\b[^<>]*>[^<]*</\1\s*>|<!--[^<>]*-->", re.IGNORECASE)  # in linear time
TAG = re.compile(
    r"</?(?:a|abbr|article|b|blockquote|body|br|button|center|code|dd|div|dl|dt|em|font|footer|form|h[1-6]|head|header|hr|html|i|img|"
    r"input|label|li|link|main|meta|nav|ol|option|p|pre|s|section|select|small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|"
    r"thead|title|tr|tt|u|ul|video)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
INLINE = re.compile(r"</?(?:a|abbr|b|code|em|font|i|s|small|span|strike|strong|sub|sup|tt|u)\b", re.IGNORECASE)
ENTITY = re.compile(r"&(?:[a-z][a-z0-9]*|#\d+|#x[0-9a-f]+);", re.IGNORECASE)
INVISIBLE = re.compile(r"[\u00ad\u200b\u2060\ufeff]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
GAPS = re.compile(r"[^\S\r\n]{2,}|[^\S\r\n ]")
ISO = re.compile(r"\s*\d{4}(?:-\d{2}(?:-\d{2}|\s*$)|\s*$)")  # and whole years and months


@dataclass(frozen=True)
class Finding:
    """rows: as numbered in the file; examples: texts of some of them, as they are and mended; mend: one of MENDS, "" for none."""

    text: str
    rows: Integers
    examples: Sequence[tuple[str, str]] = ()
    mend: str = ""


def without_html(cell: str) -> str:
    """The text of a cell without tags, scripts and comments, its entities as characters."""
    if "<" not in cell and "&" not in cell:
        return cell
    text = TAG.sub(lambda tag: "" if INLINE.match(tag[0]) else " ", HIDDEN.sub(" ", cell))
    unescaped = ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return cell if unescaped == cell else _tidy(unescaped)


def _tidy(cell: str) -> str:
    """A cell with single spaces, without invisible characters, and none of either at its ends. Lines stay."""
    return GAPS.sub(" ", INVISIBLE.sub("", cell)).strip()


def in_iso(cells: "pd.Series[str]") -> "tuple[pd.Series[str], Values] | None":
    """A column of dates written in several ways, each as 2026-03-31, with its time if it has one, and as read; None for others."""
    first = read(cells.head(TRIED))
    column = read(cells) if first and first.scale.startswith("date") else None
    if column is None:
        return None
    filled = np.isfinite(column.values)
    forms = cells[filled | (column.states == UNCLEAR)].str.strip().replace({r"\d{4}": "y", r"\d+": ""}, regex=True)
    if forms.str.slice(0, 3).nunique() < 2:
        return None
    other = filled & ~cells.str.match(ISO).to_numpy()  # what is no date, could be two, or is a month or year, stays
    moments = zip(cells, column.values.tolist(), other, strict=True)
    after = pd.Series([_moment(cell, seconds) if changes else cell for cell, seconds, changes in moments], dtype=object)
    return after, column


def _moment(cell: str, seconds: float) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)  # Windows knows no moment before
    return f"{moment:%Y-%m-%d %H:%M:%S}" if ":" in cell or moment.time() != datetime.min.time() else f"{moment:%Y-%m-%d}"


CELLS: Mapping[str, Callable[[str], str]] = {MARKUP: without_html, SPACES: _tidy}


def findings(table: Table, columns: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with these text columns, and with other columns of dates, that are written in several forms."""
    texts = joined(table.frame, columns)
    if (empty := (texts == "").to_numpy()).any():
        yield Finding(f"{amount(empty.sum(), 'row has', 'rows have')} no text and will be left out", table.rows[empty])
    if (silent := _says_nothing(texts)).any():
        text = f"{amount(silent.sum(), 'row says', 'rows say')} nothing, like “{short(texts[silent].mode()[0], EXAMPLE_LENGTH)}”"
        yield Finding(text, table.rows[silent], _pairs(texts[silent], texts[silent]), NOTHING)
    others = table.frame.drop(columns=list(columns))
    if (again := _again(texts)).any():
        differing = int((again & ~pd.concat([texts, others], axis=1).duplicated().to_numpy()).sum())
        differ = f"; {differing:,} of them {plural(differing, 'differs', 'differ')} in other columns" if differing else ""
        text = f"{amount(again.sum(), 'row repeats', 'rows repeat')} an earlier text{differ}"
        yield Finding(text, table.rows[again], _pairs(texts[again], texts[again]), REPEATS)
    for mend, has in ((MARKUP, "holds HTML"), (SPACES, "holds odd spaces or invisible characters")):
        after = joined(mended(table, columns, [mend]).frame, columns)
        if (changed := (texts != after).to_numpy()).any():
            text = amount(changed.sum(), f"row {has}", f"rows {has.replace('holds', 'hold')}")
            yield Finding(text, table.rows[changed], _pairs(texts[changed], after[changed]), mend)
    for column, cells in others.items():
        if (dates := in_iso(cells)) is not None:
            yield from _dates(table, str(column), *dates)
    beginnings = texts.str.slice(0, BEGINNING)
    if (foreign := beginnings.map(lambda text: is_foreign(text) or not in_latin(text)).to_numpy(bool)).any():
        text = f"At least {amount(foreign.sum(), 'row does', 'rows do')} not look English, which a model for English hardly reads"
        yield Finding(text, table.rows[foreign], _pairs(texts[foreign], texts[foreign]))


def _dates(table: Table, column: str, after: "pd.Series[str]", values: Values) -> Iterator[Finding]:
    cells, unread = values.cells, values.unread
    changed, unclear = (cells != after).to_numpy(), values.states == UNCLEAR
    stay = ((UNCLEAR, "day or month first?"), (UNREADABLE, "not read as a date"))
    left = [
        f"; {count:,} like {unread.examples[state]} {plural(count, 'stays', 'stay')}: {why}"
        for state, why in stay
        if (count := unread.counts.get(state, 0))
    ]
    if (other := changed | unclear).any():
        text = f"The dates of “{column}” are written in several ways, {other.sum():,} not as 2026-03-31{''.join(left)}"
        shown = changed if changed.any() else unclear
        yield Finding(text, table.rows[other], _pairs(cells[shown], after[shown]), DATES if changed.any() else "")


def mended(table: Table, columns: Sequence[str], mends: Collection[str]) -> Table:
    """A table with these of MENDS done: the first two to its text columns, DATES to all others. The given table stays as it is."""
    frame = table.frame.copy()
    for column in frame.columns:
        for mend in CELLS if column in columns else ():
            if mend in mends:
                frame[column] = pd.Series([CELLS[mend](cell) for cell in frame[column]], frame.index, dtype=object)
        if DATES in mends and column not in columns and (dates := in_iso(frame[column])) is not None:
            frame[column], _ = dates
    texts, left_out, skipped = joined(frame, columns), np.zeros(len(frame), bool), list(table.skipped)
    for mend, which, reason in ((NOTHING, _says_nothing, "nothing said"), (REPEATS, _again, REPEATED)):
        if mend in mends:
            also_out = which(texts) & ~left_out
            skipped += [Skip(row, reason) for row in table.rows[also_out].tolist()]
            left_out |= also_out
    return replace(table, frame=frame[~left_out].reset_index(drop=True), rows=table.rows[~left_out], skipped=tuple(skipped))


def _says_nothing(texts: "pd.Series[str]") -> Mask:
    return texts.str.fullmatch(SAYS_NOTHING).to_numpy(bool)


def _again(texts: "pd.Series[str]") -> Mask:
    """Which rows have a text that an earlier row has."""
    return (texts.duplicated() & (texts != "")).to_numpy()


def _pairs(before: "pd.Series[str]", after: "pd.Series[str]") -> list[tuple[str, str]]:
    return list(zip(before.head(EXAMPLES), after.head(EXAMPLES), strict=True))
