"""Read a random sample of a collection as an indexed corpus. Nothing is encoded: the store has the embeddings."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np
import pandas as pd
import pyarrow as pa

from sbert_app.collections.collection import FILE_BITS, METADATA, ROW, SENTENCE, Collection, Facts, embeddings_of
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus

MOST_SAMPLED = 10_000  # rows: a map of them takes seconds
FILE = "file"  # the column that names the file of a row, where there are several


def read_sample(name: str, key: str, collection: Collection, rows: int, most: int = MOST_SAMPLED) -> IndexedCorpus:
    """At most `most` random rows with their embeddings, named after the collection. key: what opens the collection again."""
    table = collection.fetch(collection.sample(most).tolist())
    title = name if len(table) >= rows else f"{name}: sample of {len(table):,} of {rows:,} rows"
    corpus = with_files(replace(corpus_of(title, table, collection.facts), store=key), collection.facts)
    return IndexedCorpus.build(corpus, collection.facts.model, collection.facts.fingerprint, embeddings_of(table))


def corpus_of(name: str, table: pa.Table, facts: Facts) -> Corpus:
    """Rows of a collection as a corpus, numbered by their ids, with the columns of the files."""
    ids = table.column(ROW).to_numpy()
    columns = {column: table.column(METADATA + column).to_pylist() for column in facts.columns}
    metadata = pd.DataFrame(columns, index=range(len(ids)), dtype=str)
    return Corpus(
        name=name,
        columns=(facts.sentence,),
        sentences=table.column(SENTENCE).to_pylist(),
        metadata=metadata,
        rows=np.asarray(ids, dtype=np.int64),
        row_names=row_names(ids.tolist(), facts),
    )


def with_files(corpus: Corpus, facts: Facts) -> Corpus:
    """The corpus with a column for the file of each row, where there are several."""
    if len(facts.files) < 2:
        return corpus
    metadata = corpus.metadata.copy()
    names = file_names(facts)
    metadata.insert(0, file_column(facts), [names[row >> FILE_BITS] for row in corpus.rows.tolist()])
    return replace(corpus, metadata=metadata)


def row_names(ids: Sequence[int], facts: Facts) -> dict[int, str]:
    """What rows are called where they come from several files: "17 of b.csv". Empty for one file, whose rows are numbers."""
    if len(facts.files) < 2:
        return {}
    names = file_names(facts)
    return {row: f"{facts.place(row)[1]:,} of {names[row >> FILE_BITS]}" for row in ids}


def file_column(facts: Facts) -> str:
    """The name of the column of files: none that the files have themselves."""
    name = FILE
    while name in (*facts.columns, facts.sentence):
        name += "_"
    return name


def file_names(facts: Facts) -> list[str]:
    """What the files are called: the last part of each path, with as many folders as tell it from the others."""
    parts = [PurePath(file).parts for file in facts.files]
    names = []
    for own in parts:
        others = [other for other in parts if other != own]
        count = next((n for n in range(1, len(own)) if all(other[-n:] != own[-n:] for other in others)), len(own))
        names.append("/".join(own[-count:]))
    return names
