"""A hit's card: which words are marked, where a long text begins, and what stands behind a click."""

from dataclasses import replace

from sbert_app.corpus.hits import Hit
from sbert_app.corpus.ranking.maxsim import WordMatch
from sbert_app.ui.search.hit_view import card

TEXT = "The <courier> lost the parcel in a depot."


def met(query_word: str, word: str, similarity: float, weight: float, text: str = TEXT) -> WordMatch:
    start = text.index(word)
    return WordMatch(query_word, word, start, start + len(word), similarity, weight)


MATCHES = (
    met("package", "parcel", 0.8, 0.5),
    met("gone", "lost", 0.6, 0.3),
    met("house", "in", 0.5, 0.3),
    met("my", ".", 0.5, 0.3),
)
HIT = Hit(1, 7, 0.6, TEXT, {}, maxsim=0.5, bm25=2.0, matches=MATCHES)


def test_the_words_that_match_are_marked_the_strongest_most_and_no_stop_words_or_signs_and_listed_behind_a_click():
    page = card(HIT, frozenset(), "")
    assert '<mark style="--w:1.00">parcel</mark>' in page and '<mark style="--w:0.45">lost</mark>' in page
    assert page.count("<mark") == 2 and "&lt;courier&gt;" in page and "<courier>" not in page
    assert "Which words match" in page and "<td>package</td><td>parcel</td><td>0.80</td><td>50 %</td>" in page
    assert "MaxSim 0.500" in page


def test_without_matches_the_querys_own_words_are_marked():
    page = card(replace(HIT, matches=()), frozenset({"depot"}), "")
    assert page.count("<mark") == 1 and ">depot</mark>" in page and "Which words match" not in page


def test_a_long_text_begins_with_the_sentence_that_matches_best_until_it_is_unfolded():
    text = "Nothing to see in this one. " * 20 + "The parcel is lost. " + "More of nothing follows here. " * 20
    start = text.index("The parcel")
    page = card(Hit(1, 7, 0.6, text, {}, matches=(met("x", "parcel", 0.8, 1.0, text),), best=(start, start + 19)), frozenset(), "")
    excerpt = page.split('class="excerpt"')[1].split("</p>")[0]
    assert "… The <mark" in excerpt and "Nothing to see" not in excerpt
    assert page.split('class="whole"')[1].count("Nothing to see") == 20


def test_the_passage_of_a_whole_text_is_marked():
    text = "Nothing to see in this one. " * 20 + "The <parcel> is lost. " + "More of nothing follows here. " * 20
    start = text.index("The <")
    page = card(Hit(1, 7, 0.6, text, {}, passage=(start, start + 21)), frozenset({"parcel"}), "")
    whole = page.split('class="whole" dir="auto">')[1].split("</p>")[0]
    assert '<span class="passage">The &lt;<mark style="--w:1.00">parcel</mark>&gt; is lost.</span> More' in whole
    assert whole.striptags() == " ".join(text.split())


def test_a_logit_gets_no_bar():
    logit = replace(HIT, cross_score=7.5)
    shared = replace(HIT, cross_score=0.5, cross_share=0.5)
    assert [card(hit, frozenset(), "").count("bar cross") for hit in (logit, shared)] == [0, 1]
