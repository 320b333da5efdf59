"""Use labels: as training data, or for a model in a second, the corpus's with a linear adapter. Judged by those to measure by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import BETTER, WORSE, Verdict, judge, predict
from sbert_app.jobs.fine_tune import preparing
from sbert_app.jobs.fine_tune.preparing import TEST, TrainingData
from sbert_app.jobs.fine_tune.running import free_name
from sbert_app.jobs.labelling import labelling
from sbert_app.labelled.example_set import Examples, sentence_groups
from sbert_app.labelled.examples import LEAST_ROWS
from sbert_app.labelling.answers import LEARN, MEASURE, Answer, as_table, one_each
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.storage import atomic_folder, writing
from sbert_app.vectors import Vectors

LEAST = 20  # labels to learn from, of candidates
NO_MODEL = "No model was made: these labels show no clear gain. Label more pairs, or train."


@dataclass(frozen=True)
class Adapted:
    """model: its name among the saved ones, "" where none was made, because the labels show no gain, or harm.

    tried: number of steps -> average precision, cross-validated on the labels to learn from; 0 steps is the model as it is.
    verdict: on the labels to measure by, None if they are of one kind only.
    """

    model: str
    tried: Mapping[int, float]
    verdict: Verdict | None

    @property
    def better(self) -> bool:
        """Whether it was shown on the labels to measure by."""
        return self.verdict is not None and self.verdict.word == BETTER

    @property
    def in_words(self) -> str:
        """What became of the labels: a model with its verdict, or why there is none."""
        use = "Chosen in the header: index the corpus again." if self.better else "Its gain may be chance: choose it to try it."
        lines = [f"Saved as {self.model}. {use}" if self.model else NO_MODEL]
        if verdict := self.verdict:
            change = verdict.changes[0]
            values = (change.before.value, change.after.value, change.difference.low, change.difference.high)
            figures = "{:.1f} before, {:.1f} after (change {:+.1f} to {:+.1f})".format(*(100 * value for value in values))
            lines.append(f"On the {verdict.examples} labels to measure by: {verdict.word}. Average precision ×100 {figures}.")
        tried = f"{100 * self.tried[0]:.1f} as it is, {100 * max(self.tried.values()):.1f} with an adapter."
        return f"{' '.join(lines)} Cross-validated on the labels to learn from: {tried}"


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


def adapt(bench: Workbench, session: Session) -> Adapted:
    """Fit an adapter on the session's labels, and save the model that it makes. Raises UserError for too few labels."""
    from sbert_app.training.adapter import fit_adapter

    if bench.settings.hosted:
        raise UserError("A hosted app saves no models. Use these labels for a training, and download its model.")
    indexed, answers = session.corpus(), [given for given in one_each(labelling(session).answers) if given.place >= 0]
    learnt, measured = ([given for given in answers if given.why == why] for why in (LEARN, MEASURE))
    if len(learnt) < LEAST or len({given.same for given in learnt}) < 2:
        raise UserError(
            f"A model needs at least {LEAST} labels to learn from, of both kinds. There are {len(learnt)}: label some more."
        )
    adapter = fit_adapter(*_vectors(session, learnt), _same(learnt), _groups(learnt))
    if adapter.weight is None:
        return Adapted("", adapter.tried, None)
    before, after = (_scores(session, measured, weight) for weight in (None, adapter.weight))
    gold = _same(measured).astype(float)
    verdict = judge("labelled", before, after, gold) if 0 < gold.sum() < len(gold) else None
    harms = verdict is not None and verdict.word == WORSE
    return Adapted("" if harms else _save(bench, indexed.model, adapter.weight, len(learnt)), adapter.tried, verdict)


def _vectors(session: Session, answers: Sequence[Answer]) -> tuple[Vectors, Vectors]:
    """The corpus's embeddings of both texts of each pair, (n, dim) each."""
    pairs, embeddings = labelling(session).pairs, session.corpus().embeddings
    places = [given.place for given in answers]
    return embeddings[pairs.rows1[places]], embeddings[pairs.rows2[places]]


def _same(answers: Sequence[Answer]) -> NDArray[np.bool_]:
    return np.array([bool(given.same) for given in answers])


def _groups(answers: Sequence[Answer]) -> NDArray[np.int64]:
    """Equal for answers that share a sentence, (n,)."""
    columns = [given.sentence1 for given in answers], [given.sentence2 for given in answers]
    return sentence_groups(Examples("positives", columns, np.zeros(len(answers)), np.arange(len(answers))))


def _scores(
    session: Session, answers: Sequence[Answer], weight: Vectors | None
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """The cosine of each pair, (n,), under an adapter or as it is."""
    vectors = _vectors(session, answers)
    return predict("labelled", vectors if weight is None else [each @ weight.T for each in vectors])


def _save(bench: Workbench, base: str, weight: Vectors, labels: int) -> str:
    """Save a copy of the model with the adapter as its last layer. Returns its name."""
    name = free_name(bench, f"{base}-adapted")
    with writing("The model"), atomic_folder(bench.settings.models / name) as folder:
        adapted = bench.registry.trainable(base).with_layer(weight)
        adapted.save(folder, name, {"made by": f"a linear adapter fitted on {labels} labelled pairs"})
    return name
