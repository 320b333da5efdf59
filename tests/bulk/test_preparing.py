"""What a bulk run will take, before it begins; the plan past these machines is what its script computes."""

from pathlib import Path

import pandas as pd
import pytest

from sbert_app.bulk.preparing import INDEX_BYTES, BulkPlan, expected_rows
from sbert_app.bulk.reading import Tally, chunks
from sbert_app.bulk.request import Request
from sbert_app.collections.collection import Facts
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN, FaissIndex
from tests.benchmarks import plan
from tests.bulk.conftest import write_frame
from tests.collections.made import DIM, clustered

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.tsv", "a.parquet"])
def test_rows_are_expected_by_size_and_exactly_for_parquet(name, tmp_path, sentences):
    frame = pd.DataFrame({"text": sentences * 10, "n": range(len(sentences) * 10)})
    path = write_frame(tmp_path / name, frame)
    rows = expected_rows([path], next(chunks(path, Tally())))
    assert rows == len(frame) if name.endswith("parquet") else len(frame) / 3 < rows < len(frame) * 2


@pytest.mark.parametrize(("kind", "disk", "memory"), [(EXACT, "828.0 MB", "784.0 MB"), (IVF, "1.2 GB", "408.0 MB")])
def test_a_million_rows_take_the_bytes_of_texts_embeddings_and_index(kind, disk, memory):
    facts = Facts("model", "fingerprint", 384, "text", (), {}, ())
    planned = BulkPlan(Request(("a.csv",), "store", index=kind), (), None, facts, 1_000_000, 60.0)
    assert f"It takes {disk} on disk and {memory} in memory with the index '{kind}'; the work folder, 768.0 MB" in planned.outlook()


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
