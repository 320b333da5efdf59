"""Label pairs of the open corpus one by one; the labels are training data, and half of them measure what they are worth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.fine_tune import preparing
from sbert_app.jobs.fine_tune.preparing import TEST, TrainingData
from sbert_app.labelled.examples import LEAST_ROWS
from sbert_app.labelling.answers import (
    AGAIN,
    LABELS,
    LEARN,
    MEASURE,
    Answer,
    Log,
    as_records,
    as_table,
    one_each,
    read_answers,
)
from sbert_app.labelling.candidates import Candidates, candidates
from sbert_app.labelling.choosing import Question, next_question, placed
from sbert_app.labelling.estimates import Estimate, estimate
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table
from sbert_app.tables.table import csv_file

FOLDER = "labels"  # in the data home
MOST = 5_000  # answers of one visitor
MOST_SECONDS = 3_600.0
LEAST_SHARE = 0.05  # of pairs that are the same, or of those that are not


@dataclass(frozen=True)
class Labelling:
    """The labels of a session's corpus, and the pair of its sentences that is asked about now, None once all are answered.

    log: where the answers are on disk, None in a hosted app. graded: whether labels are 0 to 5 instead of yes and no.
    """

    of_corpus: ClassVar[bool] = True

    sentences: Sequence[str]
    pairs: Candidates
    question: Question | None
    answers: tuple[Answer, ...] = ()
    graded: bool = False
    log: Log | None = field(default=None, compare=False)

    def answered(self, answers: tuple[Answer, ...]) -> "Labelling":
        """With these answers, and the question that follows them."""
        return replace(self, answers=answers, question=next_question(self.pairs, answers))

    def estimate(self) -> Estimate | None:
        """Precision and recall by threshold, so far."""
        return estimate(self.pairs, self.answers)


def begin(bench: Workbench, session: Session) -> Labelling:
    """Begin to label the open corpus, or go on where one was. Raises UserError for a collection or a corpus of few pairs."""
    if (current := session.get(Labelling)) is not None:
        return current
    indexed = session.corpus()
    refuse_collection(session.get(OpenCollection), "Labelling pairs")
    pairs = candidates(indexed)
    log = None if bench.settings.hosted else Log.of(bench.settings.home / FOLDER, indexed.corpus.sentences)
    before = placed(log.read(), indexed.corpus.sentences, pairs) if log else ()
    begun = Labelling(indexed.corpus.sentences, pairs, None, log=log).answered(tuple(before))
    session.put(begun)
    return begun


def labelling(session: Session) -> Labelling:
    """The labels of the open corpus. Raises UserError before `begin`."""
    current = session.get(Labelling)
    if current is None:
        raise UserError("No pairs are being labelled. Choose “Label pairs of the open corpus”.")
    return current


def answer(session: Session, label: Any, count: Any, seconds: Any = 0.0) -> Labelling:
    """Answer the question, once it is saved go on to the next.

    label: one of LABELS; count: the answers before, as the page knows them: an answer to another question changes nothing.
    """
    before, corpus = labelling(session), session.corpus().corpus
    if (label := validation.one_of(label, "label", LABELS)) is None:
        raise UserError(f"Choose an answer: {', '.join(LABELS)}.")
    if before.question is None or count != len(before.answers):
        return before
    if count >= MOST:
        raise UserError(f"There are {MOST:,} labels, the most that are kept. Download them, or train with them.")
    place = before.question.place
    one, two = int(before.pairs.rows1[place]), int(before.pairs.rows2[place])
    took = min(float(seconds), MOST_SECONDS) if isinstance(seconds, int | float) and seconds > 0 else 0.0
    given = Answer(
        corpus.sentences[one], corpus.sentences[two], label, int(corpus.rows[one]), int(corpus.rows[two]),
        datetime.now(UTC).isoformat(timespec="seconds"), round(took, 1), before.question.why, before.question.probability, place,
    )  # fmt: skip
    after = before.answered((*before.answers, given))
    if not session.swap(before, after):  # two keys at once: the first counts
        return labelling(session)
    try:
        _save(before, [given])
    except UserError:
        session.swap(after, before)
        raise
    return after


def _save(current: Labelling, answers: Sequence[Answer]) -> None:
    for given in answers if current.log else ():
        current.log.add(given)  # type: ignore[union-attr]


def undo(session: Session) -> Labelling:
    """Take the last answer back: its pair is asked again."""
    before = labelling(session)
    if not before.answers:
        return before
    last = before.answers[-1]
    after = before.answered(before.answers[:-1])
    if last.place >= 0:
        after = replace(after, question=Question(last.place, last.why, last.probability))
    if session.swap(before, after) and before.log:
        before.log.undo()
    return labelling(session)


def grade(session: Session, graded: bool) -> Labelling:
    """Ask for 0 to 5, or for yes and no."""
    return session.update(Labelling, lambda before: replace(before or labelling(session), graded=graded))


def add(session: Session, table: Table) -> Labelling:
    """Add the labels of a file. Those of pairs that are labelled already are left out; others need not be in the corpus."""
    before = labelling(session)
    known, new = {given.texts for given in before.answers}, []
    for given in placed(read_answers(table), before.sentences, before.pairs)[: MOST - len(before.answers)]:
        if given.texts not in known:
            known.add(given.texts)
            new.append(replace(given, why=LEARN if given.why == AGAIN else given.why))
    after = before.answered((*before.answers, *new))
    session.put(after)
    _save(before, new)
    return after


def as_csv(session: Session) -> str:
    """One line for each answer. Raises UserError without any."""
    answers = labelling(session).answers
    if not answers:
        raise UserError("Nothing is labelled yet. Answer the first pair with y or n.")
    return csv_file(as_records(answers))


def train_on(bench: Workbench, session: Session) -> TrainingData:
    """Make the labels the training data; those to measure by are held out, if they are enough. Raises UserError for too few."""
    answers = labelling(session).answers
    name = f"labels of {session.corpus().corpus.name}"
    measured = as_table(name, answers, (MEASURE,))
    held_out = len(measured.rows) >= LEAST_ROWS and len(set(measured.frame["label"])) > 1
    learnt = as_table(name, answers, (LEARN,) if held_out else (LEARN, MEASURE))
    if (count := len(learnt.rows)) < LEAST_ROWS:
        raise UserError(f"There are {count} labels to learn from, at least {LEAST_ROWS} are needed. Label some more pairs.")
    data = preparing.load(bench, session, learnt)
    return preparing.set_part(bench, session, TEST, measured) if held_out else data


def best_threshold(session: Session) -> float:
    """The cosine from which on pairs are best called the same. Raises UserError before both kinds were labelled."""
    made = labelling(session).estimate()
    if made is None:
        raise UserError("There is no threshold yet: label some pairs that are the same and some that are not.")
    return made.best.threshold


def remarks(current: Labelling) -> Iterator[str]:
    """What a person should know of the labels so far: of one kind only, or against the cosine."""
    judged = [given.same for given in one_each(current.answers)]
    same = sum(bool(one) for one in judged)
    if len(judged) >= LEAST_ROWS and not LEAST_SHARE <= same / len(judged) <= 1 - LEAST_SHARE:
        rare = "the same" if same < len(judged) / 2 else "different"
        yield f"Hardly any pair is {rare} so far: a model learns from both kinds. Are you answering each pair by itself?"
