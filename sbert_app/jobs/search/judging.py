"""Judgements of hits, by click: how well a row answers a query. As a file they are what Evaluation measures rankings by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.search.ranked_hits import checked_query
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables.table import csv_file

GRADES = {2: "yes", 1: "partly", 0: "no"}  # how well a row answers a query
FILE = "judgements.csv"
MOST = 10_000  # judgements of one visitor


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
    query = checked_query(bench, query)
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
    """One line for each judgement: query, row, relevance, sentence. Raises UserError without any."""
    corpus, grades = session.corpus().corpus, judgements(session).grades
    if not grades:
        raise UserError("Nothing is judged yet. Tick “Judge these hits” and say which of them answer the query.")
    places = {int(row): place for place, row in enumerate(corpus.rows)}
    records = [
        {"query": query, "row": row, "relevance": grade, "sentence": corpus.sentences[places[row]]}
        for (query, row), grade in grades.items()
    ]
    return csv_file(records)
