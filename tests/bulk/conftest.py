"""Files of sentences for bulk runs, and runs by the tiny model."""

import json
from pathlib import Path

import pandas as pd
import pytest

from sbert_app.bulk.indexing import run
from sbert_app.bulk.request import Request, Summary
from sbert_app.settings import Settings


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
        frame.to_csv(path, sep="\t" if kind == "tsv" else ",", index=False)
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
