"""The job transfer: how well a linear classifier learns from a model's embeddings."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Step, model_option
from sbert_app.jobs.declaring.option import flag, option, text, upload
from sbert_app.services.transfer import TransferResult, lines
from sbert_app.tables import Table


@dataclass(frozen=True)
class TransferOptions:
    model: str = model_option()
    text_column: str = option("The column of the sentences. Empty: guessed.", text("text column"), "")
    label_column: str = option("The column of the classes. Empty: guessed.", text("label column"), "")
    test: Table | None = option("Held-out file. Without one, ten folds of the data are held out in turn.", upload(), None)
    dev: Table | None = option("File for choosing the weight decay. Without one, folds of the data choose it.", upload(), None)
    quick: bool = option(
        "By scikit-learn's logistic regression in five folds instead, for a first look: C of 0.25 to 8, by folds of the data "
        "0.5 to 32. Compare such figures with each other only.", flag("quick"), False
    )  # fmt: skip


def transfer(call: Call, options: TransferOptions) -> Iterator[Step | Outcome]:
    """Train a linear classifier on the embeddings of labelled sentences, by the protocol of SentEval (the paper's Table 5).

    The weight decay, 0.00001 to 0.01, is chosen on rows that are not tested; Adam, batches of 64, at most 200 epochs. Of labelled
    pairs, such as MRPC, the features are |u − v| and u ∗ v.

    Returns:
        accuracy and most_frequent (the accuracy of always predicting the most frequent class), both 0..1; f1 (of pairs with two
        classes); folds (the accuracy of each), l2 (the weight decay chosen; of the quick form c), quick, protocol, sentences,
        classes, seconds.
    """
    service = call.services.transfers
    data = service.read(call.required_table(), options.text_column, options.label_column, options.test, options.dev)
    for step in service.measure(data, options.model, options.quick, call.stop):
        if isinstance(step, TransferResult):
            summary = asdict(step) | {"sentences": len(data.sentences), "classes": data.classes}
            yield Outcome(summary, list(lines(step, data)))
        else:
            yield Step(step)


TRANSFER = Job("transfer", Needs.CLASSES, TransferOptions, transfer, "transfer")
