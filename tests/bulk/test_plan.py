"""The plan past these machines is what its script computes, and its sizes are those of real indexes."""

from pathlib import Path

import pytest

from sbert_app.bulk.preparing import INDEX_BYTES
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN, FaissIndex
from tests.benchmarks import plan
from tests.collections.made import DIM, clustered

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


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
