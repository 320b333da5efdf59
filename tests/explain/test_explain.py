import numpy as np
import pytest

from sbert_app.explain.attribution import TokenVectors, is_special, leave_one_out, split_mean_pooled
from sbert_app.explain.scale import Calibration
from sbert_app.vectors import cosine, unit_rows

PAIRS = [
    ("The cat fell asleep.", "A kitten is napping."),
    ("Unfathomable antidisestablishmentarianism!", "😀 emoji"),
    ("a", "word " * 300),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_contributions_sum_exactly_to_the_cosine_of_the_embeddings(encoder, pair):
    split = split_mean_pooled(*encoder.token_vectors(pair))
    u, v = encoder.encode(pair)
    assert split.score == pytest.approx(cosine(u, v), abs=1e-5)
    assert abs(split.residual) < 1e-6
    assert split.contributions.shape == (len(split.words1), len(split.words2))


def test_a_hand_computed_split():
    tokens1 = TokenVectors(["a", "b"], np.array([0, 1, 1]), np.array([[1, 0], [0, 1], [0, 2]], dtype=np.float32), False)
    tokens2 = TokenVectors(["c"], np.array([0]), np.array([[0, 4]], dtype=np.float32), False)
    split = split_mean_pooled(tokens1, tokens2)
    # u = (1/3, 1), v = (0, 4); a·c = 0, b·c = (1 + 2) * 4 / (3 * 1 * |u| * |v|)
    expected = 12 / (3 * np.sqrt(1 / 9 + 1) * 4)
    assert split.contributions == pytest.approx(np.array([[0], [expected]]))
    assert split.strongest(1)[0].word1 == "b"


def test_the_strongest_links_are_words_not_special_tokens(encoder):
    split = split_mean_pooled(*encoder.token_vectors(["The cat fell asleep.", "A kitten is napping."]))
    links = split.strongest(6)
    assert ("cat", "kitten") in [(link.word1, link.word2) for link in links]
    assert not any(is_special(word) for link in links for word in (link.word1, link.word2))
    assert [link.contribution for link in links] == sorted((link.contribution for link in links), reverse=True)
    assert len(split.strongest(10_000)) == (len(split.words1) - 2) * (len(split.words2) - 2)


def test_links_of_a_word_that_occurs_again_are_added_up(encoder):
    split = split_mean_pooled(*encoder.token_vectors(["dog dog dog", "puppy"]))
    links = split.strongest(10)
    assert [(link.word1, link.word2) for link in links] == [("dog", "puppy")]
    assert links[0].contribution == pytest.approx(float(split.contributions[1:4, 1].sum()), abs=1e-6)


def test_leave_one_out_finds_the_words_that_meet(encoder):
    sentences = ["my dog likes music", "the puppy sleeps"]
    (words1, without1), (words2, without2) = (encoder.leave_one_out(s) for s in sentences)
    full = encoder.encode(sentences)
    result = leave_one_out((words1, words2), (full[0], full[1]), (without1, without2))
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


def test_one_sentence_has_nothing_to_be_calibrated_on():
    assert Calibration.from_embeddings("c", np.ones((1, 4), dtype=np.float32)) is None
