"""Data sets whose right answers are known: labelled pairs, triplets, sentences with classes, queries with documents."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import METRICS
from sbert_app.grid.parts import labelled_pairs, plain_name, together
from sbert_app.grid.ranking import RANKING
from sbert_app.labelled.columns import guess_mapping, has_pairs
from sbert_app.labelled.example_set import normalise
from sbert_app.labelled.examples import Examples, read_examples
from sbert_app.labelled.labelled_pairs import read_labelled_pairs
from sbert_app.labelled.labelled_sentences import LabelledSentences, read_labelled_sentences
from sbert_app.labelled.queries import Queries, read_answers, read_queries
from sbert_app.settings import Limits
from sbert_app.tables import Table, read_table

RETRIEVAL = "retrieval"
CLASSES = "classes"  # the task of labelled sentences; those of pairs are the kinds of examples
PAIR_CLASSES = "pair classes"
CLUSTERS = "clusters"  # the other task of labelled sentences
TASKS = {  # what a system has to do
    "scored": "score pairs in the order that people do",
    "labelled": "score pairs that mean the same higher than others",
    "triplets": "score the right partner higher than the wrong one",
    "positives": "find the right partner among all",
    RETRIEVAL: "rank documents, or the answers to a question, by how well they fit a query",
    CLASSES: "give each sentence a vector from which a linear classifier learns its class",
    PAIR_CLASSES: "the same for pairs, from |u − v| and u ∗ v: of labelled pairs in files named X_train and X_test",
    CLUSTERS: "give each sentence a vector by which k-means puts those of one class together",
}
FILES = ("*.csv", "*.tsv", "*.jsonl", "*.parquet", "*.csv.gz", "*.tsv.gz", "*.jsonl.gz")
SUBSETS = ("subset", "genre", "topic")  # names of a column of subsets
MOST_SUBSETS = 30
MOST_FILES = 100  # of a folder
MOST_PARTNERS = 10_000  # pairs that belong together: each first sentence is compared with every second one


@dataclass(frozen=True)
class DataSet:
    """One column of the grid. notes: what was noticed while reading. quick: classes are learnt by the quick form of transfer."""

    name: str
    content: Examples | LabelledSentences | Queries
    notes: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()  # of pairs: the subset of each, such as "headlines" of STS 2013; empty without such a column
    quick: bool = False
    clustered: bool = False  # labelled sentences are to be clustered, not classified

    @property
    def task(self) -> str:
        """One of TASKS."""
        if isinstance(self.content, Examples):
            return self.content.kind
        if isinstance(self.content, Queries):
            return RETRIEVAL
        if self.content.partners:
            return PAIR_CLASSES
        return CLUSTERS if self.clustered else CLASSES

    @property
    def measure(self) -> str:
        """The main measure."""
        if self.task == RETRIEVAL:
            return RANKING[0]
        return next(iter(METRICS[self.task])) if self.task in METRICS else "accuracy"

    @property
    def size(self) -> int:
        """The examples that are tested."""
        if isinstance(self.content, Examples):
            return len(self.content)
        if isinstance(self.content, Queries):
            return len(self.content.queries)
        return len(self.content.sentences) if self.content.test is None else int(self.content.test.sum())

    @property
    def columns(self) -> Sequence[list[str]]:
        """The sentences: two columns of pairs, three of triplets; queries and documents."""
        if isinstance(self.content, Queries):
            return [self.content.queries, self.content.documents]
        return self.content.sentences if isinstance(self.content, Examples) else self.content.columns

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory: two for each character."""
        return sum(2 * len(sentence) for column in self.columns for sentence in column)

    @cached_property
    def digest(self) -> str:
        """Hash of the sentences, the right answers, subsets and task: equal for equal content, whatever the name. 16 hex digits."""
        digest = hashlib.blake2b(f"{self.task}{' quick' if self.quick else ''}".encode(), digest_size=8)
        for column in self.columns:
            digest.update("\0".join(column).encode())
        for part in _answers(self.content):
            digest.update(b"-" if part is None else part.tobytes())
        digest.update("\0".join(self.subsets).encode())
        return digest.hexdigest()

    @property
    def tested(self) -> NDArray[np.int64]:
        """The positions of the examples that are tested, (size,)."""
        if not isinstance(self.content, LabelledSentences) or self.content.test is None:
            return np.arange(self.size)
        return np.flatnonzero(self.content.test)

    @property
    def groups(self) -> NDArray[np.int64]:
        """Which examples belong together, (size,): those with the same first sentence are no independent observations."""
        if self.task in (RETRIEVAL, CLASSES):
            return np.arange(self.size)
        first = [normalise(self.columns[0][position]) for position in self.tested.tolist()]
        return np.unique(first, return_inverse=True)[1].astype(np.int64)


def read_data_set(table: Table, limits: Limits, name: str = "", test: Table | None = None, dev: Table | None = None) -> DataSet:
    """Read a table; without a name the set has the table's. test, dev: held-out parts of labelled sentences.

    Raises UserError for data that cannot be evaluated.
    """
    if (answers := read_answers(table)) is not None:
        return DataSet(name or table.name, answers)
    if not has_pairs(table.frame):
        return DataSet(name or table.name, read_labelled_sentences(table, limits, test=test, dev=dev))
    reading = read_examples(table, guess_mapping(table.frame), limits, repeats=True, least=2)
    if reading.examples.kind == "positives" and len(reading.examples) > MOST_PARTNERS:
        raise UserError(
            f"'{table.name}' has {len(reading.examples):,} pairs that belong together, at most {MOST_PARTNERS:,} can be evaluated. "
            "Use fewer rows, or add a column with scores or labels."
        )
    return DataSet(name or table.name, reading.examples, reading.notes, subsets_of(table, reading.examples))


def subsets_of(table: Table, examples: Examples) -> tuple[str, ...]:
    """The subset of each example; nothing without a column for it, or where it has many values or one."""
    column = next((name for name in table.frame.columns if name.strip().lower() in SUBSETS), "")
    if not column:
        return ()
    values = table.frame[column].to_numpy()[np.searchsorted(table.rows, examples.rows)].tolist()
    return tuple(values) if 2 <= len(set(values)) <= MOST_SUBSETS else ()


def read_folder(folder: Path, limits: Limits) -> Iterator[DataSet | UserError]:
    """Yield the data sets of a folder and of the folders in it, or for one that cannot be read, why.

    Labelled sentences in files named X_train, X_dev and X_test are one data set. Of pairs each file is one; labelled pairs in files
    with such names are besides a further one, X, to learn a classifier from.
    """
    files = sorted({path for pattern in FILES for path in folder.rglob(pattern)})
    if not files:
        raise UserError(f"'{folder.name}' holds no data sets. Give a folder with csv, tsv, jsonl or parquet files.")
    if len(files) > MOST_FILES:
        raise UserError(f"'{folder.name}' holds {len(files):,} files, at most {MOST_FILES} are read. Give one of its folders.")
    tables: dict[Path, Table] = {}
    for path in files:
        try:
            tables[path] = read_table(path, limits)
        except UserError as error:
            yield error
    yield from _retrieval(tables)
    for table, test, dev in together(tables):
        try:
            yield read_data_set(table, limits, plain_name(table.name), test, dev)
        except UserError as error:
            yield UserError(f"{table.name}: {error}")
    for name, table, test, dev in labelled_pairs(tables):
        try:
            yield DataSet(name, read_labelled_pairs(table, limits, test=test, dev=dev))
        except UserError as error:
            yield UserError(f"{name}: {error}")


def _answers(content: Examples | LabelledSentences | Queries) -> Iterator[NDArray[Any] | None]:
    """What is known of each example, as arrays: to tell data sets apart."""
    if isinstance(content, Queries):
        yield from (np.array(sorted(relevant.items())) for relevant in content.relevant)
        yield from content.candidates or ()
    else:
        yield content.targets
        if isinstance(content, LabelledSentences):
            yield from (content.test, content.dev)


def _retrieval(tables: dict[Path, Table]) -> Iterator[DataSet | UserError]:
    """The data sets of corpus, queries and judgements (qrels) in one folder; of several parts the test part. Takes them out."""
    for folder in sorted({path.parent for path in tables}):
        here = {plain_name(path).lower(): path for path in tables if path.parent == folder}
        files = [here.get(f"{name}_test", here.get(name)) for name in ("corpus", "queries", "qrels")]
        if None in files:
            continue
        corpus, queries, judgements = (tables[path] for path in files if path)
        for name, path in here.items():
            if name.split("_")[0] in ("corpus", "queries", "qrels"):
                del tables[path]
        try:
            yield DataSet(folder.name, read_queries(corpus, queries, judgements))
        except UserError as error:
            yield error
