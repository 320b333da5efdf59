"""Index, words and filters, against brute force."""

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus import vector_index as module
from sbert_app.corpus.faiss_index import SCANN, TARGET_RECALL, FaissIndex
from sbert_app.corpus.filters import facets, filter_columns, label_columns, matching_rows
from sbert_app.corpus.indexed import HYBRID, IndexedCorpus
from sbert_app.corpus.ranking.fusion import best_rows
from sbert_app.corpus.ranking.lexical import LexicalIndex, tokenize
from sbert_app.corpus.reader import Corpus
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.errors import UserError
from tests.collections.made import clustered


def brute_force(vectors, query, top):
    return np.argsort(-(vectors @ query), kind="stable")[:top]


def test_exact_index_equals_brute_force_in_rows_and_scores():
    vectors, queries = clustered(500), clustered(520)[500:]
    scores, rows = VectorIndex.build(vectors).search(queries, 10)
    for query, found, values in zip(queries, rows, scores, strict=True):
        assert found.tolist() == brute_force(vectors, query, 10).tolist()
        assert np.allclose(values, vectors[found] @ query, atol=1e-6)
    assert sorted(VectorIndex.build(vectors[:3]).search(queries[:1], 50)[1][0].tolist()) == [0, 1, 2]  # no padding


def test_approximate_index_reports_the_recall_it_has(monkeypatch):
    monkeypatch.setattr(module, "EXACT_ROWS", 1_000)
    vectors = clustered(6_000)
    index = VectorIndex.build(vectors)
    assert index.report.kind == "approximate" and index.report.recall >= TARGET_RECALL
    queries = clustered(6_200)[6_000:]
    found = index.search(queries, 10)[1]
    recall = np.mean([len(set(f) & set(brute_force(vectors, q, 10))) / 10 for q, f in zip(queries, found, strict=True)])
    assert recall >= 0.97
    scores, rows = index.search(queries[:5], 3)  # inner product, not FAISS's default of squared distance
    assert np.allclose(scores, np.einsum("qkd,qd->qk", vectors[rows], queries[:5]), atol=1e-6)


@pytest.mark.parametrize("limit", [10_000, 100], ids=["exact", "approximate"])
def test_index_survives_save_and_load(limit, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "EXACT_ROWS", limit)
    vectors = clustered(800)
    index = VectorIndex.build(vectors)
    index.save(tmp_path)
    again = VectorIndex.load(tmp_path, vectors)
    assert again.report == index.report
    assert (again.search(vectors[:20], 5)[1] == index.search(vectors[:20], 5)[1]).all()


def test_an_approximate_index_of_an_earlier_version_is_searched_as_before(tmp_path):
    import faiss

    vectors, queries = clustered(800), clustered(820)[800:]
    numbers, product = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
    before = faiss.IndexIVFScalarQuantizer(faiss.IndexFlatIP(vectors.shape[1]), vectors.shape[1], 20, numbers, product)
    before.train(vectors)
    before.add(vectors)
    before.nprobe = 20
    report = module.IndexReport("approximate", 800, 0.1, 0.1, 1.0, 200)
    VectorIndex(FaissIndex(SCANN, before), report, vectors).save(tmp_path)
    rows = VectorIndex.load(tmp_path, vectors).search(queries, 10)[1]
    assert all(row.tolist() == brute_force(vectors, query, 10).tolist() for query, row in zip(queries, rows, strict=True))


def test_bm25_ranks_rare_words_first_and_scores_zero_without_overlap():
    lexical = LexicalIndex.build(["the red bicycle", "a red car", "a red house", "nothing here"])
    scores = lexical.scores("where is the red bicycle")
    assert best_rows(scores, 2)[0] == 0 and scores[3] == 0
    assert lexical.scores("zebra").tolist() == [0, 0, 0, 0]
    assert len(best_rows(lexical.scores("zebra"), 5)) == len(best_rows(scores, 0)) == 0
    assert LexicalIndex.build(["!!!", "???"]).scores("hello").tolist() == [0, 0]


def test_bm25_is_what_the_library_computes_sentence_by_sentence():
    import bm25s

    texts = ["red red bicycle", "a red car and a blue car", "!!!", "nothing here", "a blue house, a red door and a blue window"]
    theirs = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    theirs.index([tokenize(text) or [""] for text in texts], show_progress=False)
    lexical = LexicalIndex.build(texts)
    for query in ("red", "blue car", "red blue window door bicycle"):
        np.testing.assert_allclose(lexical.scores(query), theirs.get_scores(tokenize(query)), rtol=1e-5)


def test_stop_words_are_left_out_unless_there_are_no_others_and_japanese_and_chinese_are_found_by_their_characters():
    assert tokenize("To be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert tokenize("The parcel is late") == ["parcel", "late"]
    lexical = LexicalIndex.build(["返金してください。", "荷物が届きません", "请退还我的钱", "我的包裹没有到", "カードが使えない"])
    queries = {"返金": 0, "荷物": 1, "退还": 2, "包裹": 3, "カード": 4}
    assert {query: int(lexical.scores(query).argmax()) for query in queries} == queries
    assert tokenize("Refund を 3 Karten") == ["refund", "を", "3", "karten"]


DATES = ["2026-01-05", "2026-03-31", "2026-04-01", ""]
METADATA = pd.DataFrame({"team": ["A", "B", "A", ""], "cost": ["5", "12", "7.5", "n/a"], "date": DATES})


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ({"team": "A"}, [0, 2]),
        ({"team": ["A", "B"]}, [0, 1, 2]),
        ({"team": ["A"], "cost": {"from": "6"}}, [2]),
        ({"cost": {"from": "6", "to": "12"}}, [1, 2]),
        ({"date": {"to": "2026-03"}}, [0, 1]),
        ({"date": {"from": "2026-03"}}, [1, 2]),
        ({"team": {"contains": "b"}}, [1]),
        ({"team": {"contains": "("}}, []),
        ({"team": [" a"]}, [0, 2]),
    ],
)
def test_filters_keep_the_rows_that_fit(filters, rows):
    assert np.flatnonzero(matching_rows(METADATA, filters).mask).tolist() == rows


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"team": {"from": "b"}}, "Column 'team' holds neither numbers nor dates. Filter it by its values"),
        ({"cost": {"from": "abc"}}, "'abc' cannot be compared with column 'cost', which holds numbers like '5'"),
        ({"date": {"to": "soon"}}, "'soon' cannot be compared with column 'date', which holds dates like '2026-01-05'"),
        ({"date": {"from": "2026-03", "to": "2026-02"}}, "No value of column 'date' is from 2026-03 to 2026-02. Write the lower"),
        ({"colour": "red"}, "no column 'colour' to filter by. The columns are: team, cost, date"),
        ({"team": {"regex": ".*"}}, "no setting 'regex'"),
    ],
)
def test_a_filter_that_does_not_fit_is_told(filters, message):
    with pytest.raises(UserError, match=message):
        matching_rows(METADATA, filters)


def test_facets_are_columns_with_few_repeated_values():
    assert next(iter(facets(METADATA)["team"].items())) == ("A", int((METADATA["team"] == "A").sum()))
    assert "cost" not in facets(METADATA)
    # A text is no label, though it is repeated.
    metadata = pd.DataFrame({"topic": ["a", "b"] * 3, "abstract": ["one long text " * 9, "another long text " * 9] * 3})
    assert list(facets(metadata)) == ["topic", "abstract"] and list(label_columns(metadata)) == ["topic"]


def test_hybrid_lifts_the_row_whose_words_match():
    metadata = pd.DataFrame({"even": [str(i % 2 == 0) for i in range(200)]})
    corpus = Corpus("c", ("text",), [f"sentence number {i}" for i in range(200)], metadata, np.arange(1, 201))
    indexed, query = IndexedCorpus.build(corpus, "m", "f", clustered(200)), clustered(201)[200]
    ranking = indexed.rank(query, "137", 10, {}, HYBRID)
    assert 137 in ranking.rows[:2]
    assert np.allclose(ranking.scores, indexed.embeddings[ranking.rows] @ query)
    filtered = indexed.rank(query, "137", 10, {"even": "True"}, HYBRID)
    assert 137 not in filtered.rows and (filtered.rows % 2 == 0).all()


def test_a_column_is_filtered_by_its_values_by_a_range_or_by_a_text():
    frame = pd.DataFrame({
        "note": [f"note number {i}, unlike the others" for i in range(60)],
        "stars": [["5", "4", "5", "", "10"][i % 5] for i in range(60)],
        "sum": [f"{i},50" for i in range(60)],
        "team": [["Billing", "billing ", "BILLING", "Sales"][i % 4] for i in range(60)],
    })  # fmt: skip
    team, stars, amount, note = filter_columns(frame)
    assert team.values == ((("Billing", "billing ", "BILLING"), 45), (("Sales",), 15)) and team.ends is None
    assert stars.values == ((("4",), 12), (("5",), 24), (("10",), 12), (("",), 12))  # few numbers are listed, in their order
    ids = pd.DataFrame({"id": [f"00340434161094{i:06}" for i in range(60)], "far": [f"{10**17 + i}.5" for i in range(60)]})
    assert [(column.ends is None, column.bars) for column in filter_columns(ids)] == [(False, ()), (True, ())]
    (blanks,) = filter_columns(pd.DataFrame({"stars": ["3", "nan", "1", "", "2"] * 9}))
    assert [forms[0] for forms, _ in blanks.values] == ["1", "2", "3", "nan", ""]
    assert amount.ends == ("0,50", "59,50") and sum(amount.bars) == 60 and not amount.values
    assert (note.name, note.values, note.ends) == ("note", (), None)
    assert int(matching_rows(frame, {"team": team.values[0][0][0]}).mask.sum()) == 45
