"""Label pairs of the open corpus one by one; the labels are training data, and half of them measure what they are worth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.labelling.answers import AGAIN, FIELDS, LABELS, LEARN, UNSURE, Answer, Log, read_answers
from sbert_app.labelling.choosing import BATCH, Candidates, Question, candidates, next_question, placed, questions
from sbert_app.labelling.estimates import Estimate, estimate, of_file, of_labels
from sbert_app.runtime import Session, Workbench
from sbert_app.tables import Table, csv_file
from sbert_app.wording import amount

FOLDER = "labels"  # in the data home
MOST = 5_000  # answers of one visitor
MOST_SECONDS = 3_600.0


@dataclass(frozen=True)
class Labelling:
    """The labels of a session's corpus, and the pair of its sentences that is asked about now."""

    of_corpus: ClassVar[bool] = True
    corpus: Corpus
    pairs: Candidates
    question: Question | None  # None once all are answered
    log: Log = field(compare=False)  # where the answers are on disk
    answers: tuple[Answer, ...] = ()
    graded: bool = False  # whether labels are 0 to 5 instead of yes and no
    notes: tuple[str, ...] = ()  # on the file of labels that was added last, until the next answer

    def answered(self, answers: Sequence[Answer]) -> "Labelling":
        """With these answers, and the question that follows them."""
        return replace(self, answers=tuple(answers), question=next_question(self.pairs, answers), notes=())

    def further(self, new: Sequence[Answer]) -> "Labelling":
        """With further answers. Raises UserError for too many."""
        if len(self.answers) + len(new) > MOST:
            raise UserError(f"There are {MOST:,} labels, the most that are kept. Download them, or train with them.")
        return self.answered((*self.answers, *new))

    def given(self, question: Question, label: str, seconds: float = 0.0) -> Answer:
        """An answer to a question, given now."""
        (one, two), corpus = self.pairs.rows(question.place), self.corpus
        return Answer(
            corpus.sentences[one], corpus.sentences[two], label, int(corpus.rows[one]), int(corpus.rows[two]),
            datetime.now(UTC).isoformat(timespec="seconds"), round(seconds, 1), question.why, question.probability, question.place,
        )  # fmt: skip

    @property
    def remarks(self) -> list[str]:
        """What a person should know of the labels so far."""
        return [*self.notes, *of_labels(self.answers, self.pairs.scores)]

    def estimate(self) -> Estimate | None:
        """Precision and recall by threshold, so far."""
        return estimate(self.pairs, self.answers)


@dataclass(frozen=True)
class FormerLabels:
    """The answers on these rows, given while another model had indexed them, until `begin` places them."""

    of_corpus: ClassVar[bool] = True
    answers: tuple[Answer, ...] = ()


def former_labels(session: Session) -> FormerLabels | None:
    """What the index of another model takes over."""
    current = session.get(Labelling)
    return FormerLabels(current.answers) if current else session.get(FormerLabels)


def begin(bench: Workbench, session: Session) -> Labelling:
    """Begin to label the open corpus, or go on where one was. Raises UserError for a collection or a corpus of few pairs."""
    if session.get(Labelling) is not None:
        return labelling(session)
    indexed = session.whole_corpus()
    refuse_collection(session.get(OpenCollection), "Labelling pairs")
    pairs, sentences = candidates(indexed), indexed.corpus.sentences
    log, notes = Log() if bench.settings.hosted else Log.of(bench.settings.home / FOLDER, sentences), list[str]()
    answers = log.read() or (session.get(FormerLabels) or FormerLabels()).answers
    if not answers and (answers := log.earlier({*sentences})):
        log.add(answers)
        notes = [f"{amount(len(answers), 'label')} came along: another state of this file has these pairs, too."]
    begun = Labelling(indexed.corpus, pairs, None, log).answered(placed(answers, indexed.corpus, pairs))
    session.put(begun := replace(begun, notes=tuple(notes)))
    return begun


def labelling(session: Session) -> Labelling:
    """The labels of the open corpus, those of other windows and commands too. Raises UserError before `begin`."""
    current = session.require(Labelling, "No pairs are being labelled. Choose “Label pairs of the open corpus”.")
    if not current.log.has_others:
        return current

    def read_again(before: Labelling | None) -> Labelling:
        now = before or current
        return now.answered(placed(now.log.read(), now.corpus, now.pairs))

    return session.update(Labelling, read_again)


def answer(session: Session, label: Any, count: Any, seconds: Any = 0.0) -> Labelling:
    """Answer the question and go on. count: of the answers that the page knows: an answer to another question changes nothing."""
    before, label = labelling(session), _checked(label)
    if before.question is None or count != len(before.answers):
        return before
    took = min(float(seconds), MOST_SECONDS) if isinstance(seconds, int | float) and seconds > 0 else 0.0
    new = [before.given(before.question, label, took)]
    _kept(session, before, before.further(new), lambda: before.log.add(new))
    return labelling(session)  # of two keys the first


def record(session: Session, answers: Mapping[str, Any]) -> Labelling:
    """Answer several of the next questions, or correct labels (of a pair asked twice the first), by their places: all or none."""
    before = labelling(session)
    asked = {str(question.place): question for question in questions(before.pairs, before.answers, BATCH)}
    known = {str(given.place): number for number, given in reversed([*enumerate(before.answers)]) if given.place >= 0}
    if unknown := answers.keys() - asked.keys() - known.keys():
        raise UserError(
            f"Pair {min(unknown)!r} is neither asked now nor labelled. Ask for pairs to label, and answer by their ids."
        )
    labels = {key: UNSURE if label in ("", None) else _checked(label) for key, label in answers.items()}
    new = [before.given(asked[key], label) for key, label in labels.items() if key in asked]
    changed = {known[key]: label for key, label in labels.items() if key not in asked}
    corrected = [replace(given, label=changed.get(number, given.label)) for number, given in enumerate(before.answers)]
    return _all_kept(session, before, before.answered(corrected).further(new), lambda: before.log.add(new, changed))


def add(session: Session, table: Table) -> Labelling:
    """Add the labels of a file. Those of pairs that are labelled already are left out; others need not be in the corpus."""
    before = labelling(session)
    there, new = placed(read_answers(table), before.corpus, before.pairs), dict[frozenset[str], Answer]()
    known = {given.texts: given.label for given in reversed(before.answers)}
    for given in there:
        if given.texts not in known:
            new.setdefault(given.texts, replace(given, why=LEARN if given.why == AGAIN else given.why))
    other = sum(known.get(given.texts, given.label) != given.label for given in there)
    notes = of_file(there, len(there) - len(new), other, sum(given.place < 0 for given in new.values()))
    after = replace(before.further([*new.values()]), notes=tuple(notes))
    return _all_kept(session, before, after, lambda: before.log.add(new.values()))


def undo(session: Session) -> Labelling:
    """Take the last answer back: its pair is asked again."""
    before = labelling(session)
    if before.answers:
        last, after = before.answers[-1], before.answered(before.answers[:-1])
        if last.place >= 0:
            after = replace(after, question=Question(last.place, last.why, last.probability))
        _kept(session, before, after, before.log.undo)
    return labelling(session)


def change(session: Session, number: Any, label: Any) -> Labelling:
    """Give the answer with this number, counted from 0, another label; UNSURE takes it out of all figures."""
    before, answers = labelling(session), [*labelling(session).answers]
    number = validation.whole_number(number, "number of the answer", 0, len(answers) - 1)
    answers[number] = replace(answers[number], label=_checked(label))
    return _all_kept(session, before, before.answered(answers), lambda: before.log.add([], {number: answers[number].label}))


def grade(session: Session, graded: bool) -> Labelling:
    """Ask for 0 to 5, or for yes and no."""
    return session.update(Labelling, lambda before: replace(before or labelling(session), graded=graded))


def _checked(label: Any) -> str:
    """One of LABELS; a grade may be a number. Raises UserError for anything else."""
    if (checked := validation.one_of(str(label) if type(label) is int else label, "label", LABELS)) is None:
        raise UserError(f"Choose an answer: {', '.join(LABELS)}.")
    return checked


def _kept(session: Session, before: Labelling, after: Labelling, write: Callable[[], None]) -> bool:
    """Store a change, on disk too. False, storing nothing, if another came meanwhile."""
    if not session.swap(before, after):
        return False
    try:
        write()
    except UserError:
        session.swap(after, before)
        raise
    return True


def _all_kept(session: Session, before: Labelling, after: Labelling, write: Callable[[], None]) -> Labelling:
    if not _kept(session, before, after, write):
        raise UserError("Another answer came at the same moment, so these were not kept: send them once more.")
    return after


def as_csv(session: Session) -> str:
    """One line for each answer. Raises UserError without any."""
    if not (answers := labelling(session).answers):
        raise UserError("Nothing is labelled yet. Answer the first pair with y or n.")
    return csv_file([{name: getattr(answer, name) for name in FIELDS} for answer in answers])


def best_threshold(session: Session) -> float:
    """The cosine from which on pairs are best called the same. Raises UserError before both kinds were labelled."""
    if (estimate := labelling(session).estimate()) is None:
        raise UserError("There is no threshold yet: label some pairs that are the same and some that are not.")
    return estimate.best.threshold
