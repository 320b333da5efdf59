"""Where models come from, and what is refused."""

import gc
import json
import pickle
import shutil
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.models import registry as module
from sbert_app.models.files import finding
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, NEW_POLY
from sbert_app.models.files.listing import DESIGNS
from sbert_app.models.registry import Registry


def test_default_encoder_is_loaded_once_and_listed(registry):
    assert registry.encoder() is registry.encoder(DEFAULT_ENCODER)
    assert [(m.name, m.kind, m.dim, m.available) for m in registry.list()] == [
        (DEFAULT_ENCODER, "encoder", 384, True),
        (DEFAULT_CROSS_ENCODER, "cross-encoder", None, True),
        *((name, "encoder", 512, True) for name in DESIGNS),
        (NEW_POLY, "poly-encoder", 384, True),
    ]
    assert [m.origin for m in registry.list()] == ["bundled", "bundled", "untrained", "untrained", "untrained"]


def test_the_bundled_cross_encoder_scores_pairs_and_is_small(registry):
    assert not registry.loaded("cross-encoder", DEFAULT_CROSS_ENCODER) and registry.rerankers() == []
    cross = registry.cross_encoder(DEFAULT_CROSS_ENCODER)
    assert registry.loaded("cross-encoder", DEFAULT_CROSS_ENCODER)
    assert (cross.trained_for, cross.bounds, cross.labels) == ("likeness", (0, 1), 1)
    guitar = "A man is playing a guitar."
    close, far, same = cross.score([(guitar, "Someone plays the guitar."), (guitar, "The stock market fell."), (guitar, guitar)])
    assert 0 <= far < 0.1 < 0.5 < close < same and 0.9 < same <= 1
    assert sum(path.stat().st_size for path in finding.CROSS_ENCODER.iterdir()) <= 5e6
    config = json.loads((finding.CROSS_ENCODER / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "sentence-transformers/all-MiniLM-L6-v2"


def test_after_a_load_that_failed_the_next_ones_take_turns(registry, monkeypatch):
    inside, most = [], []
    entered, leave = threading.Semaphore(0), threading.Semaphore(0)

    def load(*_):
        inside.append(1)
        most.append(len(inside))
        entered.release()
        leave.acquire(timeout=20)
        inside.pop()
        if len(most) == 1:
            raise UserError("no disk")
        return object()

    monkeypatch.setattr(registry, "_load", load)
    with ThreadPoolExecutor(3) as pool:
        failing = pool.submit(registry.encoder)
        entered.acquire(timeout=20)
        pool.submit(registry.encoder)  # waits for the first
        time.sleep(0.3)
        leave.release()
        entered.acquire(timeout=20)  # the second loads
        pool.submit(registry.encoder)
        entered.acquire(timeout=0.5)  # the third must not
        leave.release(2)
    assert isinstance(failing.exception(), UserError) and max(most) == 1 and len(registry._loading) == 0


def test_a_model_that_is_dropped_is_freed_at_once(registry, monkeypatch):
    monkeypatch.setattr(module, "LOADED_MODELS", 1)
    freed = weakref.ref(registry.encoder().transformer)
    registry.cross_encoder(DEFAULT_CROSS_ENCODER)
    assert freed() is None


def test_the_networks_that_the_app_starts_with_need_no_collector_to_be_freed(registry):
    """`warm_up` keeps them from it, once it has collected what loading left."""
    models = registry.encoder(), registry.cross_encoder(DEFAULT_CROSS_ENCODER)
    models[0].encode(["one"])
    models[1].score([("one", "two")])
    gc.collect()
    gc.disable()
    try:
        for model in models:
            freed = weakref.ref(model.transformer)
            model.release()
            assert freed() is None
    finally:
        gc.enable()


def test_a_trainable_copy_is_fp32_and_its_own(registry):
    bf16 = Registry(replace(registry.settings, precision="bf16"))
    copy, shared = bf16.trainable(), bf16.encoder()
    assert copy.hardware.precision == "fp32" and shared.hardware.precision == "bf16"
    assert copy is not bf16.trainable() and copy.transformer is not shared.transformer


def test_bundled_weights_are_checked(registry, monkeypatch):
    monkeypatch.setattr(finding, "BUNDLED_SHA256", "0" * 64)
    with pytest.raises(UserError, match="differ from the official file"):
        registry.encoder()


def test_saved_models_are_found_by_name_and_by_folder(registry, mine):
    assert registry.encoder("mine").dim == 384
    assert registry.encoder(str(mine)).name == str(mine)
    shutil.copytree(mine, mine.parent / ".0a1b2c")  # half written
    assert [(m.name, m.kind) for m in registry.list() if m.origin == "saved"] == [("mine", "encoder")]


def test_a_slow_model_keeps_nobody_from_another(registry, mine, monkeypatch):
    registry.encoder()
    started, go_on = threading.Event(), threading.Event()
    load = module.Encoder.from_folder

    def slow(*args):
        started.set()
        assert go_on.wait(20)
        return load(*args)

    monkeypatch.setattr(module.Encoder, "from_folder", slow)
    with ThreadPoolExecutor() as pool:
        slowly = pool.submit(registry.encoder, "mine")
        assert started.wait(20)
        assert registry.encoder().name == DEFAULT_ENCODER  # answers while the other still loads
        go_on.set()
    assert slowly.result().name == "mine"


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("encoder", "org/none", r"'org/none' is not on this machine and the Hub cannot be reached\. Connect"),
        ("encoder", "./nowhere", "There is no model folder at './nowhere'"),
        ("encoder", DEFAULT_CROSS_ENCODER, "is of kind cross-encoder; this needs a model of kind encoder"),
        ("cross_encoder", DEFAULT_ENCODER, "is of kind encoder; this needs a model of kind cross-encoder"),
        ("encoder", NEW_POLY, "is of kind poly-encoder; this needs a model of kind encoder"),
        ("cross_encoder", "new/infersent", "'new/infersent' is of kind encoder; this needs a model of kind cross-encoder"),
    ],
)
def test_a_name_of_no_such_model_says_what_to_do(registry, kind, name, message):
    with pytest.raises(UserError, match=message):
        getattr(registry, kind)(name)


def test_a_pickle_is_refused_and_never_opened(registry, mine, tmp_path):
    (mine / "model.safetensors").unlink()

    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    (mine / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(UserError, match=r"as a pickle \(pytorch_model.bin\), which can run code"):
        registry.encoder("mine")
    assert not (tmp_path / "exploded").exists()


def test_a_folder_without_a_model_is_a_sentence_and_listed_as_damaged(registry):
    empty = registry.settings.models / "empty"
    empty.mkdir(parents=True)
    (empty / "notes.txt").write_text("nothing")
    sentence = r"The folder 'empty' holds no model: it has neither config.json nor modules.json\. Choose"
    for call in (registry.encoder, registry.cross_encoder, registry.pair_scorer, registry.kind):
        with pytest.raises(UserError, match=sentence):
            call("empty")
    assert [(info.kind, info.available) for info in registry.list() if info.name == "empty"] == [("damaged", False)]


def test_cross_encoders_are_listed_with_labels_and_what_they_were_trained_for(registry, cross_folder):
    models = registry.settings.models
    models.mkdir(parents=True)
    for name, labels, card in [
        ("ms-marco-small", 1, ""), ("stsb-small", 1, ""), ("of-no-name", 1, ""), ("nli-small", 3, ""), ("passages", 3, ""),
        ("judge", 1, "---\ntags: [text-ranking]\n---\n"),
    ]:  # fmt: skip
        cross_folder(models / name, labels, card)
    saved = {info.name: (info.kind, info.trained_for, info.labels) for info in registry.list() if info.origin == "saved"}
    assert saved == {
        "ms-marco-small": ("cross-encoder", "answers", 1), "stsb-small": ("cross-encoder", "likeness", 1),
        "of-no-name": ("cross-encoder", "", 1), "nli-small": ("cross-encoder", "likeness", 3), "passages": ("cross-encoder", "", 3),
        "judge": ("cross-encoder", "answers", 1),
    }  # fmt: skip
    known = {info.name: info.trained_for for info in registry.list() if info.origin == "bundled"}
    assert known == {DEFAULT_ENCODER: "", DEFAULT_CROSS_ENCODER: "likeness"}
    assert registry.rerankers() == ["judge", "ms-marco-small", "of-no-name"]
    one_score = [info.name for info in registry.pair_scorers()]
    assert one_score == [DEFAULT_CROSS_ENCODER, "judge", "ms-marco-small", "of-no-name", "stsb-small"]


def test_an_allowed_cross_encoder_is_listed_as_one_by_its_name_or_its_copy_here(registry, cross_folder, monkeypatch, tmp_path):
    known = ("cross-encoder/ms-marco-tiny", "org/judge", "org/encoder")
    hosted = Registry(replace(registry.settings, hosted=True, allowed_models=known))
    assert hosted.rerankers() == [known[0]] and list(hosted.encoders()) == [DEFAULT_ENCODER, *known[1:]]
    copy = cross_folder(tmp_path / "copy", 1, "---\ntags: [text-ranking]\n---\n")
    monkeypatch.setattr("sbert_app.models.files.finding.local_copy", {"org/judge": copy}.get)
    assert hosted.rerankers() == [*known[:2]] and list(hosted.encoders()) == [DEFAULT_ENCODER, known[2]]
    with pytest.raises(UserError, match="Unknown model .* Must be one of"):
        hosted.cross_encoder(str(copy))


def test_hosted_mode_takes_allowed_names_only(registry, mine):
    hosted = Registry(replace(registry.settings, hosted=True, allowed_models=("org/allowed",)))
    assert [m.name for m in hosted.list()] == [DEFAULT_ENCODER, DEFAULT_CROSS_ENCODER, "org/allowed", *DESIGNS, NEW_POLY]
    for name in ("mine", str(mine), "org/other", "../models/mine"):
        with pytest.raises(UserError, match="Unknown model .* Must be one of all-MiniLM-L6-v2, cross-MiniLM-L6-stsb, org/allowed"):
            hosted.encoder(name)
    with pytest.raises(UserError, match="Hub cannot be reached"):
        hosted.encoder("org/allowed")
