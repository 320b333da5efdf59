"""Write a corpus's embeddings to a file: as an array, or as a table beside the sentences and their metadata."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from sbert_app.corpus.indexed import IndexedCorpus

ROW, EMBEDDING = "row", "embedding"


def write_array(indexed: IndexedCorpus, path: Path) -> None:
    """Write the unit embeddings, (n, dim) float32, for numpy.load."""
    np.save(path, indexed.embeddings)


def write_table(indexed: IndexedCorpus, path: Path) -> None:
    """Write row number in the file, sentence, metadata and embedding (a list of float32) of each row as parquet."""
    corpus = indexed.corpus
    frame = corpus.filterable()
    frame = frame.rename(columns={name: f"{name}_" for name in frame.columns if name in (ROW, EMBEDDING)})
    table = pa.Table.from_pandas(frame.astype(str), preserve_index=False)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(indexed.embeddings)), indexed.embeddings.shape[1])
    table = table.add_column(0, ROW, pa.array(corpus.rows)).append_column(EMBEDDING, vectors)
    parquet.write_table(table, path)


EXPORTS: dict[str, Callable[[IndexedCorpus, Path], None]] = {".npy": write_array, ".parquet": write_table}
