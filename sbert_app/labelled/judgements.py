"""One file of judgements: a query, a row of the corpus or a text, and how well it answers the query."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.labelled.columns import named, number
from sbert_app.labelled.queries import Queries
from sbert_app.tables import Table
from sbert_app.tables.writing import guarded
from sbert_app.wording import plural, row_list

QUERY = ("query", "queries", "search", "search_query")
ROW = ("row", "row_number", "rows")
TEXT = ("document", "doc", "passage", "document_text", "text")
RELEVANCE = ("relevance", "relevant", "grade", "gain", "judgement", "judgment")
WITH_ROW = ("score", "label", "rating")  # names of a relevance beside a row; beside a text they may be of pairs
IN_WORDS = {"yes": 2.0, "partly": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
SHAPE = "query, row, relevance"


@dataclass(frozen=True)
class Rows:
    """What rows of judgements mean: the sentences of a corpus, (n,), and their numbers in its file."""

    name: str
    sentences: list[str]
    numbers: NDArray[np.int64]


@dataclass(frozen=True)
class JudgedColumns:
    """The three columns. target: of the rows (numbers) or of the texts."""

    query: str
    target: str
    relevance: str
    numbers: bool


def judged_columns(frame: pd.DataFrame) -> JudgedColumns | None:
    """The columns of judgements by their names, None where the table holds none."""
    query, row, text = (named(frame, names) for names in (QUERY, ROW, TEXT))
    relevance = named(frame, (*RELEVANCE, *WITH_ROW) if row else RELEVANCE)
    if not query or not (row or text) or not relevance:
        return None
    return JudgedColumns(query, row or text, relevance, bool(row))


def read_judgements(table: Table, corpus: Rows | None) -> tuple[Queries, tuple[str, ...]] | None:
    """Read judgements and remarks on what was left out; None if the table holds none. Raises UserError.

    corpus: what is ranked; rows need one. Texts that are not in it are ranked among themselves. A judgement holds for equal
    texts too. Queries without a relevant row are left out.
    """
    if (columns := judged_columns(table.frame)) is None:
        return None
    if columns.numbers and corpus is None:
        raise UserError(f"The rows of '{table.name}' are those of a corpus. Open that corpus first, then add the file again.")
    targets = table.frame[columns.target].str.strip()
    if corpus is not None and not columns.numbers and not set(targets) & {sentence.strip() for sentence in corpus.sentences}:
        corpus = None  # texts of their own: the open corpus is another one
    if corpus is None:
        texts = list(dict.fromkeys(text for text in targets if text))
        corpus = Rows(table.name, texts, np.arange(1, len(texts) + 1))
    same = _by_text(corpus)
    places = {str(row): [place] for place, row in enumerate(corpus.numbers.tolist())} if columns.numbers else same
    relevant: dict[str, dict[int, float]] = {}
    unknown, unreadable = [], []
    judged = zip(table.rows.tolist(), table.frame[columns.query].str.strip(), targets, table.frame[columns.relevance], strict=True)
    for line, query, target, text in judged:
        gain = _gain(text)
        if target not in places:
            unknown.append(line)
        elif gain is None or not query:
            unreadable.append(line)
        else:
            of_query = relevant.setdefault(_unguarded(query), {})
            for place in same[corpus.sentences[places[target][0]].strip()]:
                of_query[place] = max(gain, of_query.get(place, 0.0))
    return _queries(table, corpus, relevant, unknown, unreadable)


def _queries(
    table: Table, corpus: Rows, relevant: dict[str, dict[int, float]], unknown: list[int], unreadable: list[int]
) -> tuple[Queries, tuple[str, ...]]:
    answered = {query: {place: gain for place, gain in gains.items() if gain > 0} for query, gains in relevant.items()}
    answered = {query: gains for query, gains in answered.items() if gains}
    if not relevant and unknown:
        raise UserError(
            f"None of the {len(unknown):,} judged rows of '{table.name}' is in '{corpus.name}'. "
            "Open the corpus that they were judged in."
        )
    if not relevant:
        raise UserError(f"No line of '{table.name}' has a relevance that is a number, 0 and up. It needs the columns {SHAPE}.")
    if not answered:
        raise UserError(f"Every relevance in '{table.name}' is 0: a query needs a row that answers it. Judge one with 1 or more.")
    without = len(relevant) - len(answered)
    remarks = (
        f"Not in '{corpus.name}', left out: {row_list(unknown)}." if unknown else "",
        f"No query or no readable relevance, left out: {row_list(unreadable)}." if unreadable else "",
        f"{without:,} {plural(without, 'query has', 'queries have')} no relevant row, left out." if without else "",
    )
    return Queries(list(answered), corpus.sentences, list(answered.values())), tuple(filter(None, remarks))


def _by_text(corpus: Rows) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, sentence in enumerate(corpus.sentences):
        places.setdefault(sentence.strip(), []).append(place)
    return places


def _gain(text: str) -> float | None:
    """A relevance, 0 and up; None where it is none."""
    gain = IN_WORDS.get(text.strip().lower(), number(text))
    return gain if gain is not None and 0 <= gain < float("inf") else None


def _unguarded(text: str) -> str:
    """Without the apostrophe that a csv file of this app has before what a spreadsheet would run as a formula."""
    return text[1:] if text.startswith("'") and guarded(text[1:]) == text else text
