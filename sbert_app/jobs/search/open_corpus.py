"""The open corpus as Search has it, besides the hits: how it can be searched, what to mind, and judgements of its hits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.filters import FilterColumn, filter_columns
from sbert_app.corpus.hits import MAXSIM, MOST_ROWS, RANKINGS, FormerIndex
from sbert_app.corpus.indexed import DENSE, WORDS, IndexedCorpus
from sbert_app.corpus.reader import free_names
from sbert_app.errors import UserError
from sbert_app.explain.cautions import unread
from sbert_app.jobs import validation
from sbert_app.runtime import Session, Workbench
from sbert_app.runtime.examples import FIRST_QUERIES
from sbert_app.tables import csv_file

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

HINT = "Type what you are looking for."
OFFERED = (MAXSIM, DENSE)  # ways to rank a collection, the first by default
SAMPLED, BEGINNING = 1_000, 300  # rows of a corpus, characters of each
LEAST_ROWS, LEAST_SHARE = 2, 0.04  # of the sampled rows: below it, they are quotations and names
GRADES = {2: "yes", 1: "partly", 0: "no"}  # how well a row answers a query
FILE = "judgements.csv"
MOST = 10_000  # judgements of one visitor


def encoder_of(bench: Workbench, session: Session) -> "Encoder":
    """The encoder of the open corpus."""
    indexed = session.corpus()
    return bench.registry.encoder_of(indexed.model, indexed.fingerprint)


@dataclass(frozen=True)
class Offered:
    """What an open corpus can be searched with."""

    former_model: str  # of the index before, or ""
    rerankers: Sequence[str]  # cross-encoders at hand that may rank answers
    rankings: Sequence[str]  # of RANKINGS
    columns: Sequence[FilterColumn]  # how rows can be filtered
    sampled: int = 0  # of a collection, the rows of the sample that values are counted in


def offered(bench: Workbench, session: Session) -> Offered:
    """What the open corpus can be searched with."""
    corpus, collection, former = session.corpus().corpus, session.get(OpenCollection), session.get(FormerIndex)
    models = former.indexed.model if former else "", bench.registry.rerankers()
    if collection is None:
        return Offered(*models, tuple(RANKINGS), corpus.filter_columns)
    columns = list(collection.facts.columns)  # those that the store can filter by
    sampled = len(corpus) if collection.is_sampled else 0
    return Offered(*models, OFFERED, [*filter_columns(corpus.metadata[columns]), FilterColumn(collection.facts.sentence)], sampled)


def query_caution(encoder: "Encoder", query: str) -> tuple[str, ...]:
    """A sentence on a query that the model hardly reads, else nothing."""
    reason = unread(query, encoder.split(query), encoder.pieces_a_sample_word)
    return (f"The query {reason}: do not rely on these hits.",) if reason else ()


def cautions(bench: Workbench, indexed: IndexedCorpus) -> tuple[str, ...]:
    """What to mind in scores of a corpus: rows that its model hardly reads. Nothing if that model is gone."""
    try:
        encoder = bench.registry.encoder_of(indexed.model, indexed.fingerprint)
    except UserError:
        return ()
    return corpus_caution(encoder, indexed.corpus.sentences)


def corpus_caution(encoder: "Encoder", sentences: Sequence[str]) -> tuple[str, ...]:
    """A sentence on how many rows the model hardly reads, judged by a sample of them; nothing if these are few."""
    total = len(sentences)
    sample = [sentences[i][:BEGINNING] for i in np.linspace(0, total - 1, min(total, SAMPLED)).astype(int)]
    count = sum(bool(unread(text, encoder.split(text), encoder.pieces_a_sample_word)) for text in sample)
    if count < max(LEAST_ROWS, LEAST_SHARE * len(sample)):
        return ()
    rows = f"At least {count:,}" if len(sample) == total else f"At least about {10 * round(total * count / len(sample) / 10):,}"
    return (f"{rows} of {total:,} rows are in a language or script that {encoder.name} hardly reads: do not rely on their scores.",)


def no_hits(ranking: str) -> str:
    """Why a search found nothing."""
    by_words = "No row that is searched has a word of the query: rank by meaning."
    return by_words if ranking == WORDS else "No row fits the filters. Remove one to see hits."


def weak_below(bench: Workbench, session: Session) -> float:
    """The cosine below which a hit in the open corpus is weak; -1 where the rest of a long text, not read, may be close."""
    if session.corpus().lacks_passages:
        return -1.0
    return bench.examples.references(encoder_of(bench, session)).weak


def first_query(bench: Workbench, session: Session, query: str) -> str:
    """The query to show when a corpus is opened: the typed one; the example's if none or another example's is there."""
    first = session.corpus().corpus.first_query
    return first if not query or query in FIRST_QUERIES.values() else query


@dataclass(frozen=True)
class Within:
    """A part of the open corpus, the only one that is searched as long as a session has it."""

    indexed: IndexedCorpus
    title: str
    of_corpus: ClassVar[bool] = True


@dataclass(frozen=True)
class Fitting:
    """The rows of what is searched that fit filters, in the order of the file, at most MOST_ROWS of them."""

    count: int
    searched: int
    records: list[dict[str, Any]]  # row: its number in the file; then its columns
    sentences: list[str]  # of the same rows
    notes: tuple[str, ...]  # on rows that a filter could not read


def fitting(session: Session, filters: Mapping[str, Any]) -> Fitting:
    """What is there to search under filters, without a query. Raises UserError without a corpus, and for a collection."""
    refuse_collection(session.get(OpenCollection), "A list of rows without a query")
    opened = session.get(Within)
    indexed = opened.indexed if opened else session.corpus()
    mask, notes = indexed.fitting(filters)
    places = np.arange(len(indexed.corpus)) if mask is None else np.flatnonzero(mask)
    shown = places[:MOST_ROWS]
    cells = indexed.corpus.as_in_file().iloc[shown]
    labels = map(indexed.corpus.row_label, indexed.corpus.rows[shown].tolist())
    names, rows = ["row", *free_names(cells.columns, ["row"])], zip(labels, cells.to_numpy().tolist(), strict=True)
    records = [dict(zip(names, [label, *row], strict=True)) for label, row in rows]
    return Fitting(len(places), len(indexed.corpus), records, [indexed.corpus.sentences[place] for place in shown], notes)


@dataclass(frozen=True)
class Judgements:
    """Grades of a visitor by query and row of the file, in the order in which they were given first."""

    of_corpus: ClassVar[bool] = True
    grades: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def judged(self, query: str, row: int, grade: int | None) -> "Judgements":
        """With this grade; without one if it is None."""
        others = {key: value for key, value in self.grades.items() if grade is not None or key != (query, row)}
        return Judgements(others if grade is None else others | {(query, row): grade})

    def of_query(self, query: str) -> dict[int, int]:
        """The grade of each judged row."""
        return {row: grade for (other, row), grade in self.grades.items() if other == query}


def judge(bench: Workbench, session: Session, query: Any, row: Any, grade: Any) -> Judgements:
    """Set how well a row of the corpus answers a query, one of GRADES; None takes a judgement back. Raises UserError."""
    corpus = session.corpus().corpus
    refuse_collection(session.get(OpenCollection), "Judging hits")
    query = validation.sentence(query, "query", bench.settings.limits, HINT)
    row = validation.whole_number(row, "row", 1, int(corpus.rows[-1]))
    corpus.index_of(row)  # refuses one that was skipped
    if grade is not None:
        grade = validation.whole_number(grade, "grade", 0, max(GRADES))

    def judged(before: Judgements | None) -> Judgements:
        after = (before or Judgements()).judged(query, row, grade)
        if len(after.grades) > MOST:
            raise UserError(f"You have {MOST:,} judgements, the most that are kept. Download them, then open the corpus again.")
        return after

    return session.update(Judgements, judged)


def judgements(session: Session) -> Judgements:
    """The judgements on the open corpus."""
    return session.get(Judgements) or Judgements()


def as_csv(session: Session) -> str:
    """Judgements as Evaluation measures rankings by them: query, row, relevance, sentence. Raises UserError without any."""
    corpus, grades = session.corpus().corpus, judgements(session).grades
    if not grades:
        raise UserError("Nothing is judged yet. Tick “Judge these hits” and say which of them answer the query.")
    places = {int(row): place for place, row in enumerate(corpus.rows)}
    records = [
        {"query": query, "row": row, "relevance": grade, "sentence": corpus.sentences[places[row]]}
        for (query, row), grade in grades.items()
    ]
    return csv_file(records, corpus.form.delimiter)
