"""The published data sets the benchmarks read: `SBERT_DATA`, else ../shared/data beside the repository."""

import csv
import gzip
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.grid.ranking import Retrieval
from sbert_app.grid.reading import read_folder
from sbert_app.labelled.examples import Examples
from sbert_app.labelled.queries import Queries
from sbert_app.models.encoder import Encoder
from sbert_app.settings import Limits

DATA = Path(os.environ.get("SBERT_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
STS = ("sts/sts12_test", "sts/sts13_test", "sts/sts14_test", "sts/sts15_test", "stsb/test", "sick/test")
COLUMNS = ("sentence1", "sentence2", "text", "question", "answer", *(f"caption{i}" for i in range(1, 6)))


def rows(name: str) -> list[dict[str, str]]:
    """The rows of one set, by its path without ending. These files do not quote."""
    with gzip.open(DATA / f"{name}.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def columns(table: Iterable[dict[str, str]]) -> tuple[list[str], list[str]]:
    """Both sentences of each pair."""
    first, second = ([row[name] for row in table] for name in ("sentence1", "sentence2"))
    return first, second


def examples(kind: str, table: Sequence[dict[str, str]], targets: ArrayLike, *labels: Any) -> Examples:
    """All pairs of a table."""
    return Examples(kind, columns(table), np.array(targets, np.float64), np.arange(1, len(table) + 1), *labels)


def scored(name: str, low: int = 0) -> Examples:
    """Pairs with scores of low..5 as 0..1."""
    table = rows(name)
    return examples("scored", table, [(float(row["score"]) - low) / (5 - low) for row in table])


def scifact() -> Queries:
    """The test claims, and the abstracts, each with its title, that support or refute them."""
    return next(data.queries for data in read_folder(DATA / "retrieval_scifact", Limits()) if isinstance(data, Retrieval))


def indexed(encoder: Encoder, sentences: list[str], **columns: list[str]) -> IndexedCorpus:
    """A corpus of these sentences with columns of metadata."""
    metadata = pd.DataFrame(columns, index=range(len(sentences)), dtype=object)
    corpus = Corpus("bench", ("text",), sentences, metadata, np.arange(1, len(sentences) + 1))
    return IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, encoder.encode(sentences))


def many_sentences(count: int) -> list[str]:
    """`count` distinct real sentences from all sets, in a seeded random order."""
    distinct = list(dict.fromkeys(filter(None, _every_sentence())))
    random.Random(0).shuffle(distinct)
    if len(distinct) < count:
        raise SystemExit(f"only {len(distinct):,} distinct sentences in {DATA}, wanted {count:,}")
    return distinct[:count]


def _every_sentence() -> Iterator[str]:
    csv.field_size_limit(10**7)
    for path in sorted(DATA.glob("*/*.tsv.gz")):
        name = f"{path.parent.name}/{path.name.removesuffix('.tsv.gz')}"
        if path.parent.name == "licenses" or "qrels" in name:
            continue
        for row in rows(name):
            for column in COLUMNS:
                text = row.get(column) or ""
                yield from map(str.strip, re.split(r"(?<=[.!?]) +", text) if "scifact" in name else [text])
