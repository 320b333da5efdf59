"""The job label: the pairs of a corpus to label next, what the labels so far say, and their use: as training data, or a model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import BETTER, Verdict, judge, predict
from sbert_app.jobs import labelling
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import flag, json_object, option, output, upload, whole
from sbert_app.jobs.fine_tune import preparing
from sbert_app.jobs.fine_tune.running import free_name
from sbert_app.jobs.labelling import Labelling
from sbert_app.labelled.example_set import Examples, sentence_groups
from sbert_app.labelled.examples import LEAST_ROWS
from sbert_app.labelling.answers import FIELDS, LABELS, LEARN, MEASURE, NO, YES, Answer, as_table, one_each, read_answers
from sbert_app.labelling.choosing import BATCH, questions
from sbert_app.labelling.estimates import Estimate
from sbert_app.runtime import Session, Workbench
from sbert_app.settings import Limits
from sbert_app.step import Step
from sbert_app.storage import atomic_folder, writing, writing_to
from sbert_app.tables import Table, csv_file, read_table
from sbert_app.vectors import Vectors
from sbert_app.wording import amount

CSV = output(".csv", reason="labels are a table")
ASKED = ("sentence1", "sentence2", "row1", "row2", "why", "probability")  # of FIELDS: what a pair has before it is answered
LEAST = 20  # labels to learn from, of candidates
ALL_SPLIT = f"All labels are split into the parts: those to measure by are not yet {LEAST_ROWS}, of both kinds, to be a test part."
NO_MODEL = "No model was made: these labels show no clear gain. Label more pairs, or train."


@dataclass(frozen=True)
class LabelOptions:
    answers: dict[str, Any] | None = option(
        f'Answers to pairs asked before, or corrections, by their ids, as in {{"17": "yes"}}. Labels: {", ".join(LABELS)}.',
        json_object("answers"), None,
    )  # fmt: skip
    labels: Table | None = option(
        "A file of labels: sentence1, sentence2, label. Rows without a label are left out.", upload(), None
    )
    count: int = option("Number of pairs to ask next.", whole("number of pairs", 0, BATCH), 20)
    out: Path | None = option("Write the pairs to label to this .csv file: fill in its label, then send it as --labels.", CSV, None)
    save: Path | None = option("Write all labels so far to this .csv file.", CSV, None)
    adapt: bool = option("Also fit a linear adapter on the labels, and save the model that it makes.", flag("adapt"), False)


def label(call: Call, options: LabelOptions) -> Steps:
    """Choose the pairs of a corpus to label next, take the labels, and tell what follows: a threshold, and a model.

    Labels are kept with the corpus, the same that the app shows under Fine-tune.

    Returns:
        pairs (id, sentence1, sentence2, row1, row2, why: to learn from, to measure by, or asked again), labels, same and
        different (numbers of pairs), remarks, threshold (cosine, precision and recall with their intervals of 95 %, and how many
        further labels would settle them; null before both kinds were labelled), adapted (only if asked for: model, "" if the
        labels show no clear gain; average precision by steps of fitting; the verdict on the labels to measure by).
    """
    yield Step("Choosing pairs")
    current = labelling.begin(call.bench, call.session)
    if options.answers:
        current = labelling.record(call.session, options.answers)
    if options.labels is not None:
        current = labelling.add(call.session, options.labels)
    estimate = current.estimate()
    summary = _summary(current, estimate, options.count)
    rest = summary["labels"] - summary["same"] - summary["different"]
    others = f", {rest:,} “cannot say” or asked again" if rest else ""
    counts = "{labels:,} labels: {same:,} the same, {different:,} different".format(**summary)
    lines = [f"{counts}{others}.", *summary["remarks"]]
    if estimate:
        lines.append(f"Best threshold: {estimate.best.in_words}. {estimate.outlook}")
    lines += [f"{pair['id']}  {pair['sentence1']}\n       {pair['sentence2']}" for pair in summary["pairs"]]
    if options.adapt:
        yield Step("Fitting an adapter")
        made = adapt(call.bench, call.session)
        summary["adapted"] = {"model": made.model, "tried": dict(made.tried), "verdict": made.verdict and asdict(made.verdict)}
        lines.append(made.in_words)
    if options.save:
        lines.append(_write(options.save, "save", labelling.as_csv(call.session)))
    if options.out:
        _check_sent(options.out, current, call.bench.settings.limits)
        lines.append(_write(options.out, "out", csv_file([dict.fromkeys(FIELDS, "") | pair for pair in summary["pairs"]])))
    yield Outcome(summary, lines)


def _check_sent(path: Path, current: Labelling, limits: Limits) -> None:
    """Raise UserError where a file that would be written over holds labels which were not sent."""
    given = read_answers(read_table(path, limits)) if path.is_file() and path.stat().st_size else []
    if unsent := {each.texts for each in given} - {each.texts for each in current.answers}:
        raise UserError(
            f"'{path}' holds {amount(len(unsent), 'label')} not sent yet. Send it with --labels, or choose another --out."
        )


def _summary(current: Labelling, estimate: Estimate | None, count: int) -> dict[str, Any]:
    pairs = [current.given(question, "") for question in questions(current.pairs, current.answers, count)]
    judged = [bool(given.same) for given in one_each(current.answers)]
    return {
        "pairs": [{"id": pair.place, **{name: getattr(pair, name) for name in ASKED}} for pair in pairs],
        "labels": len(current.answers),
        "same": sum(judged),
        "different": len(judged) - sum(judged),
        "remarks": current.remarks,
        "threshold": estimate and asdict(estimate.best) | {"missing": estimate.missing},
    }


def _write(path: Path, name: str, content: str) -> str:
    with writing_to(path, name):
        path.write_text(content, encoding="utf-8", newline="")
    return f"-> {path}"


LABEL = Job("label", Needs.CORPUS, LabelOptions, label, "label", collections=False)


@dataclass(frozen=True)
class Adapted:
    """The corpus's model with a linear adapter, fitted in a second, and what shows its worth."""

    of_corpus: ClassVar[bool] = True
    answers: tuple[Answer, ...]  # all that were given until then
    model: str  # its name among the saved ones, "" where none was made, because the labels show no gain, or harm
    tried: Mapping[int, float]  # steps (0: as it is) -> average precision, cross-validated on the labels to learn from
    verdict: Verdict | None  # on the labels to measure by, None if they are of one kind only

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


def train_on(bench: Workbench, session: Session) -> preparing.TrainingData:
    """Make the labels the training data; those to measure by are held out, if they are enough. Raises UserError for too few."""
    current = labelling.labelling(session)
    name = f"labels of {current.corpus.name}"
    measured = as_table(name, current.answers, (MEASURE,))
    held_out = len(measured.rows) >= LEAST_ROWS and measured.frame.iloc[:, 2].nunique() > 1
    notes = [*current.remarks, *([] if held_out else [ALL_SPLIT])]
    learnt = replace(as_table(name, current.answers, (LEARN,) if held_out else (LEARN, MEASURE)), notes=tuple(notes))
    if (count := len(learnt.rows)) < LEAST_ROWS:
        raise UserError(f"There are {count} labels to learn from, at least {LEAST_ROWS} are needed. Label some more pairs.")
    data = preparing.load(bench, session, learnt)
    return preparing.set_part(bench, session, preparing.TEST, measured) if held_out else data


def adapt(bench: Workbench, session: Session) -> Adapted:
    """Fit an adapter on the labels, once for the same ones, and save the model that it makes. Raises UserError for too few."""
    if bench.settings.hosted:
        raise UserError("A hosted app saves no models. Use these labels for a training, and download its model.")
    indexed, current, adapted = session.whole_corpus(), labelling.labelling(session), session.get(Adapted)
    if adapted is None or adapted.answers != current.answers or adapted.model not in ("", *bench.registry.encoders()):
        session.put(adapted := _adapted(bench, indexed, current))
    return adapted


def _adapted(bench: Workbench, indexed: IndexedCorpus, current: Labelling) -> Adapted:
    from sbert_app.training.adapter import fit_adapter

    learnt, vectors = _judged(current, indexed.embeddings, LEARN)
    if len(learnt) < LEAST or len({*learnt.gold}) < 2:
        kinds = f"There are {len(learnt)}" if len(learnt) < LEAST else f"All {len(learnt)} are {'yes' if learnt.gold[0] else 'no'}"
        raise UserError(f"A model needs at least {LEAST} labels to learn from, of both kinds. {kinds}: label some more.")
    adapter = fit_adapter(*vectors, learnt.gold == 1, sentence_groups(learnt))
    if adapter.weight is None:
        return Adapted(current.answers, "", adapter.tried, None)
    measured, before = _judged(current, indexed.embeddings, MEASURE)
    after = [each @ adapter.weight.T for each in before]
    both = len({*measured.gold}) == 2
    verdict = judge("labelled", predict("labelled", before), predict("labelled", after), measured.gold) if both else None
    if verdict and verdict.changes[0].difference.value <= 0:
        return Adapted(current.answers, "", adapter.tried, verdict)
    name = free_name(bench, f"{indexed.model}-adapted")
    with writing("The model"), atomic_folder(bench.settings.models / name) as folder:
        adapted = bench.registry.trainable(indexed.model).with_layer(adapter.weight)  # its last layer
        adapted.save(folder, name, {"made by": f"a linear adapter fitted on {len(learnt)} labelled pairs"})
    return Adapted(current.answers, name, adapter.tried, verdict)


def _judged(current: Labelling, embeddings: Vectors, why: str) -> tuple[Examples, list[Vectors]]:
    """The candidates that were asked about for this reason, with their labels; and the embeddings of both texts, (n, dim) each."""
    answers = [given for given in one_each(current.answers) if given.place >= 0 and given.why == why]
    places = [given.place for given in answers]
    texts = [given.sentence1 for given in answers], [given.sentence2 for given in answers]
    same = np.array([float(bool(given.same)) for given in answers])
    examples = Examples("labelled", texts, same, np.arange(len(answers)), (NO, YES), positive=1)
    return examples, [embeddings[rows[places]] for rows in (current.pairs.rows1, current.pairs.rows2)]
