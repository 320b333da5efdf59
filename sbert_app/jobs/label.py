"""The job label: the pairs of a corpus to label next, what the labels so far say, and a model made from them."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sbert_app.corpus.reader import Corpus
from sbert_app.jobs.adapting import adapt
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import flag, json_object, option, output, upload, whole
from sbert_app.jobs.labelling import Labelling, add, as_csv, begin, record
from sbert_app.labelling.answers import FIELDS, LABELS, one_each
from sbert_app.labelling.choosing import BATCH, questions
from sbert_app.labelling.estimates import Estimate
from sbert_app.step import Step
from sbert_app.storage import writing_to
from sbert_app.tables import Table
from sbert_app.tables.table import csv_file

CSV = output(".csv", reason="labels are a table")


@dataclass(frozen=True)
class LabelOptions:
    answers: dict[str, Any] | None = option(
        f"Answers to pairs asked before: their ids with one label each: {', '.join(LABELS)}.", json_object("answers"), None
    )
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
    current = begin(call.bench, call.session)
    if options.answers:
        current = record(call.session, options.answers)
    if options.labels is not None:
        current = add(call.session, options.labels)
    summary = _summary(current, call.session.corpus().corpus, options.count)
    lines = _lines(summary, current.estimate())
    if options.adapt:
        yield Step("Fitting an adapter")
        made = adapt(call.bench, call.session)
        summary["adapted"] = {"model": made.model, "tried": dict(made.tried), "verdict": made.verdict and asdict(made.verdict)}
        lines.append(made.in_words)
    if options.save:
        lines.append(_write(options.save, "save", as_csv(call.session)))
    if options.out:
        lines.append(_write(options.out, "out", csv_file([dict.fromkeys(FIELDS, "") | pair for pair in summary["pairs"]])))
    yield Outcome(summary, lines)


def _summary(current: Labelling, corpus: Corpus, count: int) -> dict[str, Any]:
    pairs, judged, estimate = current.pairs, [given.same for given in one_each(current.answers)], current.estimate()
    asked = []
    for question in questions(pairs, current.answers, count):
        one, two = int(pairs.rows1[question.place]), int(pairs.rows2[question.place])
        rows = {"row1": int(corpus.rows[one]), "row2": int(corpus.rows[two])}
        texts = {"sentence1": corpus.sentences[one], "sentence2": corpus.sentences[two]}
        asked.append({"id": question.place, **texts, **rows, "why": question.why, "probability": question.probability})
    same = sum(map(bool, judged))
    counts = {"labels": len(current.answers), "same": same, "different": len(judged) - same}
    threshold = estimate and {**asdict(estimate.best), "missing": estimate.missing}
    return {"pairs": asked, **counts, "remarks": [*current.remarks], "threshold": threshold}


def _lines(summary: dict[str, Any], estimate: Estimate | None) -> list[str]:
    lines = ["{labels:,} labels: {same:,} the same, {different:,} different.".format(**summary), *summary["remarks"]]
    if estimate:
        lines.append(f"Best threshold: {estimate.best.in_words}. {estimate.outlook}")
    return [*lines, *(f"{pair['id']}  {pair['sentence1']}\n       {pair['sentence2']}" for pair in summary["pairs"])]


def _write(path: Path, name: str, content: str) -> str:
    with writing_to(path, name):
        path.write_text(content, encoding="utf-8", newline="")
    return f"-> {path}"


LABEL = Job("label", Needs.CORPUS, LabelOptions, label, "label")
