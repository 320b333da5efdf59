"""The job transfer: how well a linear classifier learns from a model's embeddings, by SentEval's protocol."""

import time
from dataclasses import dataclass

from sbert_app.grid.classes import Classes, measures_of
from sbert_app.grid.loading import of_encoder
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import flag, option, text, upload
from sbert_app.labelled.columns import has_pairs
from sbert_app.labelled.labelled_sentences import LabelledSentences, read_labelled_pairs, read_labelled_sentences
from sbert_app.runtime.line import place_in_line
from sbert_app.step import Step
from sbert_app.tables import Table


@dataclass(frozen=True)
class TransferOptions:
    model: str = model_option()
    text_column: str = option("The column of the sentences. Empty: guessed.", text("text column"), "")
    label_column: str = option("The column of the classes. Empty: guessed.", text("label column"), "")
    test: Table | None = option("Held-out file. Without one, ten folds of the data are held out in turn.", upload(), None)
    dev: Table | None = option("For a test file: the file that chooses the weight decay. Without one, folds do.", upload(), None)
    quick: bool = option(
        "By scikit-learn's logistic regression in five folds instead, for a first look: C of 0.25 to 8, by folds of the data "
        "0.5 to 32. Compare such figures with each other only.", flag("quick"), False
    )  # fmt: skip


def transfer(call: Call, options: TransferOptions) -> Steps:
    """Train a linear classifier on the embeddings of labelled sentences, by the protocol of SentEval (the paper's Table 5).

    The weight decay, 0.00001 to 0.01, is chosen on rows that are not tested; Adam, batches of 64, at most 200 epochs. Of labelled
    pairs, such as MRPC, the features are |u − v| and u ∗ v.

    Returns:
        accuracy and most_frequent (the accuracy of always predicting the most frequent class), both 0..1; f1 (of pairs with two
        classes); folds (the accuracy of each), l2 (the weight decay chosen; of the quick form c), quick, protocol, sentences,
        classes, seconds, notes (how the files were read, and what was left out).
    """
    bench, stop, data = call.bench, call.stop, _read(call, options)
    task = Classes("", data, options.quick)
    yield from map(Step, data.notes)
    system = of_encoder(bench, bench.registry.encoder(options.model), tick=stop.tick)
    with bench.lines.corpora.join(stop) as waiting:
        yield from (Step(place_in_line(before, "job")) for before in waiting)
        yield Step(f"Embedding {sum(map(len, task.columns)):,} sentences")
        start = time.perf_counter()
        features = task.features(system)
        embedded = time.perf_counter()
        yield Step("Training the classifiers, the quick form" if options.quick else "Training the classifiers")
        learnt = task.learnt(system, features, stop.tick)
        seconds = {"embedding": embedded - start, "classifiers": time.perf_counter() - embedded}
    f1 = measures_of(data, learnt).get("f1")
    summary = {
        "model": options.model,
        "accuracy": learnt.accuracy,
        "f1": f1,
        "most_frequent": data.most_frequent,
        "folds": learnt.folds,
        "l2": [] if options.quick else learnt.chosen,
        "c": learnt.chosen if options.quick else [],
        "quick": options.quick,
        "protocol": learnt.protocol,
        "seconds": seconds,
        "sentences": len(data.sentences),
        "classes": data.classes,
        "notes": data.notes,
    }
    line = (
        f"accuracy {100 * learnt.accuracy:.2f}{'' if f1 is None else f', F1 {100 * f1:.2f}'}, most frequent class "
        f"{100 * data.most_frequent:.2f} ({len(data.sentences):,} {'pairs' if data.partners else 'sentences'}, "
        f"{len(data.classes):,} classes; {learnt.protocol}; {sum(seconds.values()):.1f} s)"
    )
    yield Outcome(summary, [line])


def _read(call: Call, options: TransferOptions) -> LabelledSentences:
    """The tables, with guessed columns where none is named; as pairs if they hold pairs and no text column is named."""
    table, limits = call.required_table(), call.bench.settings.limits
    if not options.text_column and has_pairs(table.frame):
        return read_labelled_pairs(table, limits, options.label_column, options.test, options.dev)
    return read_labelled_sentences(table, limits, options.text_column, options.label_column, options.test, options.dev)


TRANSFER = Job("transfer", Needs.CLASSES, TransferOptions, transfer, "transfer")
