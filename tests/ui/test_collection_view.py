"""What the page says of a collection."""

from dataclasses import replace
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pandas as pd
import pytest

from sbert_app.collections.collection import Facts
from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.faiss_index import IVF
from sbert_app.corpus.hits import MAXSIM, Hit, SearchResult, Store
from sbert_app.corpus.indexed import DENSE, IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.jobs.corpus.opening import OtherIndex
from sbert_app.ui.corpus import panels
from sbert_app.ui.corpus.view import collection_card, menu, ready, stale
from sbert_app.ui.search import view


class Stored:
    """What the views read of a store."""

    facts = Facts("all-MiniLM-L6-v2", "f", 384, "text", ("team",), {}, ("a.csv", "b.csv"), IVF, 0.972, 200)


@pytest.fixture
def opened() -> OpenCollection:
    corpus = Corpus(
        "big: sample of 2 of 1,234,567 rows", ("text",), ["a b", "c d"], pd.DataFrame({"team": ["x", "y"]}), np.array([1, 2])
    )
    sample = IndexedCorpus.build(replace(corpus, store="/data/<big>"), "all-MiniLM-L6-v2", "f", np.eye(2, 384, dtype=np.float32))
    return OpenCollection("big", "/data/<big>", Stored(), 1_234_567, sample)  # type: ignore[arg-type]


def test_the_card_says_size_index_recall_model_and_what_is_sampled(opened):
    card = collection_card(opened)
    assert "collection of 1,234,567 rows · all-MiniLM-L6-v2 · IVF index, recall@10 0.972, measured on 200 rows" in card
    assert "use a random sample of 2." in card and "384 dimensions · 2 files" in card
    assert "random sample" not in collection_card(replace(opened, rows=2))


def test_the_header_has_the_name_and_all_rows_and_another_model_there_does_not_offer_to_index(opened):
    button = menu(opened.sample, "x", opened)
    assert "<b>big</b><span>1,234,567 rows</span>" in button and "/data" not in button and 'data-key=""' in button
    assert 'data-key="collection:big"' in menu(opened.sample, "x", replace(opened, listed=True))
    assert "<b>big</b> is ready: 1,234,567 rows" in ready(opened.sample, opened)
    line = stale(OtherIndex("all-MiniLM-L6-v2", "other", None))
    assert "Made with <b>all-MiniLM-L6-v2</b>, which Search, Duplicates and Map use" in line and "index again" not in line


def result(ranking: str, filtered: bool = False) -> SearchResult:
    hit = Hit(1, 4294967297, 0.5, "text", {"team": "x"}, row_name="1 of b.csv")
    store = Store("big", "IVF", 0.972, 200, filtered)
    return SearchResult("q", [hit], {"store": 12.0}, "m", 1_234_567, 1_234_567, ranking, store=store)


def test_the_line_above_the_hits_says_rows_ranking_and_index_and_no_raw_id_is_on_screen_or_in_the_file():
    html = view.results(result(MAXSIM))
    assert "1 of 1,234,567 in 12 ms · ranked by meaning, then the best 50 word by word" in html
    assert "IVF index, recall@10 0.972, measured on 200 rows · store 12.0 ms" in html
    assert "1 of 1,234,567, of those that fit the filters" in view.results(result(DENSE, filtered=True))
    html = view.results(result(DENSE))
    assert "<span>row</span> 1 of b.csv" in html and "4,294,967,297" not in html and "row 4294967297" not in html
    assert next(view.hit_records(result(DENSE).hits[0]))["row"] == "1 of b.csv"


def test_the_panel_names_what_the_app_offers_and_the_command_to_make_one(shared_bench, tmp_path, caplog):
    (tmp_path / "a").mkdir()
    offering = SimpleNamespace(settings=replace(shared_bench.settings, collections=(f"{tmp_path}/a", "/data/b")))
    with gr.Blocks():
        panel = panels.CollectionPanel(offering, gr.State())
    assert panel.address.info == f"{panels.FORMS} Or a name: a, b."
    assert caplog.messages == ["SBERT_STUDIO_COLLECTIONS lists /data/b, and there is no such folder"]
    assert panels.HOW_TO_MAKE.count("python -m sbert_app index FILES --store FOLDER") == 2  # shown, and copied
