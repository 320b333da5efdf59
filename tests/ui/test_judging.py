"""The buttons that judge a hit, and the answer why a row was not found, as html."""

from sbert_app.corpus.hits import Hit, SearchResult
from sbert_app.corpus.ranking.missed import BM25, MEANING, TOGETHER, HidingFilter, Miss, QueryWords, Standing
from sbert_app.jobs.search.open_corpus import Judgements
from sbert_app.ui.search import view

HOSTILE = "<img src=x onerror=alert(1)>"


def test_of_the_buttons_that_judge_a_hit_the_one_of_its_grade_is_pressed():
    hits = [Hit(rank, row, 0.5, f"text {row}", {}) for rank, row in ((1, 4), (2, 9))]
    result = SearchResult("q", hits, {"search": 1.0}, "m", 9, 9)
    html = view.results(result, None, {9: 1})
    assert html.count('data-of="4"') == html.count('data-of="9"') == 3 and html.count('aria-pressed="true"') == 1
    assert 'data-judge="1" data-of="9" aria-pressed="true">partly<' in html


def test_the_count_is_of_hits_and_queries():
    assert view.judged_so_far(Judgements()) == ""
    assert "2 hits of 1 query judged." in view.judged_so_far(Judgements({("q", 1): 2, ("q", 2): 0}))


def test_the_answer_names_reason_ranks_words_and_escapes_texts():
    standings = (Standing(MEANING, 12, 0.5), Standing(BM25, None, 0.0, "no word in common"), Standing(TOGETHER, 3, 1.25))
    words = QueryWords(shared=("moss",), lacking=("lawn", "graas"), typos={"graas": "grass"})
    filters = (HidingFilter("topic", HOSTILE, "topic: garden"),)
    miss = Miss("q", 7, HOSTILE, False, "dense", 12, 10, 450, standings, words, filters, read=20, length=90)
    html = view.missed(miss)
    assert "<img" not in html and "The corpus holds no such text; the most similar row is 7." in html
    assert "<td>By words (BM25)</td><td>–</td><td>0.000 · no word in common</td>" in html and "rank of 450 without filters" in html
    assert "Words of the query that the row has: “moss”. That it lacks: “lawn” and “graas”." in html
    assert "No row has “graas”; “grass” occurs." in html and "The model reads the first 20 of its 90 characters." in html


def test_a_skipped_row_has_a_reason_and_no_table():
    html = view.missed(Miss("q", 7, skipped="blank sentence"))
    assert "Row 7 was skipped when the file was read: blank sentence." in html and "<table" not in html
