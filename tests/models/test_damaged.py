"""Names that lead nowhere and model folders that rotted: a sentence each, and the rest stays usable."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from sbert_app.errors import UserError
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, NEW_POLY
from sbert_app.models.files.listing import DESIGNS
from sbert_app.models.registry import Registry

NAMES = [  # too long, of no file, of another type, of other places than the models', and of no model
    f"{DEFAULT_ENCODER}\n", "x" * 5_000, "x" * 300, "/".join(["x" * 300] * 3), f"runs/{'x' * 300}", "a\0b", "a\ud800b", ["a"], None,
    ".", "/", "~", "~nobody-of-this-name/x", "runs/../x", __file__, "runs/2026-01-01-abc\n", "org/none",
]  # fmt: skip
ROTTEN = [b"", b'{"architectures": ["Be', b"null", b"[]", b'"x"', b"\xff\xfe{}"]


@pytest.fixture
def whole(mine, model_folder):
    """The bundled folder under models/, beside a copy that a test damages."""
    (mine.parent / "whole").symlink_to(model_folder)


def refusal(call, *args):
    with pytest.raises(UserError) as error:
        call(*args)
    text = str(error.value)
    assert text.isprintable() and len(text) < 450 and "Traceback" not in text and text.endswith((".", "'", ")"))
    return text


@pytest.mark.parametrize("hosted", [False, True], ids=["local", "hosted"])
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_that_leads_nowhere_is_a_sentence_and_leaves_nothing_behind(registry, name, hosted):
    registry = Registry(replace(registry.settings, hosted=hosted))
    for call in (registry.encoder, registry.cross_encoder, registry.trainable):
        refusal(call, name)
    assert not registry._loading and not registry._loaded


def test_blanks_around_a_name_do_not_matter_and_a_blank_one_is_the_default(registry):
    assert registry.encoder("") is registry.encoder(f" {DEFAULT_ENCODER} ")


@pytest.mark.parametrize("content", ROTTEN)
def test_a_rotten_config_is_listed_as_damaged_and_named_when_it_is_loaded(registry, mine, whole, content):
    (mine / "config.json").write_bytes(content)
    kinds = {model.name: (model.kind, model.available) for model in registry.list()}
    assert kinds["mine"] == ("damaged", False) and kinds["whole"] == ("encoder", True)
    for call in (registry.encoder, registry.cross_encoder, registry.trainable):
        text = refusal(call, "mine")
        assert text.startswith("The model 'mine' is damaged (") and text.endswith("Delete its folder or save the model again.")
    assert not registry._loading and not registry._loaded


@pytest.mark.parametrize("name", ["config.json", "modules.json", "1_Pooling/config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_in_the_place_of_a_file_is_a_sentence(registry, mine, whole, name):
    (mine / name).unlink()
    (mine / name).mkdir()
    assert {model.name for model in registry.list()} >= {"mine", "whole"}
    refusal(registry.encoder, "mine")


LISTS = [b"", b"null", b"{}", b"[]", b"7", b'[{"path": 1}]', b'["a"]', b'[{"type": 1, "path": ""}]', b"\xff", b"[" * 100_000]
OF_A_FILE = {
    "modules.json": LISTS,
    "1_Pooling/config.json": [*LISTS, b'{"pooling_mode": 7}', b'{"pooling_mode": [[]]}'],
    "sentence_bert_config.json": [b"[]", b'{"max_seq_length": "many"}', b'{"max_seq_length": -3}'],
    "config_sentence_transformers.json": [b"null", b'{"prompts": [1]}', b'{"prompts": {"query": 7}}'],
    "tokenizer.json": [b"", b"null", b"{}", b"not json", b'{"version": "1.0", "model": {}}'],
}


@pytest.mark.parametrize(("name", "content"), [(name, content) for name, contents in OF_A_FILE.items() for content in contents])
def test_a_rotten_file_is_a_sentence(registry, mine, name, content):
    (mine / name).write_bytes(content)
    assert "'mine'" in refusal(registry.encoder, "mine")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("modules.json", "", "modules.json is missing"),
        ("model.safetensors", "", "'mine' has no weights: model.safetensors is missing"),
        ("modules.json", '[{"path": "", "type": "models.CNN"}]', "built from the modules CNN"),
        ("1_Pooling/config.json", '{"pooling_mode_weightedmean_tokens": true}', "pools by weightedmean_tokens. Must be one of"),
    ],
)
def test_what_is_lost_or_not_supported_is_named(registry, mine, file, content, message):
    (mine / file).unlink()
    if content:
        (mine / file).write_text(content)
    assert message in refusal(registry.encoder, "mine")


def test_rotten_weights_are_a_sentence(registry, mine):
    weights = (mine / "model.safetensors").read_bytes()
    flipped = bytearray(weights)
    flipped[0] ^= 0xFF
    for content in (b"", weights[:100], weights[: len(weights) // 2], bytes(flipped), b"null"):
        (mine / "model.safetensors").write_bytes(content)
        assert "'mine'" in refusal(registry.encoder, "mine")


def rewrite(folder, change):
    """Change the weights in a folder, a dict of tensors."""
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


LAYER = "encoder.layer.3.output.dense.weight"
WORDS = "embeddings.word_embeddings.weight"
UNFIT = {  # how the weights are changed, how the config, and what is said
    "not a number": (lambda weights: weights[LAYER][5].fill_(torch.nan), {}, f"{LAYER} contain NaN or infinite values"),
    "infinite": (lambda weights: weights[LAYER][5].fill_(torch.inf), {}, f"{LAYER} contain NaN or infinite values"),
    "missing": (lambda weights: weights.pop(LAYER), {}, f"1 weights are missing, such as {LAYER}"),
    "more layers than the config": (dict.copy, {"num_hidden_layers": 4}, "config.json has no place for 32 weights"),
    "the tokenizer of a larger model": (
        lambda weights: weights.update({WORDS: torch.zeros(30_000, 384)}), {"vocab_size": 30_000},
        "30,000 word vectors, its tokenizer 30,522 tokens",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", UNFIT)
def test_weights_that_do_not_fit_are_refused_and_not_replaced_by_random_ones(registry, mine, fault):
    change, config, message = UNFIT[fault]
    rewrite(mine, change)
    (mine / "config.json").write_text(json.dumps(json.loads((mine / "config.json").read_text()) | config))
    assert message in refusal(registry.encoder, "mine")


def test_a_missing_pooler_is_no_fault_of_an_encoder(registry, mine):
    before = registry.encoder().encode(["a sentence"])
    rewrite(mine, lambda weights: [weights.pop(key) for key in list(weights) if key.startswith("pooler")])
    assert np.array_equal(registry.encoder("mine").encode(["a sentence"]), before)


def test_a_cross_encoder_without_its_head_is_refused(registry):
    cross, folder = registry.cross_encoder(DEFAULT_CROSS_ENCODER), registry.settings.models / "cross"
    cross.save(folder)
    assert registry.cross_encoder("cross").labels == 1
    rewrite(folder, lambda weights: weights.pop("classifier.weight"))
    other = Registry(registry.settings)
    assert "such as classifier.weight" in refusal(other.cross_encoder, "cross")


@pytest.mark.parametrize("kind", ["missing", "a file", "unreadable"])
def test_the_list_survives_whatever_the_models_folder_is(registry, kind):
    models = registry.settings.models
    models.parent.mkdir(parents=True, exist_ok=True)
    if kind == "a file":
        models.write_text("not a folder")
    elif kind == "unreadable":
        if os.geteuid() == 0:
            pytest.skip("root reads everything")
        models.mkdir(mode=0)
    assert [model.name for model in registry.list()] == [DEFAULT_ENCODER, DEFAULT_CROSS_ENCODER, *DESIGNS, NEW_POLY]
    if kind == "unreadable":
        models.chmod(0o700)
