"""Files of sentences for bulk runs, runs by the tiny model, and what a collection holds afterwards."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sbert_app.bulk.indexing import run
from sbert_app.bulk.request import Request, Summary
from sbert_app.collections import open_collection
from sbert_app.collections.collection import METADATA, ROW, SENTENCE, embeddings_of
from sbert_app.settings import Settings
from sbert_app.vectors import Vectors, unit_rows

Place = tuple[str, int]  # name of the file, number of the row


@pytest.fixture
def data(tmp_path, sentences):
    """A folder of three files with 300, 200 and 100 real sentences, and metadata."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, start, count in (("a", 0, 300), ("b", 300, 200), ("c", 500, 100)):
        write_rows(folder / f"{name}.jsonl", sentences[start : start + count])
    return folder


def write_rows(path: Path, sentences: list[str]) -> None:
    lines = (json.dumps({"text": text, "n": str(i)}) for i, text in enumerate(sentences))
    path.write_text("\n".join(lines) + "\n")


def write_frame(path: Path, frame: pd.DataFrame) -> Path:
    """A file of these rows, in the format that its name tells."""
    kind = path.name.split(".")[1]
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, sep="\t" if kind in ("tsv", "txt") else ",", index=False)
    return path


@pytest.fixture
def index(tmp_path, tiny):
    """Run to the end; the summary. Files are indexed in shards of 64 rows, by the tiny model."""
    settings = Settings(home=tmp_path / "home", device="cpu", precision="fp32")

    def index(*files: object, **options: object) -> Summary:
        defaults = {"store": "" if "out" in options else str(tmp_path / "store"), "model": str(tiny), "shard_rows": 64}
        request = Request(files=tuple(map(str, files)), **(defaults | options))
        *_, last = run(request, settings)
        assert last.result is not None
        return last.result

    return index


def contents(store: object) -> tuple[dict[Place, tuple[str, str]], Vectors]:
    """All rows of a collection by place, (sentence, metadata column n), and their embeddings in this order."""
    collection = open_collection(str(store))
    rows: dict[Place, tuple[str, str]] = {}
    vectors = [np.empty((0, collection.facts.dim), dtype=np.float32)]
    for table in collection.scan():
        places = [collection.facts.place(row) for row in table.column(ROW).to_pylist()]
        cells = zip(table.column(SENTENCE).to_pylist(), table.column(f"{METADATA}n").to_pylist(), strict=True)
        rows |= dict(zip([(Path(file).name, row) for file, row in places], cells, strict=True))
        vectors.append(embeddings_of(table))
    collection.close()
    return rows, np.vstack(vectors)


def least_cosine(first: Vectors, second: Vectors) -> float:
    """Between rows at the same place, (n, dim) each; float16 leaves no exact units."""
    return float((unit_rows(first) * unit_rows(second)).sum(1).min())
