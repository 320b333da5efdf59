"""Models loaded at once in several threads are the models that were asked for, and what loads wrongly is not kept."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from sbert_app.errors import UserError
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.models.loading import LOADING, cast
from sbert_app.models.registry import Registry
from sbert_app.settings import Settings
from tests.attacks.loading import COUPLES, alone, double_load, faults, fresh_process


@pytest.fixture
def registry(tmp_path):
    return Registry(Settings(home=tmp_path, device="cpu", precision="bf16"))


def test_two_models_loaded_at_once_are_both_right(tmp_path):
    expected = alone(tmp_path)
    assert [text for couple in COUPLES for text in faults(couple, double_load(couple, tmp_path), expected)] == []


@pytest.mark.parametrize("couple", [("encoder", "copy"), ("encoder", "cross")], ids="+".join)
def test_two_models_are_the_first_thing_a_process_loads(couple):
    assert fresh_process(couple) == []


def test_other_threads_keep_their_number_type_while_a_model_loads(registry):
    """A softmax head that a training makes while the page loads its bf16 encoder is fp32."""
    folder = registry.folder(DEFAULT_ENCODER)
    Encoder.from_folder(folder, registry.hardware)

    def load():
        for _ in range(5):
            Encoder.from_folder(folder, registry.hardware)

    types = set()
    with ThreadPoolExecutor() as pool:
        loading = pool.submit(load)
        while not loading.done():
            types.add(torch.zeros(1).dtype)
    assert types == {torch.float32}


def test_the_lock_may_be_taken_again_by_its_thread_and_waits_for_no_download(registry, monkeypatch):
    def download(name, **_):
        free = threading.Thread(target=lambda: taken.append(LOADING.acquire(blocking=False)) or LOADING.release())
        free.start()
        free.join()
        raise OSError("offline")

    taken = []
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(UserError, match="the Hub cannot be reached"):
        registry.encoder("org/none")
    assert taken == [True, True]
    with LOADING, LOADING:
        assert registry.encoder().dim == 384


def test_a_model_that_fails_its_first_batch_is_not_kept(registry, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "_finish", lambda self, tokens, features: torch.full((1, self.dim), torch.nan))
        with pytest.raises(UserError, match=rf"'{DEFAULT_ENCODER}' returns NaN or infinity"):
            registry.encoder()
        with pytest.raises(UserError, match="returns NaN or infinity"):
            registry.trainable()
    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "_hidden", lambda self, features: (_ for _ in ()).throw(RuntimeError("expect type of Float")))
        with pytest.raises(UserError, match="fails on a test sentence: expect type of Float"):
            registry.encoder()
    assert not registry._loaded and not registry._loading
    assert registry.encoder().encode(["a"]).shape == (1, 384)


def test_a_number_type_that_is_not_the_wanted_one_is_an_error_but_of_what_is_never_saved(model_folder):
    model = Encoder.from_folder(model_folder, choose_hardware("cpu", "fp32")).transformer
    cast(model, torch.bfloat16)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}

    class Stubborn(torch.nn.Linear):
        def state_dict(self, **_):
            return {}

    with pytest.raises(RuntimeError, match="expected torch.bfloat16"):
        cast(Stubborn(2, 2), torch.bfloat16)
    module = torch.nn.Linear(2, 2)
    module.register_buffer("angles", torch.tensor([0.1]), persistent=False)
    cast(module, torch.bfloat16)
    assert module.angles.dtype == torch.float32 and module.weight.dtype == torch.bfloat16
