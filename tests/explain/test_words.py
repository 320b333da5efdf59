import numpy as np

from sbert_app.explain.attribution import EXACT, Attribution
from sbert_app.explain.words import has_content, matched_pairs, shared_content, spans, stem


def test_special_tokens_punctuation_and_function_words_have_no_content():
    words = ["[CLS]", "The", "cat", "did", "not", "sleep", ".", "😀", "[SEP]"]
    assert has_content(words).tolist() == [False, False, True, False, True, True, False, True, False]
    assert has_content(["[CLS]", "to", "be", "[SEP]"]).tolist() == [False, True, True, False]


def test_endings_do_not_make_a_word_another():
    assert len({stem(word) for word in ("love", "loves", "loved", "loving")}) == 1
    assert stem("stopped") == stem("stop") and stem("dress") != stem("dr")
    assert shared_content("Print the report", "Please print both reports") == 1.0


def test_words_are_found_in_the_sentence_in_order():
    sentence = "No, no: don't İstanbul"
    places = spans(sentence, ["[CLS]", "No", ",", "no", "missing", "İstanbul"])
    assert [place and sentence[slice(*place)] for place in places] == [None, "No", ",", "no", None, "İstanbul"]
    assert places[1] != places[3]


def test_each_word_is_in_one_matched_pair():
    shares = np.array([[0.9, 0.9, 0.9], [0.9, 0.3, 0.2], [0.9, 0.2, 0.25], [0.9, 0.01, 0.01]], dtype=np.float32)
    attribution = Attribution(EXACT, ["[CLS]", "cat", "nap", "mat"], ["[CLS]", "kitten", "sleep"], shares, 0.5)
    assert [(p.first, p.second, round(p.share, 2)) for p in matched_pairs(attribution)] == [(1, 1, 0.3), (2, 2, 0.25)]
