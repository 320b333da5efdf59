import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder as Theirs
from transformers import AutoConfig, AutoModelForSequenceClassification

from sbert_app.errors import UserError
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.files.finding import CROSS_ENCODER
from sbert_app.models.loading import FIRST_TOKEN, shorten_last_layer

BATCH = 4  # of theirs, which pads: a long text in a batch of 32 costs ten seconds


@pytest.fixture(scope="module")
def pairs(sentences):
    return [*zip(sentences[:30], sentences[30:60], strict=True), ("", "blank"), ("long " * 600, "short")]


@pytest.mark.parametrize("labels", [1, 3])
def test_scores_equal_sentence_transformers_also_after_saving(labels, shallow_folder, pairs, tmp_path, cpu):
    torch.manual_seed(0)
    theirs = Theirs(str(shallow_folder), num_labels=labels, device="cpu")  # of a random head: its scores mean nothing, but are real
    theirs.save_pretrained(str(tmp_path / "theirs"))
    ours, expected = CrossEncoder.from_folder(tmp_path / "theirs", cpu), theirs.predict(pairs, batch_size=BATCH)
    scores = ours.score(pairs)
    assert scores.shape == expected.shape and np.abs(scores - expected).max() < 1e-5
    assert np.abs(scores[:5] - ours.score([(b, a) for a, b in pairs[:5]])).max() > 1e-6  # the two sentences are told apart
    ours.save(tmp_path / "ours")
    assert np.abs(Theirs(str(tmp_path / "ours"), device="cpu").predict(pairs, batch_size=BATCH) - scores).max() < 1e-5


def test_the_last_layer_computes_no_token_but_the_first(pairs, model_folder, cpu):
    cross, widths = CrossEncoder.from_adapter(model_folder, CROSS_ENCODER, cpu), []
    for layer in cross.transformer.base_model.encoder.layer:
        layer.intermediate.register_forward_hook(lambda module, inputs, output: widths.append(output.shape[1]))
    cross.score(pairs[:1])
    assert widths[-1] == 1 < widths[0] == widths[-2]


@pytest.mark.parametrize("kind", [*sorted(FIRST_TOKEN), "distilbert"])
def test_the_logits_stay_the_same_in_every_kind_of_classifier(kind):
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50}
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(kind, **sizes)).eval()
    batch = {"input_ids": torch.arange(5, 19).view(2, 7), "attention_mask": torch.tensor([[1] * 7, [1] * 4 + [0] * 3])}
    with torch.inference_mode():
        expected = model(**batch).logits
        shorten_last_layer(model)
        torch.testing.assert_close(model(**batch).logits, expected)
    assert expected[0].sub(expected[1]).abs().max() > 1e-4


SIGMOID, IDENTITY = "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity"
CONFIGS = {
    "not named": {},
    "new key, sigmoid": {"sentence_transformers": {"activation_fn": SIGMOID, "version": "4.0.1"}},
    "new key, identity": {"sentence_transformers": {"activation_fn": IDENTITY}},
    "new key, short": {"sentence_transformers": {"activation_fn": "torch.nn.Identity"}},
    "new key, other content": {"sentence_transformers": {"version": "4.0.1"}},
    "old key, sigmoid": {"sbert_ce_default_activation_function": SIGMOID},
    "old key, identity": {"sbert_ce_default_activation_function": "torch.nn.Identity"},
    "old key, null": {"sbert_ce_default_activation_function": None},
    "not of torch": {"sbert_ce_default_activation_function": "somewhere.else.Identity"},
}


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_activation_is_that_of_the_config_in_both_spellings(cross_folder, tmp_path, pairs, labels, config, cpu):
    folder = cross_folder(tmp_path / "cross", labels, **config)
    ours, expected = CrossEncoder.from_folder(folder, cpu), Theirs(str(folder), device="cpu").predict(pairs[:12])
    scores = ours.score(pairs[:12])
    assert scores.shape == expected.shape and np.abs(scores - expected).max() < 1e-5
    assert (ours.bounds == (0, 1)) == (scores.min() >= 0 and scores.max() <= 1)  # its logits leave this range


@pytest.mark.parametrize(("labels", "activation"), [(1, torch.nn.Identity()), (3, torch.nn.Sigmoid())])
def test_the_activation_that_sentence_transformers_saves_beside_the_config_is_read_and_kept(
    cross_folder, tmp_path, pairs, labels, activation, cpu
):
    plain = str(cross_folder(tmp_path / "cross", labels))
    Theirs(plain, device="cpu", activation_fn=activation).save_pretrained(tmp_path / "theirs")
    ours = CrossEncoder.from_folder(tmp_path / "theirs", cpu)
    expected = Theirs(str(tmp_path / "theirs"), device="cpu").predict(pairs[:12])
    assert np.abs(ours.score(pairs[:12]) - expected).max() < 1e-5
    ours.save(tmp_path / "ours")
    assert np.abs(Theirs(str(tmp_path / "ours"), device="cpu").predict(pairs[:12]) - expected).max() < 1e-5
    assert np.abs(ours.cast(cpu).score(pairs[:12]) - expected).max() < 1e-5


@pytest.mark.parametrize("content", [[], "x", {"activation_fn": 7}, {"activation_fn": None}])
def test_an_activation_of_another_kind_is_left_out(cross_folder, tmp_path, content, cpu):
    folder = cross_folder(tmp_path / "cross", sentence_transformers=content)
    assert CrossEncoder.from_folder(folder, cpu).bounds == (0, 1)


def test_an_activation_that_is_not_computed_here_is_named(cross_folder, tmp_path, cpu):
    folder = cross_folder(tmp_path / "cross", sentence_transformers={"activation_fn": "torch.nn.modules.activation.Tanh"})
    with pytest.raises(UserError, match=r"'cross' ends in the activation 'Tanh'\. This app computes Sigmoid and Identity: choose"):
        CrossEncoder.from_folder(folder, cpu)
