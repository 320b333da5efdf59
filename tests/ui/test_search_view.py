"""Hits as html: their cards, marks and grades, and the answer why a row was not found."""

from dataclasses import replace

from sbert_app.corpus.hits import Hit, SearchResult
from sbert_app.corpus.ranking.maxsim import WordMatch
from sbert_app.corpus.ranking.missed import BM25, MEANING, TOGETHER, HidingFilter, Miss, QueryWords, Standing
from sbert_app.jobs.search.open_corpus import Judgements, no_hits
from sbert_app.ui.search import view
from sbert_app.ui.search.hit_view import card

HOSTILE = "<img src=x onerror=alert(1)>"
TEXT = "The <courier> lost the parcel in a depot."
LONG = "Nothing to see in this one. " * 20 + "The <parcel> is lost. " + "More of nothing follows here. " * 20


def met(query_word: str, word: str, similarity: float, weight: float, text: str = TEXT) -> WordMatch:
    start = text.index(word)
    return WordMatch(query_word, word, start, start + len(word), similarity, weight)


MATCHES = met("package", "parcel", 0.8, 0.5), met("gone", "lost", 0.6, 0.3), met("house", "in", 0.5, 0.3), met("my", ".", 0.5, 0.3)
HIT = Hit(1, 7, 0.6, TEXT, {}, maxsim=0.5, bm25=2.0, matches=MATCHES)


def drawn(*words: str, **changes: object) -> str:
    """The card of HIT with these changes, for a query of these words."""
    return card(replace(HIT, **changes), frozenset(words), "")


def test_the_words_that_match_are_marked_the_strongest_most_and_no_stop_words_or_signs_and_listed_behind_a_click():
    page = drawn()
    assert '<mark style="--w:1.00">parcel</mark>' in page and '<mark style="--w:0.45">lost</mark>' in page
    assert page.count("<mark") == 2 and "&lt;courier&gt;" in page and "<courier>" not in page
    assert "Which words match" in page and "<td>package</td><td>parcel</td><td>0.80</td><td>50 %</td>" in page
    assert "MaxSim 0.500" in page
    page = drawn("depot", matches=())  # then the query's own words
    assert page.count("<mark") == 1 and ">depot</mark>" in page and "Which words match" not in page


def test_a_long_text_begins_with_what_matches_best_until_it_is_unfolded_and_its_passage_is_marked():
    best = LONG.index("The <"), LONG.index(" More")
    page = drawn(sentence=LONG, matches=(met("x", "parcel", 0.8, 1.0, LONG),), best=best)
    excerpt = page.split('class="excerpt"')[1].split("</p>")[0]
    assert "… The &lt;<mark" in excerpt and "Nothing to see" not in excerpt
    assert page.split('class="whole"')[1].count("Nothing to see") == 20
    page = drawn("parcel", sentence=LONG, matches=(), passage=best)
    whole = page.split('class="whole" dir="auto">')[1].split("</p>")[0]
    assert '<span class="passage">The &lt;<mark style="--w:1.00">parcel</mark>&gt; is lost.</span> More' in whole
    assert whole.striptags() == " ".join(LONG.split())


def test_a_logit_gets_no_bar():
    assert [drawn(cross_score=1.5, cross_share=share).count("bar cross") for share in (None, 0.5)] == [0, 1]


def test_metadata_does_not_overwrite_the_hits_own_columns():
    (record,) = view.hit_records(Hit(1, 7, 0.5, "text", {"score": "theirs", "row": "x", "row_": "y"}))
    assert record == {"rank": 1, "row": 7, "score": 0.5, "sentence": "text", "score_": "theirs", "row_": "x", "row__": "y"}


def test_copies_are_counted_on_the_card_and_weak_hits_stand_below_a_line():
    scores = ((0.9, "first"), (0.2, "second"), (0.1, "third"))
    hits = [Hit(rank, rank + 10, score, text, {}) for rank, (score, text) in enumerate(scores, 1)]
    hits[0] = replace(hits[0], copies=12, copy_rows=(12, 15))
    result = SearchResult("q", hits, {"search": 1.0}, "model", 9, 9, weak=0.3)
    page = view.results(result)
    assert page.count('class="hit"') == 3 and "Best 3 texts in 15 rows of 9 in" in page
    assert "The same text in rows 12, 15 … and 10 more<" in page
    assert page.index("first") < page.index(view.WEAK) < page.index("second") and page.count('class="weak"') == 1
    assert view.ALL_WEAK in view.results(replace(result, weak=0.95))
    by_words_too = replace(result, hits=[replace(hits[0], score=0.2), replace(hits[1], score=0.9), hits[2]], ranking="maxsim")
    page = view.results(by_words_too)
    assert page.index("second") < page.index(view.WEAK) < page.index("third")  # in another order: after the last that is not
    re_ranked = replace(result, hits=[replace(hit, cross_score=0.5) for hit in hits])  # its order is not that of the cosine
    for unmarked in (replace(result, weak=-1.0), replace(by_words_too, ranking="words"), re_ranked):
        assert 'class="weak"' not in view.results(unmarked)
    assert no_hits("words") in view.results(result, replace(result, hits=[]))


def test_of_the_buttons_that_judge_a_hit_the_one_of_its_grade_is_pressed():
    hits = [Hit(rank, row, 0.5, f"text {row}", {}) for rank, row in ((1, 4), (2, 9))]
    html = view.results(SearchResult("q", hits, {"search": 1.0}, "m", 9, 9), None, {9: 1})
    assert html.count('data-of="4"') == html.count('data-of="9"') == 3 and html.count('aria-pressed="true"') == 1
    assert 'data-judge="1" data-of="9" aria-pressed="true">partly<' in html
    assert view.judged_so_far(Judgements()) == ""
    assert "2 hits of 1 query judged." in view.judged_so_far(Judgements({("q", 1): 2, ("q", 2): 0}))


def test_the_answer_names_reason_ranks_words_and_escapes_texts():
    standings = (Standing(MEANING, 12, 0.5), Standing(BM25, None, 0.0, "no word in common"), Standing(TOGETHER, 3, 1.25))
    words = QueryWords(shared=("moss",), lacking=("lawn", "graas"), typos={"graas": "grass"})
    filters = (HidingFilter("topic", HOSTILE, "topic: garden"),)
    html = view.missed(Miss("q", 7, HOSTILE, False, "dense", 12, 10, 450, standings, words, filters, read=20, length=90))
    assert "<img" not in html and "The corpus holds no such text; the most similar row is 7." in html
    assert "<td>By words (BM25)</td><td>–</td><td>0.000 · no word in common</td>" in html
    assert "rank of 450 without what hides it" in html
    assert "Words of the query that the row has: “moss”. That it lacks: “lawn” and “graas”." in html
    assert "No row has “graas”; “grass” occurs." in html and "The model reads the first 20 of its 90 characters." in html
    html = view.missed(Miss("q", 7, skipped="blank sentence"))
    assert "Row 7 was skipped when the file was read: blank sentence." in html and "<table" not in html
