"""Data sets: read from files, told apart by their columns; from folders; the app's own; and sentences asked as other tasks."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd

from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.grid.classes import Classes, Clusters
from sbert_app.grid.data_set import CLASSES, CLUSTERS, TASKS, DataSet, PairSet
from sbert_app.grid.ranking import Retrieval
from sbert_app.labelled.columns import guess_mapping, has_pairs
from sbert_app.labelled.examples import Examples, read_examples
from sbert_app.labelled.labelled_sentences import LabelledSentences, read_labelled_pairs, read_labelled_sentences
from sbert_app.labelled.queries import read_answers, read_judgements, read_queries
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import Table, read_table

FILES = ("*.csv", "*.tsv", "*.jsonl", "*.parquet", "*.csv.gz", "*.tsv.gz", "*.jsonl.gz")
SUBSETS = ("subset", "genre", "topic")  # names of a column of subsets
MOST_SUBSETS = 30
MOST_FILES = 100  # of a folder
MOST_PARTNERS = 10_000  # pairs that belong together: each first sentence is compared with every second one
PART = re.compile(r"(?P<stem>.+)_(?P<part>train|dev|test)", re.IGNORECASE)
TRIPLETS = "triplets"
MOST_TRIPLETS = 2_000
SEED = 42
PURPOSE = (
    "asks for another notion of likeness, in which opposites are far apart however alike their words are: it is made for "
    "Fine-tune, and a model that was not trained for it is expected to fail."
)
OWN = {  # the data sets that come with the app: their file, of classes the column, and their purpose
    "Everyday pairs": ("evaluation/everyday_pairs.csv", "", ""),
    "Tickets by team": ("examples/support_tickets.csv", "team", ""),
    "Notes by topic": ("examples/field_notes.csv", "topic", ""),
    "Hard requests": ("labelled/requests_scored.csv", "", PURPOSE),
    "Hard messages": ("labelled/messages_triplets.csv", "", PURPOSE),
    "Hard instructions": ("labelled/instructions_labelled.csv", "", PURPOSE),
}


def read_data_set(
    table: Table, limits: Limits, name: str = "", test: Table | None = None, dev: Table | None = None, corpus: Corpus | None = None
) -> DataSet:
    """Read a table; without a name the set has the table's. test, dev: held-out parts of labelled sentences.

    corpus: what the rows of judged queries are of. Raises UserError for data that cannot be evaluated.
    """
    name = name or table.name
    if (judged := read_judgements(table, corpus)) is not None:
        return Retrieval(name, judged[0], notes=judged[1])
    if (answers := read_answers(table)) is not None:
        return Retrieval(name, answers)
    if not has_pairs(table.frame):
        return _classes(name, read_labelled_sentences(table, limits, test=test, dev=dev))
    data = read_pairs(table, limits, name)
    if data.task == "positives" and data.size > MOST_PARTNERS:
        raise UserError(
            f"'{table.name}' has {data.size:,} pairs that belong together, at most {MOST_PARTNERS:,} can be evaluated. "
            "Use fewer rows, or add a column with scores or labels."
        )
    return data


def _classes(name: str, data: LabelledSentences) -> Classes:
    return Classes(name, data, notes=data.notes)


def read_pairs(table: Table, limits: Limits, name: str = "") -> PairSet:
    """Read a table of scored or labelled pairs, triplets, or pairs that belong together, as `read_data_set`."""
    reading = read_examples(table, guess_mapping(table.frame), limits, repeats=True, least=2)
    column = next((column for column in table.frame.columns if column.strip().lower() in SUBSETS), "")
    rows = np.searchsorted(table.rows, reading.examples.rows)
    values = table.frame[column].to_numpy()[rows].tolist() if column else []
    subsets = tuple(values) if 2 <= len(set(values)) <= MOST_SUBSETS else ()  # many values, or one, are no subsets
    return PairSet(name or table.name, reading.examples, notes=reading.remarks, subsets=subsets)


def read_folder(folder: Path, limits: Limits) -> Iterator[DataSet | UserError]:
    """Yield the data sets of a folder and of the folders in it, or for one that cannot be read, why.

    Labelled sentences in files named X_train, X_dev and X_test are one data set. Of pairs each file is one; labelled pairs in files
    with such names are besides a further one, X, to learn a classifier from. Files named alike in two folders are named with their
    folders; in one folder only the first is read.
    """
    files = sorted({path for pattern in FILES for path in folder.rglob(pattern)})
    if not files:
        raise UserError(f"'{folder.name}' holds no data sets. Give a folder with csv, tsv, jsonl or parquet files.")
    if len(files) > MOST_FILES:
        raise UserError(f"'{folder.name}' holds {len(files):,} files, at most {MOST_FILES} are read. Give one of its folders.")
    tables: dict[Path, Table] = {}
    firsts: dict[Path, str] = {}
    for path in files:
        try:
            if (first := firsts.setdefault(path.with_name(plain_name(path).lower()), path.name)) != path.name:
                raise UserError(f"'{path.name}' is not read: '{first}' beside it has the same name. Rename one of them.")
            tables[path] = read_table(path, limits)
        except UserError as error:
            yield error
    yield from _retrieval(tables)
    counts = Counter(map(plain_name, tables))
    names = {path: plain_name(path) for path in tables}
    names |= {path: (path.relative_to(folder).parent / name).as_posix() for path, name in names.items() if counts[name] > 1}
    sentences = _parts(tables, lambda frame: not has_pairs(frame))
    grouped = {path for parts in sentences for path in parts.values()}
    for parts in sorted([*sentences, *({"train": path} for path in tables if path not in grouped)], key=itemgetter("train")):
        path, test, dev = parts["train"], tables.get(parts.get("test", folder)), tables.get(parts.get("dev", folder))
        try:
            yield read_data_set(tables[path], limits, names[path], test, dev)
        except UserError as error:
            yield UserError(f"{path.name}: {error}")
    for parts in _parts(tables, _labelled):
        if "test" in parts:
            name, dev = names[parts["train"]].rpartition("_")[0], tables.get(parts.get("dev", folder))
            name += " as classes" * (name in names.values())
            try:
                yield _classes(name, read_labelled_pairs(tables[parts["train"]], limits, test=tables[parts["test"]], dev=dev))
            except UserError as error:
                yield UserError(f"{name}: {error}")


def _parts(tables: dict[Path, Table], wanted: Callable[[pd.DataFrame], bool]) -> list[dict[str, Path]]:
    """Of files named X_train, X_test and X_dev, by the last word; only those with a file to learn from and wanted content."""
    sets: dict[Path, dict[str, Path]] = {}
    for path, table in tables.items():
        match = PART.fullmatch(plain_name(path))
        if match and wanted(table.frame):
            sets.setdefault(path.with_name(match["stem"].lower()), {})[match["part"].lower()] = path
    return [parts for parts in sets.values() if "train" in parts]


def _labelled(frame: pd.DataFrame) -> bool:
    """Whether these are pairs with labels."""
    with suppress(UserError):  # no columns of sentences
        return has_pairs(frame) and guess_mapping(frame).kind == "labelled"
    return False


def _retrieval(tables: dict[Path, Table]) -> Iterator[DataSet | UserError]:
    """The data sets of corpus, queries and judgements (qrels) in one folder; of several parts the test part. Takes them out."""
    for folder in sorted({path.parent for path in tables}):
        here = {plain_name(path).lower(): path for path in tables if path.parent == folder}
        here |= {f"qrels_{plain_name(path)}".lower(): path for path in tables if path.parent == folder / "qrels"}  # as BEIR has it
        files = [here.get(f"{name}_test", here.get(name)) for name in ("corpus", "queries", "qrels")]
        if None in files:
            continue
        corpus, queries, judgements = (tables[path] for path in files if path)
        for name, path in here.items():
            if re.fullmatch("(corpus|queries|qrels)(_train|_dev|_test)?", name):
                del tables[path]
        try:
            yield Retrieval(folder.name, read_queries(corpus, queries, judgements))
        except UserError as error:
            yield UserError(f"{folder.name}: {error}")


def plain_name(path: Path | str) -> str:
    """A file's name without its endings: sts12_test of sts/sts12_test.tsv.gz."""
    return Path(path).name.split(".")[0]


def check_tasks(tasks: Sequence[str]) -> None:
    """Raise UserError for an unknown task."""
    if unknown := [task for task in tasks if task not in TASKS]:
        raise UserError(f"Unknown task {unknown[0]!r}. Must be one of {', '.join(TASKS)}.")


def by_tasks(data: DataSet, tasks: Sequence[str], quick: bool = False) -> list[DataSet]:
    """The data set if its task is among these, or if there are none; labelled sentences also as clusters and triplets if named."""
    sets = [data] if not tasks or data.task in tasks else []
    if not isinstance(data, Classes):
        return sets
    sets = [replace(data, quick=quick) for _ in sets]
    counts = np.bincount(data.data.targets[data.data.tested])
    if data.task == CLASSES and (counts > 0).sum() > 1 and counts.max() > 1:
        sets += [Clusters(f"{data.name} as clusters", data.data, notes=data.notes)] if CLUSTERS in tasks else []
        sets += [as_triplets(data)] if TRIPLETS in tasks else []
    return sets


def as_triplets(data: Classes) -> PairSet:
    """Triplets from the tested sentences: two of one class, drawn at random, and one of another. The same for equal data."""
    generator, content, rows = np.random.default_rng(SEED), data.data, data.data.tested
    classes = content.targets[rows]
    anchors = generator.permutation(np.flatnonzero(np.bincount(classes)[classes] > 1))[:MOST_TRIPLETS]
    positives = [generator.choice(np.setdiff1d(np.flatnonzero(classes == classes[anchor]), anchor)) for anchor in anchors]
    negatives = [generator.choice(np.flatnonzero(classes != classes[anchor])) for anchor in anchors]
    columns = tuple([content.sentences[rows[row]] for row in column] for column in (anchors, positives, negatives))
    examples = Examples("triplets", columns, np.zeros(len(anchors)), rows[anchors] + 1)
    return PairSet(f"{data.name} as triplets", examples, notes=data.notes)


@cache
def own_data_sets(limits: Limits) -> tuple[DataSet, ...]:
    """Pairs scored by meaning, sentences with classes, and three sets that a model misreads before it is fine-tuned."""
    sets = list[DataSet]()
    for name, (file, label, purpose) in OWN.items():
        table = read_table(ASSETS / file, limits)
        if label:
            sets.append(_classes(name, read_labelled_sentences(table, limits, "text", label)))
        else:
            sets.append(replace(read_data_set(table, limits, name), purpose=purpose))
    return tuple(sets)
