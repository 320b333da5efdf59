"""Queries with the documents that answer them: of three files, of questions with judged answers, or of one file of judgements."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sbert_app.corpus.reader import Corpus, joined_cells
from sbert_app.corpus.text_column import named
from sbert_app.errors import UserError
from sbert_app.labelled.labels import number
from sbert_app.tables import Table
from sbert_app.tables.table import guarded
from sbert_app.vectors import Rows
from sbert_app.wording import amount, row_list

IDS = {"document": ("doc_id", "corpus_id", "corpus-id", "_id", "id"), "query": ("query_id", "query-id", "_id", "id")}
GAINS = ("relevance", "score", "label")
QUESTION, ANSWER, LABEL = "question", "answer", "label"
LEAST_ANSWERS = 2.0  # judged answers a question, on average: fewer are pairs
QUERY = ("query", "queries", "search", "search_query")
ROW = ("row", "row_number", "rows")
TEXT = ("document", "doc", "passage", "document_text", "text")
RELEVANCE = ("relevance", "relevant", "grade", "gain", "judgement", "judgment")
WITH_ROW = ("score", "label", "rating")  # names of a relevance beside a row; beside a text they may be of pairs
IN_WORDS = {"yes": 2.0, "partly": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
SHAPE = "query, row, relevance"


@dataclass(frozen=True)
class Queries:
    """Queries with the documents that answer them."""

    queries: list[str]
    documents: list[str]
    relevant: list[dict[int, float]]  # for each query its relevant documents, by row, and their gains
    candidates: list[Rows] | None = None  # for each query the only documents to rank, by row; None where all are ranked


def read_queries(corpus: Table, queries: Table, judgements: Table) -> Queries:
    """Read three tables, as BEIR has them. Queries without a relevant document are left out. Raises UserError."""
    document_ids, query_ids = _column(corpus, IDS["document"]), _column(queries, IDS["query"])
    rows = {name: row for row, name in enumerate(corpus.frame[document_ids])}
    relevant: dict[str, dict[int, float]] = {}
    columns = [judgements.frame[_column(judgements, names)] for names in (GAINS, IDS["query"], IDS["document"])]
    for text, query, document in zip(*columns, strict=True):
        if (gain := number(text) or 0.0) > 0 and document in rows:
            relevant.setdefault(query, {})[rows[document]] = gain
    judged = queries.frame[queries.frame[query_ids].isin(list(relevant))]
    if not len(judged):
        raise UserError(f"No query of '{queries.name}' has a relevant document in '{corpus.name}'. Check the ids in the files.")
    documents = _texts(corpus, corpus.frame, document_ids)
    return Queries(_texts(queries, judged, query_ids), documents, [relevant[name] for name in judged[query_ids]])


def read_answers(table: Table) -> Queries | None:
    """Read questions with judged answers, None if the table holds none. Questions without right or wrong answers are left out."""
    names = {name.strip().lower(): name for name in table.frame.columns}
    if not {QUESTION, ANSWER, LABEL} <= set(names):
        return None
    frame = table.frame.rename(columns={names[key]: key for key in (QUESTION, ANSWER, LABEL)})
    if not frame[QUESTION].nunique() or len(frame) / frame[QUESTION].nunique() < LEAST_ANSWERS:
        return None
    gains = frame[LABEL].map(lambda text: number(text) or 0.0)
    relevant, candidates, queries = [], [], []
    for question, rows in frame.groupby(QUESTION, sort=False).indices.items():
        right = {int(row): float(gains.iloc[row]) for row in rows if gains.iloc[row] > 0}
        if 0 < len(right) < len(rows):
            queries.append(str(question))
            relevant.append(right)
            candidates.append(np.asarray(rows, np.int64))
    return Queries(queries, frame[ANSWER].tolist(), relevant, candidates) if queries else None


def _texts(table: Table, frame: pd.DataFrame, ids: str) -> list[str]:
    """All columns but the ids, joined: a document is its title and its text."""
    columns = [name for name in frame.columns if name != ids]
    if not columns:
        raise UserError(f"'{table.name}' has no column of texts besides '{ids}'.")
    return joined_cells(frame[name] for name in columns)


def _column(table: Table, names: tuple[str, ...]) -> str:
    """The first of these columns that the table has. Raises UserError without any."""
    if column := next((name for name in names if name in table.frame.columns), ""):
        return column
    raise UserError(f"'{table.name}' has no column {' or '.join(map(repr, names[:2]))}. It has: {', '.join(table.frame.columns)}.")


def judged_columns(frame: pd.DataFrame) -> tuple[str, str, str] | None:
    """The columns of queries, of rows or texts, and of relevance, by their names; None where the table holds no judgements."""
    query, row, text = (named(frame, names) for names in (QUERY, ROW, TEXT))
    relevance = named(frame, (*RELEVANCE, *WITH_ROW) if row else RELEVANCE)
    columns = query, row or text, relevance
    return columns if all(columns) else None


def read_judgements(table: Table, corpus: Corpus | None) -> tuple[Queries, tuple[str, ...]] | None:
    """Read judgements and remarks on what was left out; None if the table holds none. Raises UserError.

    corpus: what is ranked; rows need one. Texts that are not in it are ranked among themselves. A judgement holds for equal
    texts too. Queries without a relevant row are left out.
    """
    if (columns := judged_columns(table.frame)) is None:
        return None
    numbers = columns[1] == named(table.frame, ROW)
    queries, targets, gains = (table.frame[column].str.strip() for column in columns)
    if numbers and corpus is None:
        way_out = "Open that corpus first, then add the file again; elsewhere name texts: query, document, relevance."
        raise UserError(f"The rows of '{table.name}' are those of a corpus. {way_out}")
    if corpus is not None and not numbers and not set(targets) & {sentence.strip() for sentence in corpus.sentences}:
        corpus = None  # texts of their own: the open corpus is another one
    if corpus is None:
        texts = list(dict.fromkeys(text for text in targets if text))
        corpus = Corpus(table.name, (columns[1],), texts, pd.DataFrame(), np.arange(1, len(texts) + 1))
    same: defaultdict[str, list[int]] = defaultdict(list)  # places of equal texts
    for place, sentence in enumerate(corpus.sentences):
        same[sentence.strip()].append(place)
    places = {str(row): [place] for place, row in enumerate(corpus.rows.tolist())} if numbers else same
    relevant: defaultdict[str, dict[int, float]] = defaultdict(dict)
    unknown, unreadable = [], []
    for line, query, target, text in zip(table.rows.tolist(), queries, targets, gains, strict=True):
        gain = IN_WORDS.get(text.lower(), number(text))
        if target not in places:
            unknown.append(line)
        elif gain is None or not 0 <= gain < float("inf") or not query:
            unreadable.append(line)
        else:  # a csv file of this app has an apostrophe before what a spreadsheet would run as a formula
            of_query = relevant[query[1:] if query.startswith("'") and guarded(query[1:]) == query else query]
            for place in same[corpus.sentences[places[target][0]].strip()]:
                of_query[place] = max(gain, of_query.get(place, 0.0))
    return _queries(table, corpus, relevant, unknown, unreadable)


def _queries(
    table: Table, corpus: Corpus, relevant: dict[str, dict[int, float]], unknown: list[int], unreadable: list[int]
) -> tuple[Queries, tuple[str, ...]]:
    if not relevant and unknown:
        raise UserError(
            f"None of the {len(unknown):,} judged rows of '{table.name}' is in '{corpus.name}'. "
            "Open the corpus that they were judged in."
        )
    if not relevant:
        raise UserError(f"No line of '{table.name}' has a relevance that is a number, 0 and up. It needs the columns {SHAPE}.")
    positive = {query: {place: gain for place, gain in gains.items() if gain > 0} for query, gains in relevant.items()}
    answered = {query: gains for query, gains in positive.items() if gains}
    if not answered:
        raise UserError(f"Every relevance in '{table.name}' is 0: a query needs a row that answers it. Judge one with 1 or more.")
    without = len(relevant) - len(answered)
    remarks = (
        f"Not in '{corpus.name}', left out: {row_list(unknown)}." if unknown else "",
        f"No query or no readable relevance, left out: {row_list(unreadable)}." if unreadable else "",
        f"{amount(without, 'query has', 'queries have')} no relevant row, left out." if without else "",
    )
    return Queries(list(answered), corpus.sentences, list(answered.values())), tuple(filter(None, remarks))
