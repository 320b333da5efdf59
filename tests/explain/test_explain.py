"""What a score means and which words add to it: shares, places on the scale, words of two sentences that belong together."""

import numpy as np
import pytest

from sbert_app.explain import words as parts
from sbert_app.explain.cautions import LANGUAGE, NEGATION, NUMBERS, ORDER
from sbert_app.explain.scale import WORDS, Calibration, References, Scale
from sbert_app.explain.words import EXACT, Attribution, TokenVectors, is_special
from sbert_app.vectors import cosine, unit_rows

PAIRS = [
    ("The cat fell asleep.", "A kitten is napping."),
    ("Unfathomable antidisestablishmentarianism!", "😀 emoji"),
    ("a", "word " * 300),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_contributions_sum_exactly_to_the_cosine_of_the_embeddings(encoder, pair):
    split = parts.split_mean_pooled(*encoder.token_vectors(pair))
    u, v = encoder.encode(pair)
    assert split.score == pytest.approx(cosine(u, v), abs=1e-5)
    assert abs(split.residual) < 1e-6
    assert split.contributions.shape == (len(split.words1), len(split.words2))


def test_a_hand_computed_split():
    tokens1 = TokenVectors(["a", "b"], np.array([0, 1, 1]), np.array([[1, 0], [0, 1], [0, 2]], dtype=np.float32), False)
    tokens2 = TokenVectors(["c"], np.array([0]), np.array([[0, 4]], dtype=np.float32), False)
    split = parts.split_mean_pooled(tokens1, tokens2)
    # u = (1/3, 1), v = (0, 4); a·c = 0, b·c = (1 + 2) * 4 / (3 * 1 * |u| * |v|)
    expected = 12 / (3 * np.sqrt(1 / 9 + 1) * 4)
    assert split.contributions == pytest.approx(np.array([[0], [expected]]))
    assert split.strongest(1)[0].word1 == "b"


def test_the_strongest_links_are_words_not_special_tokens_and_those_of_a_word_that_occurs_again_are_added_up(encoder):
    split = parts.split_mean_pooled(*encoder.token_vectors(["The cat fell asleep.", "A kitten is napping."]))
    links = split.strongest(6)
    assert ("cat", "kitten") in [(link.word1, link.word2) for link in links]
    assert not any(is_special(word) for link in links for word in (link.word1, link.word2))
    assert [link.contribution for link in links] == sorted((link.contribution for link in links), reverse=True)
    assert len(split.strongest(10_000)) == (len(split.words1) - 2) * (len(split.words2) - 2)
    split = parts.split_mean_pooled(*encoder.token_vectors(["dog dog dog", "puppy"]))
    links = split.strongest(10)
    assert [(link.word1, link.word2) for link in links] == [("dog", "puppy")]
    assert links[0].contribution == pytest.approx(float(split.contributions[1:4, 1].sum()), abs=1e-6)


def test_leave_one_out_finds_the_words_that_meet(encoder):
    sentences = ["my dog likes music", "the puppy sleeps"]
    (words1, without1), (words2, without2) = (encoder.leave_one_out(s) for s in sentences)
    full = encoder.encode(sentences)
    result = parts.leave_one_out((words1, words2), (full[0], full[1]), (without1, without2))
    assert result.score == pytest.approx(cosine(*full), abs=1e-6)
    assert (result.strongest(1)[0].word1, result.strongest(1)[0].word2) == ("dog", "puppy")
    assert np.allclose(without1[1], encoder.encode(["my likes music"])[0], atol=1e-5)


def test_percentile_is_the_share_of_random_pairs_below():
    vectors = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
    calibration = Calibration.from_embeddings("c", vectors)
    unit = unit_rows(vectors)
    scores = (unit @ unit.T)[np.triu_indices(300, 1)]
    for score in (-0.3, 0.0, 0.25):
        assert calibration.percentile(score) == pytest.approx(100 * (scores < score).mean(), abs=1.5)
    assert calibration.percentile(-1.1) == 0 and calibration.percentile(1.1) == 100


def scale(random, related, paraphrases):
    scores = [np.sort(np.array(values, dtype=np.float32)) for values in (random, related, paraphrases)]
    return Scale(Calibration("notes.csv", scores[0]), References(scores[1], scores[2], scores[1]))


@pytest.fixture
def usual():
    return scale([-0.1, 0.0, 0.1, 0.2, 0.3], [0.3, 0.4, 0.5, 0.6, 0.7], [0.8, 0.85, 0.9, 0.95, 1.0])


@pytest.mark.parametrize(("score", "word"), [(0.95, 0), (0.75, 1), (0.5, 2), (0.35, 3), (0.1, 4), (-0.3, 4), (1.0, 0)])
def test_a_score_has_a_word(usual, score, word):
    assert usual.word(score) == WORDS[word]


def test_words_never_rise_while_the_score_falls(usual):
    odd = scale([0.7, 0.8, 0.9], [0.1, 0.2, 0.3], [0.15, 0.2, 0.25])  # an untrained model: everything is alike
    for one in (usual, odd):
        order = [WORDS.index(one.word(score)) for score in np.linspace(1, -1, 101)]
        assert order == sorted(order)


@pytest.mark.parametrize("kind", [NEGATION, NUMBERS, ORDER])
def test_what_may_contradict_does_not_mean_the_same(usual, kind):
    assert usual.verdict(0.95, [kind]) == "Close in topic" and usual.verdict(0.1, [kind]) == "Unrelated"
    assert usual.verdict(0.95, []) == "Same meaning" and usual.verdict(0.95, [LANGUAGE]) == "Uncertain"


def test_the_marks_are_medians_and_the_sentence_has_word_and_place(usual):
    medians = {"random": 0.1, "related": 0.5, "paraphrase": 0.9}
    assert [(m.name, round(m.score, 2), m.pairs) for m in usual.marks] == [(name, score, 5) for name, score in medians.items()]
    assert usual.sentence(0.25) == "Unrelated: higher than 80.0 % of random pairs of notes.csv"


def test_special_tokens_punctuation_and_function_words_have_no_content():
    words = ["[CLS]", "The", "cat", "did", "not", "sleep", ".", "😀", "[SEP]"]
    assert parts.has_content(words).tolist() == [False, False, True, False, True, True, False, True, False]
    assert parts.has_content(["Anna", "'", "s", "dog"]).tolist() == [True, False, False, True]  # as WordPiece splits "Anna's dog"
    assert parts.has_content(["[CLS]", "to", "be", "[SEP]"]).tolist() == [False, True, True, False]


def test_endings_do_not_make_a_word_another_where_content_is_compared():
    assert len({parts.stem(word) for word in ("love", "loves", "loved", "loving")}) == 1
    assert parts.stem("stopped") == parts.stem("stop") and parts.stem("dress") != parts.stem("dr")
    assert parts.shared_content("Print the report", "Please print both reports") == 1.0
    assert parts.word_overlap("The cat sat", "the CAT ran") == pytest.approx(2 / 4)  # Jaccard
    assert parts.word_overlap("", "") == 0.0


def test_words_are_found_in_the_sentence_in_order():
    sentence = "No, no: don't İstanbul"
    places = parts.spans(sentence, ["[CLS]", "No", ",", "no", "missing", "İstanbul"])
    assert [place and sentence[slice(*place)] for place in places] == [None, "No", ",", "no", None, "İstanbul"]
    assert places[1] != places[3]


def test_each_word_is_in_one_matched_pair():
    shares = np.array([[0.9, 0.9, 0.9], [0.9, 0.3, 0.2], [0.9, 0.2, 0.25], [0.9, 0.01, 0.01]], dtype=np.float32)
    attribution = Attribution(EXACT, ["[CLS]", "cat", "nap", "mat"], ["[CLS]", "kitten", "sleep"], shares, 0.5)
    assert [(p.first, p.second, round(p.share, 2)) for p in parts.matched_pairs(attribution)] == [(1, 1, 0.3), (2, 2, 0.25)]


def test_what_scores_mean_is_drawn_once_for_each_model(shared_bench):
    """20,000 pairs would be a third of the time of every comparison."""
    encoder = shared_bench.registry.encoder()
    first, second = (shared_bench.examples.scale(encoder) for _ in range(2))
    assert first.random is second.random and first.references is second.references
