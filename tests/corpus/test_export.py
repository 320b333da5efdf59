"""The embeddings of a corpus as files."""

import numpy as np
import pandas as pd

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus


def test_both_files_hold_the_unit_embeddings_in_file_order(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    metadata = pd.DataFrame({"row": ["x", "y", "z"], "embedding": ["a", "b", ""]})
    indexed = IndexedCorpus.build(Corpus("c", ("text",), ["one", "two", "three"], metadata, np.array([1, 3, 4])), "m", "f", vectors)
    for suffix in (".npy", ".parquet"):
        indexed.write_embeddings(tmp_path / f"e{suffix}")
    assert (np.load(tmp_path / "e.npy") == indexed.embeddings).all()
    frame = pd.read_parquet(tmp_path / "e.parquet")
    assert list(frame.columns) == ["row", "row_", "embedding_", "text", "embedding"]
    assert frame["row"].tolist() == [1, 3, 4] and frame["text"].tolist() == ["one", "two", "three"]
    assert (np.stack(frame["embedding"]) == indexed.embeddings).all()
