"""Label pairs of the open corpus one by one; the labels are training data, and half of them measure what they are worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.labelling.answers import (
    AGAIN,
    LABELS,
    LEARN,
    UNSURE,
    Answer,
    Log,
    as_records,
    read_answers,
)
from sbert_app.labelling.candidates import Candidates, candidates
from sbert_app.labelling.choosing import BATCH, Question, next_question, placed, questions
from sbert_app.labelling.estimates import Estimate, estimate
from sbert_app.labelling.remarks import of_file, of_labels
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table
from sbert_app.tables.table import csv_file

FOLDER = "labels"  # in the data home
MOST = 5_000  # answers of one visitor
MOST_SECONDS = 3_600.0


@dataclass(frozen=True)
class Labelling:
    """The labels of a session's corpus, and the pair of its sentences that is asked about now, None once all are answered.

    log: where the answers are on disk, None in a hosted app. graded: whether labels are 0 to 5 instead of yes and no.
    notes: on the file of labels that was added last, until the next answer.
    """

    of_corpus: ClassVar[bool] = True

    sentences: Sequence[str]
    pairs: Candidates
    question: Question | None
    answers: tuple[Answer, ...] = ()
    graded: bool = False
    log: Log | None = field(default=None, compare=False)
    notes: tuple[str, ...] = ()

    def answered(self, answers: tuple[Answer, ...]) -> "Labelling":
        """With these answers, and the question that follows them."""
        return replace(self, answers=answers, question=next_question(self.pairs, answers), notes=())

    @property
    def remarks(self) -> Sequence[str]:
        """What a person should know of the labels so far."""
        return *self.notes, *of_labels(self.answers, self.pairs.scores)

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
    took = min(float(seconds), MOST_SECONDS) if isinstance(seconds, int | float) and seconds > 0 else 0.0
    return _kept(session, before, [_given(before, corpus, before.question, label, took)]) or labelling(
        session
    )  # of two keys the first


def record(session: Session, answers: Mapping[str, Any]) -> Labelling:
    """Answer several of the next questions at once, by the places of their pairs. All or none are kept."""
    before, corpus = labelling(session), session.corpus().corpus
    asked = {str(question.place): question for question in questions(before.pairs, before.answers, BATCH)}
    if unknown := answers.keys() - asked.keys():
        raise UserError(f"No pair {min(unknown)!r} is asked now. Ask for pairs to label, and answer those by their ids.")
    labels = {key: validation.one_of(label, "label", LABELS) for key, label in answers.items()}
    return _all_kept(session, before, [_given(before, corpus, asked[key], label or UNSURE) for key, label in labels.items()])


def _given(current: Labelling, corpus: Corpus, question: Question, label: str, seconds: float = 0.0) -> Answer:
    one, two = int(current.pairs.rows1[question.place]), int(current.pairs.rows2[question.place])
    return Answer(
        corpus.sentences[one], corpus.sentences[two], label, int(corpus.rows[one]), int(corpus.rows[two]),
        datetime.now(UTC).isoformat(timespec="seconds"), round(seconds, 1), question.why, question.probability, question.place,
    )  # fmt: skip


def _kept(session: Session, before: Labelling, new: Sequence[Answer]) -> Labelling | None:
    """Store further answers, on disk too. None, storing nothing, if others came meanwhile."""
    if len(before.answers) + len(new) > MOST:
        raise UserError(f"There are {MOST:,} labels, the most that are kept. Download them, or train with them.")
    after = before.answered((*before.answers, *new))
    if not session.swap(before, after):
        return None
    try:
        if before.log:
            before.log.add(new)
    except UserError:
        session.swap(after, before)
        raise
    return after


def _all_kept(session: Session, before: Labelling, new: Sequence[Answer]) -> Labelling:
    if (after := _kept(session, before, new)) is None:
        raise UserError("Another answer came at the same moment, so these were not kept: send them once more.")
    return after


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
    given_there = placed(read_answers(table), before.sentences, before.pairs)
    for given in given_there:
        if given.texts not in known:
            known.add(given.texts)
            new.append(replace(given, why=LEARN if given.why == AGAIN else given.why))
    after = _all_kept(session, before, new)
    notes = of_file(given_there, len(given_there) - len(new), sum(given.place < 0 for given in new))
    return session.update(Labelling, lambda now: replace(now or after, notes=tuple(notes)))


def as_csv(session: Session) -> str:
    """One line for each answer. Raises UserError without any."""
    answers = labelling(session).answers
    if not answers:
        raise UserError("Nothing is labelled yet. Answer the first pair with y or n.")
    return csv_file(as_records(answers))


def best_threshold(session: Session) -> float:
    """The cosine from which on pairs are best called the same. Raises UserError before both kinds were labelled."""
    made = labelling(session).estimate()
    if made is None:
        raise UserError("There is no threshold yet: label some pairs that are the same and some that are not.")
    return made.best.threshold


def change(session: Session, number: Any, label: Any) -> Labelling:
    """Give the answer with this number, counted from 0, another label; UNSURE takes it out of all figures."""
    before = labelling(session)
    number = validation.whole_number(number, "number of the answer", 0, len(before.answers) - 1)
    if (label := validation.one_of(label, "label", LABELS)) is None:
        raise UserError(f"Choose an answer: {', '.join(LABELS)}.")
    if before.log:
        before.log.change(number, label)

    def changed(now: Labelling | None) -> Labelling:
        answers = [*(now or before).answers]
        answers[number] = replace(answers[number], label=label)
        return (now or before).answered(tuple(answers))

    return session.update(Labelling, changed)
