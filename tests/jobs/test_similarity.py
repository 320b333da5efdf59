import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.similarity import LEAVE_ONE_OUT_WORDS, SimilarityOptions, compare, compare_lists
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, NEW_POLY
from sbert_app.models.files.layout import read_layout, write_layout
from sbert_app.runtime.session import Session
from sbert_app.ui.similarity import detail_view, view
from tests.jobs.refusals import refused
from tests.searching import indexed


def comparison(bench, first, second, model=DEFAULT_ENCODER, cross_encoder="", **rest):
    """`compare` without a corpus."""
    return compare(bench, Session(), SimilarityOptions(first, second, model, cross_encoder), **rest)


@pytest.fixture(scope="module")
def compared(shared_bench):
    return partial(comparison, shared_bench)


def test_a_paraphrase_scores_above_random_pairs_in_either_order_and_an_unrelated_pair_does_not(compared):
    close = compared("I was charged twice this month.", "You took the payment two times in May.")
    far = compared("I was charged twice this month.", "The microphone has an echo.")
    assert close.score > 0.5 > far.score
    random = close.scale.random
    assert random.percentile(close.score) > 99 and random.percentile(far.score) < 90 and random.name == "support_tickets.csv"
    assert close.poolings[close.pooling] == close.score and close.pooling == "mean"
    assert compared(*reversed(close.sentences)).score == pytest.approx(close.score, abs=1e-6)
    assert compared("the same", "the same").score == pytest.approx(1, abs=1e-6)
    random, related, paraphrase = close.scale.marks
    assert random.score < related.score - 0.2 and related.score < paraphrase.score - 0.2
    assert random.pairs == 20_000 and related.pairs > 50 < paraphrase.pairs


def test_rivals_score_the_same_pair(compared):
    pair = "I was charged twice this month.", "You took the payment two times in May."
    result = compared(*pair, cross_encoder=DEFAULT_CROSS_ENCODER, other="all-MiniLM-L6-v2")
    cross, other = result.cross_encoder, result.other
    unrelated = compared(pair[0], "The microphone has an echo.", cross_encoder=DEFAULT_CROSS_ENCODER).cross_encoder
    assert 0 <= unrelated.score < 0.1 < cross.score <= 1 and cross.milliseconds > 0
    assert other.score == pytest.approx(result.score, abs=5e-3) and other.scale.random.percentile(other.score) > 99
    poly = compared(*pair, cross_encoder=NEW_POLY).cross_encoder
    assert poly.score == pytest.approx(other.score, abs=0.1) and poly.score != other.score and poly.model == NEW_POLY
    with pytest.raises(UserError):
        compared("a", "b", other="./nowhere")


def test_any_cross_encoder_gives_a_second_opinion_and_says_how_to_read_it(compared, cross_folder, tmp_path):
    pair = "I was charged twice this month.", "You took the payment two times in May."
    sigmoid = compared(*pair, cross_encoder=str(cross_folder(tmp_path / "stsb-mine"))).cross_encoder
    assert 0 <= sigmoid.score <= 1 and (sigmoid.kind, sigmoid.trained_for, sigmoid.bounds) == ("cross-encoder", "likeness", (0, 1))
    identity = {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}
    reranker = str(cross_folder(tmp_path / "my-reranker", **identity))
    logit = compared(*pair, cross_encoder=reranker).cross_encoder
    assert abs(logit.score) > 1 and (logit.trained_for, logit.bounds) == ("answers", None)
    assert 1 / (1 + np.exp(-logit.score)) == pytest.approx(sigmoid.score, abs=1e-3)  # the same head
    result = compared(*pair, cross_encoder=reranker)
    page, details = view.comparison(result), detail_view.details(result, "m")
    assert f'<b id="cross-score">{logit.score:.2f}</b>, a logit without a fixed range' in page
    assert "The cross-encoder (trained for answers), which reads both sentences together, gives" in page
    assert "logit, no fixed range" in details and 'class="bar cross"' not in details
    result = replace(result, cross_encoder=sigmoid)
    page, details = view.comparison(result), detail_view.details(result, "m")
    assert "0 is unrelated, 1 the same" in page and "logit" not in page and 'class="bar cross"' in details


def test_what_gives_no_single_score_is_a_sentence(compared, cross_folder, model_folder, tmp_path, shared_bench):
    scored = partial(compared, "a", "b")
    names = {"id2label": {str(i): f"class {i}" for i in range(2)}, "label2id": {}}
    with pytest.raises(UserError, match=r"gives 2 labels, not a score: one number for each label \(class 0, class 1"):
        scored(cross_encoder=str(cross_folder(tmp_path / "classes", 2, **names)))
    refused("is of kind encoder; this needs a model of kind cross-encoder", scored, cross_encoder=str(model_folder))
    assert [info.name for info in shared_bench.registry.pair_scorers()] == ["cross-MiniLM-L6-stsb"]


def test_the_bundled_cross_encoder_scores_again_after_it_was_dropped_from_memory(bench):
    def score(cross_encoder=DEFAULT_CROSS_ENCODER, wait=False):
        return comparison(bench, "a", "b", cross_encoder=cross_encoder, wait=wait).cross_encoder

    assert score() is None and score(NEW_POLY) and score(wait=True)
    bench.registry._loaded.clear()
    assert score()


@pytest.mark.parametrize(
    ("texts", "repeated", "name"), [(100, 1, "pasted: cat 0"), (99, 2, "support_tickets.csv"), (1, 1, "support_tickets.csv")]
)
def test_the_percentile_is_of_the_visitors_own_corpus_if_it_has_enough_texts(shared_bench, texts, repeated, name):
    corpus = "\n".join(f"cat {number}" for number in range(texts)) + "\ncat 0" * (repeated - 1)
    assert compare(shared_bench, indexed(shared_bench, corpus), SimilarityOptions("a", "b")).scale.random.name == name


TEN_PAIRS = [
    ("paraphrase", "How can I change my password?", "What do I do to change my password?", "Same meaning", ""),
    ("unrelated", "I was charged twice this month.", "The microphone has an echo.", "Unrelated", ""),
    ("negation", "I love this phone.", "I do not love this phone at all.", "Close in topic", "has “not”, the first has not"),
    ("number", "Increase my card limit by 500.", "Increase my card limit by 800.", "Close in topic", "“500” in the first"),
    ("word order", "The dog bit the man.", "The man bit the dog.", "Close in topic", "another order"),
    ("language", "Where is my luggage?", "Wo ist mein Gepäck?", "Uncertain", "is not in English"),
    ("script", "Where is my luggage?", "Где мой багаж?", "Uncertain", "letter by letter"),
    ("very long", "one", "word " * 5_000, "Unrelated", "first 256 tokens"),
    ("emoji", "I love it", "😀", "Uncertain", "not in this model's vocabulary"),
    ("twice", "The same sentence twice.", "The same sentence twice.", "Same meaning", ""),
]


@pytest.mark.parametrize(("name", "first", "second", "word", "caution"), TEN_PAIRS, ids=[pair[0] for pair in TEN_PAIRS])
def test_ten_pairs_in_words(compared, name, first, second, word, caution):
    result = compared(first, second)
    assert result.in_words.startswith(f"{word}: ") and result.in_words.endswith(" random pairs of the example support_tickets.csv")
    assert len(result.cautions) == bool(caution) and caution in "".join(result.cautions)


def test_odd_sentences_get_a_score_and_blank_ones_a_sentence(shared_bench, compared):
    for odd in ("😀", "مرحبا", "\ud83d half", "a\0b", "x" * 1_000_000, "word " * 200_000):
        asked = read(SimilarityOptions, {"sentence1": "hello", "sentence2": odd}, shared_bench.settings.limits)
        assert -1 <= compared(asked.sentence1, asked.sentence2).score <= 1
    for blank in ("", "   ", "\0", "\n\t"):
        with pytest.raises(UserError, match="The second sentence is blank. Type something to compare"):
            read(SimilarityOptions, {"sentence1": "hello", "sentence2": blank}, shared_bench.settings.limits)
    assert "first 256 tokens" in compared("hello", "word " * 200_000).cautions[0]


def test_other_poolings_are_explained_by_leaving_tokens_out(bench, tiny):
    folder = bench.settings.models / "max-pooled"
    shutil.copytree(tiny, folder)
    write_layout(folder, replace(read_layout(folder, "mine"), pooling="max"), 32, 256)
    result = comparison(bench, "my dog likes music", "the puppy sleeps", "max-pooled")
    assert result.pooling == "max" and result.attribution.method == "leave-one-token-out"
    assert result.attribution.words1 == ["my", "dog", "likes", "music"]
    long = "word " * (LEAVE_ONE_OUT_WORDS + 1)
    assert comparison(bench, long, "x", "max-pooled").attribution is None


@pytest.mark.parametrize("name", ["new/infersent", "new/dan"])
def test_an_untrained_network_says_so_and_is_explained_by_leaving_words_out(compared, name):
    result = compared("my dog likes music", "the puppy sleeps", name)
    assert result.notes[0].startswith("Not trained yet:") and -1 <= result.score <= 1
    assert result.attribution.method == "leave-one-token-out" and result.attribution.words2 == ["the", "puppy", "sleeps"]
    assert result.attribution.score == pytest.approx(result.score, abs=1e-5) == compared(*result.sentences, other=name).other.score


def test_lists_are_compared_each_with_each_and_refused_where_blank_or_too_long(shared_bench, compared):
    result = compare_lists(shared_bench, "a red car\na dog\n\n", "the crimson automobile\na puppy\nthe moon")
    assert result.scores.shape == (2, 3)
    best = result.records(2)
    pairs = {(pair["sentence1"], pair["sentence2"]) for pair in best}
    assert pairs == {("a red car", "the crimson automobile"), ("a dog", "a puppy")} and best[0]["score"] >= best[1]["score"]
    assert np.allclose(result.scores[0, 0], compared("a red car", "the crimson automobile").score, atol=5e-3)
    refused("The second list has 101 sentences, the limit is 100", compare_lists, shared_bench, "a", "line\n" * 101)
    refused("The first list is blank. Type one sentence per line", compare_lists, shared_bench, "\n \n", "a")
