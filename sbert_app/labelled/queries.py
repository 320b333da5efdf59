"""Queries with the documents that answer them: corpus, queries and judgements in three files, or questions with judged answers."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.labelled.columns import number
from sbert_app.tables import Table

IDS = {"document": ("doc_id", "corpus_id", "corpus-id", "_id", "id"), "query": ("query_id", "query-id", "_id", "id")}
GAINS = ("relevance", "score", "label")
QUESTION, ANSWER, LABEL = "question", "answer", "label"
LEAST_ANSWERS = 2.0  # judged answers a question, on average: fewer are pairs
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Queries:
    """relevant: for each query its relevant documents, by row, and their gains. candidates: for each query the only documents to
    rank, by row; None where all are ranked."""

    queries: list[str]
    documents: list[str]
    relevant: list[dict[int, float]]
    candidates: list[Rows] | None = None


def read_queries(corpus: Table, queries: Table, judgements: Table) -> Queries:
    """Read three tables, as BEIR has them. Queries without a relevant document are left out. Raises UserError."""
    document_ids, query_ids = _column(corpus, IDS["document"]), _column(queries, IDS["query"])
    rows = {name: row for row, name in enumerate(corpus.frame[document_ids])}
    relevant: dict[str, dict[int, float]] = {}
    gains = _column(judgements, GAINS)
    pairs = judgements.frame[_column(judgements, IDS["query"])], judgements.frame[_column(judgements, IDS["document"])]
    for query, document, text in zip(*pairs, judgements.frame[gains], strict=True):
        gain = number(text)
        if gain is not None and gain > 0 and document in rows:
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
    return [" ".join(filter(None, map(str.strip, cells))) for cells in zip(*(frame[name] for name in columns), strict=True)]


def _column(table: Table, names: tuple[str, ...]) -> str:
    """The first of these columns that the table has. Raises UserError without any."""
    column = next((name for name in names if name in table.frame.columns), "")
    if not column:
        raise UserError(
            f"'{table.name}' has no column {' or '.join(map(repr, names[:2]))}. It has: {', '.join(table.frame.columns)}."
        )
    return column
