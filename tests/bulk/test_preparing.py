"""What a bulk run will take, before it begins; the plan past these machines is what its script computes."""

from pathlib import Path

import pandas as pd
import pytest

from sbert_app.bulk.preparing import INDEX_BYTES, estimate, expected_rows
from sbert_app.bulk.reading import Tally, chunks
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN, FaissIndex
from tests.benchmarks import plan
from tests.collections.made import DIM, clustered

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.tsv", "a.parquet"])
def test_rows_are_expected_by_size_and_exactly_for_parquet(name, tmp_path, sentences):
    frame = pd.DataFrame({"text": sentences * 10, "n": range(len(sentences) * 10)})
    path = tmp_path / name
    if name.endswith("parquet"):
        frame.to_parquet(path)
    elif "jsonl" in name:
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, sep="\t" if "tsv" in name else ",", index=False)
    rows = expected_rows([path], next(chunks(path, Tally())))
    assert rows == len(frame) if name.endswith("parquet") else len(frame) / 3 < rows < len(frame) * 2


def test_bytes_by_kind_of_index():
    exact, ivf, hnsw = (estimate(1_000_000, 384, 60.0, kind) for kind in ("exact", "ivf", "hnsw"))
    assert exact.disk == 1_000_000 * (768 + 60) and exact.memory == 1_000_000 * (768 + 16)
    assert ivf.index == 1_000_000 * 392 and ivf.disk == exact.disk + ivf.index and hnsw.index == 1_000_000 * (392 + 128)


def test_the_document_holds_the_tables_that_the_script_prints():
    text = SCALE.read_text(encoding="utf-8")
    for table in plan.tables():
        assert table in text, table


@pytest.mark.parametrize("kind", [EXACT, IVF, HNSW, SCANN])
def test_an_index_takes_about_the_bytes_that_are_estimated(kind, tmp_path):
    vectors = clustered(20_000)
    index = FaissIndex.build(kind, DIM, len(vectors), vectors[:6_000], [vectors])
    index.save(tmp_path / "index")
    centres = 4 * DIM * 141 if kind in (IVF, SCANN) else 0
    assert ((tmp_path / "index").stat().st_size - centres) / len(vectors) == pytest.approx(INDEX_BYTES[kind](DIM), rel=0.25)
