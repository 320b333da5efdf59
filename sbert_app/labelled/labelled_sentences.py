"""Labelled sentences or pairs, a class each, to learn a linear classifier from; with a test part and a dev part, or without."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.reader import read_corpus
from sbert_app.corpus.text_column import guess_column, named
from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_mapping
from sbert_app.labelled.examples import check_columns, read_examples
from sbert_app.settings import Limits
from sbert_app.tables import Skip, Table, skipped_summary
from sbert_app.vectors import Integers, Mask

LABEL_NAMES = ("label", "labels", "class", "category", "topic", "intent", "sentiment", "target")
MOST_CLASSES = 200
LEAST_ROWS = 12  # of each class, so that each part of the nested folds has one


@dataclass(frozen=True)
class LabelledSentences:
    """n sentences or pairs with a class each."""

    sentences: list[str]
    targets: Integers  # (n,) numbers in `classes`
    classes: list[str]
    test: Mask | None  # the rows of this part, None if there is none
    dev: Mask | None
    partners: list[str] = field(default_factory=list)  # of pairs, the second sentences
    positive: int = -1  # of pairs, the class that means "the same"
    notes: tuple[str, ...] = ()  # how the tables were read, and what was left out

    @property
    def columns(self) -> list[list[str]]:
        """The sentences, of pairs in two columns."""
        return [self.sentences, self.partners] if self.partners else [self.sentences]

    @property
    def tested(self) -> Integers:
        """The rows that are tested: those of the test part, without one all."""
        return np.arange(len(self.targets)) if self.test is None else np.flatnonzero(self.test)

    @property
    def most_frequent(self) -> float:
        """The accuracy of always predicting the most frequent class of the training rows, on the rows that are tested."""
        train = self.targets if self.test is None else self.targets[~self.test]
        return float((self.targets[self.tested] == np.bincount(train).argmax()).mean())


def read_labelled_sentences(
    table: Table, limits: Limits, text: str = "", label: str = "", test: Table | None = None, dev: Table | None = None
) -> LabelledSentences:
    """Read the tables, with guessed columns if these are "". Raises UserError for data that cannot be learnt from."""
    check_columns(table, [text] if text else [])
    text = text or guess_column(table.frame)
    others = [column for column in table.frame.columns if column != text]
    label = label or named(table.frame[others], LABEL_NAMES) or (others[0] if len(others) == 1 else "")
    if not label:
        raise UserError(
            f"Which column holds the labels? Name one of: {', '.join(others) or 'none, the file has one column'}; or call it "
            "label. Of pairs, call the columns sentence1, sentence2 and score or label."
        )
    sentences, labels, notes = [], [], [f"Read as sentences with classes, columns {text}, {label}."]
    for part in (table, test, dev):
        if part is not None:
            check_columns(part, [text, label])
            corpus = read_corpus(part, [text], limits)
            read = corpus.metadata[label].str.strip().to_numpy(dtype=object)
            usable = read.astype(bool)
            sentences.append([list(compress(corpus.sentences, usable))])
            labels.append(read[usable])
            skipped = (*corpus.skipped, *(Skip(int(row), "blank label") for row in corpus.rows[~usable]))
            notes += _of_part(part, table, [*corpus.notes, *skipped_summary(skipped)])
    return joined(sentences, labels, test is not None, dev is not None, notes)


def _of_part(part: Table, table: Table, notes: Sequence[str]) -> list[str]:
    """What was noticed while reading a part; of one that is not the table itself with its name."""
    return [note if part is table else f"{part.name}: {note}" for note in notes]


def joined(
    columns: Sequence[list[list[str]]], labels: Sequence[NDArray[np.object_]], test: bool, dev: bool, notes: Sequence[str]
) -> LabelledSentences:
    """Join the part to learn from with those of test and dev, of one or two columns. Raises UserError for unlearnable data."""
    classes, targets = np.unique(np.concatenate(labels).astype(str), return_inverse=True)
    number = np.repeat(np.arange(len(labels)), [len(values) for values in labels])
    whole = [[text for column in parts for text in column] for parts in zip(*columns, strict=True)]
    masks = [number == 1 if test else None, number == len(labels) - 1 if dev else None]
    partners = whole[1] if len(whole) > 1 else []
    counts = np.bincount(targets[number == 0], minlength=len(classes))  # to learn from
    if dev and not test:
        raise UserError(
            "A dev part chooses a setting for a test part, and there is none. Give it as the test part, or leave it out."
        )
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise UserError(f"The labels have {len(classes):,} different values; 2 to {MOST_CLASSES} can be learnt.")
    rare = int(counts.argmin())
    if counts[rare] < LEAST_ROWS and not dev:
        raise UserError(
            f"The class '{classes[rare]}' has {counts[rare]:,} rows to learn from. Folds need at least "
            f"{LEAST_ROWS} of each class: add rows, or remove those of this class."
        )
    if test:
        learnt, tested = (set(zip(*part, strict=True)) for part in columns[:2])
        shared = f"{len(learnt & tested):,} of the {len(tested):,} different rows of the test part are also learnt from"
        notes = [*notes, f"{shared}: its figure is too high."] if learnt & tested else notes
    return LabelledSentences(whole[0], targets.astype(np.int64), classes.tolist(), masks[0], masks[1], partners, notes=tuple(notes))


def read_labelled_pairs(
    table: Table, limits: Limits, label: str = "", test: Table | None = None, dev: Table | None = None
) -> LabelledSentences:
    """Read the tables, with the columns of the first; label: "" to guess it. Raises UserError for what cannot be learnt from."""
    mapping = guess_mapping(table.frame)
    if label:
        mapping = replace(mapping, kind="labelled", target=label)
    if mapping.kind != "labelled":
        raise UserError(f"'{table.name}' has no column of labels to learn from: it was read as {mapping.kind}. Name the column.")
    tables = [part for part in (table, test, dev) if part is not None]
    readings = [read_examples(part, mapping, limits, repeats=True, least=2) for part in tables]
    parts = [reading.examples for reading in readings]
    for number, part in enumerate(parts):
        if unknown := sorted(set(part.labels) - set(parts[0].labels)):
            raise UserError(f"'{tables[number].name}' has the label '{unknown[0]}', which '{table.name}' lacks.")
    labels = [np.array(part.labels, object)[part.targets.astype(np.int64)] for part in parts]
    notes = [note for part, reading in zip(tables, readings, strict=True) for note in _of_part(part, table, reading.remarks)]
    data = joined([list(part.sentences) for part in parts], labels, test is not None, dev is not None, notes)
    return replace(data, positive=data.classes.index(parts[0].labels[parts[0].positive]))
