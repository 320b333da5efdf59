"""Rankings and their measures: as the reference functions compute them, for documents and for candidates."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from sbert_app.errors import UserError
from sbert_app.grid import ranking
from sbert_app.grid.cell import measure_cell, mistakes
from sbert_app.grid.data_set import RETRIEVAL, PairSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.ranking import Retrieval
from sbert_app.grid.reading import read_folder
from sbert_app.grid.systems import BM25, CROSS, HYBRID, MAXSIM, OVERLAP, RERANKED, SBERT, Choice
from sbert_app.labelled.queries import Queries
from sbert_app.settings import Limits

DOCUMENTS = ["The cat sleeps on the sofa.", "Rain falls in autumn.", "The train to Leeds is late.", "Our invoice was wrong."]
QUERIES = ["a kitten takes a nap", "wet weather", "delay on the railway", "invoice"]
DATA = Queries(QUERIES, DOCUMENTS, [{0: 1.0}, {1: 1.0}, {2: 2.0, 0: 1.0}, {3: 1.0}])
CANDIDATES = Queries(QUERIES[:2], DOCUMENTS, [{0: 1.0}, {1: 1.0}], [np.array([3, 0]), np.array([2, 1])])


def test_measures_are_those_of_the_reference_functions():
    generator = np.random.default_rng(0)
    rankings = [generator.permutation(4) for _ in QUERIES]
    values = ranking.measures(DATA, rankings)
    for number, (rows, relevant) in enumerate(zip(rankings, DATA.relevant, strict=True)):
        gains, scores = [[relevant.get(row, 0.0) for row in range(4)]], [-np.argsort(rows)]
        assert values["ndcg_at_10"][number] == pytest.approx(ndcg_score(gains, scores, k=10))
        assert values["mrr_at_10"][number] == 1 / (1 + min(rows.tolist().index(row) for row in relevant))
    assert values["recall_at_100"].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("name", [SBERT, BM25, HYBRID, MAXSIM, RERANKED])
def test_every_system_that_ranks(shared_bench, name):
    cell = measure_cell(load_system(shared_bench, name, Choice()), Retrieval("small", DATA))
    assert all(low <= cell.measures[measure] <= high for measure, (low, high) in cell.intervals.items())
    assert list(cell.intervals) == list(cell.measures) == list(ranking.RANKING)
    assert cell.predicted.shape == (4,) and cell.predicted[3] == 1
    assert cell.value > 0.9 if name != BM25 else cell.value < 0.6  # three of four queries share no word with their document


def test_candidates_alone_are_ranked_and_a_cross_encoder_can_read_them_all(shared_bench, scored):
    for name in (SBERT, CROSS, HYBRID, MAXSIM, RERANKED, BM25):
        rows = load_system(shared_bench, name, Choice()).rank(CANDIDATES)
        assert all(set(row.tolist()) <= set(allowed.tolist()) for row, allowed in zip(rows, CANDIDATES.candidates, strict=True))
        assert name != CROSS or [row.tolist() for row in rows] == [[0, 3], [1, 2]]
    for name, message in ((CROSS, "Would read 16 pairs of query and document"), (OVERLAP, "use bm25 to rank")):
        with pytest.raises(UserError, match=message):
            load_system(shared_bench, name, Choice()).rank(DATA)
    with pytest.raises(UserError, match="Ranks documents only"):
        measure_cell(load_system(shared_bench, BM25, Choice()), PairSet("scored", scored))


def test_a_folder_of_corpus_queries_and_judgements_is_one_data_set(tmp_path, shared_bench):
    (tmp_path / "corpus.csv").write_text("doc_id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(DOCUMENTS)))
    (tmp_path / "queries_test.csv").write_text("query_id,text\n" + "".join(f"q{i},{text}\n" for i, text in enumerate(QUERIES)))
    (tmp_path / "qrels_test.csv").write_text("query_id,doc_id,relevance\nq0,0,1\nq1,1,1\nq2,2,1\nq3,3,1\n")
    (tmp_path / "queries_train.csv").write_text("query_id,text\nx,y\n")
    (data,) = read_folder(tmp_path, Limits())
    assert data.name == tmp_path.name and data.task == RETRIEVAL and data.size == 4 and data.measure == "ndcg_at_10"
    cell = measure_cell(load_system(shared_bench, BM25, Choice()), data)
    assert mistakes(data, cell, 1)[0].expected in DOCUMENTS
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels_test.csv").rename(tmp_path / "qrels" / "test.csv")  # as BEIR publishes it
    (beir,) = read_folder(tmp_path, Limits())
    assert beir.digest == data.digest
