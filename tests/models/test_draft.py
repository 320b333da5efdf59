"""Drafts in int8: really quantised, once; close to their model, never mixed with it, never in its place."""

import shutil
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from sbert_app.corpus.hits import Indexing
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.job import index, index_again
from sbert_app.jobs.corpus.opening import other_index, read_lines
from sbert_app.models import acceleration, converted
from sbert_app.models.converted import NETWORK, example_sentences, network
from sbert_app.models.encoder import Encoder
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, Registry
from sbert_app.runtime.workbench import open_workbench
from sbert_app.settings import Settings
from sbert_app.timing.experiment import cross_encoder_like, on_each_device
from sbert_app.ui.corpus import view
from sbert_app.vectors import unit_rows

DRAFT = f"draft/{DEFAULT_ENCODER}"

needs_nncf = pytest.mark.skipif(find_spec("nncf") is None, reason="needs nncf, which makes drafts")


@pytest.fixture(scope="module")
def made(tmp_path_factory, model_folder) -> Path:
    """A data home's folder of networks with the bundled model's draft."""
    home = tmp_path_factory.mktemp("openvino")
    network("draft", (model_folder,), home, threading.Event())
    assert len(list(home.glob(f"*/{NETWORK}"))) == 1
    return home


@pytest.fixture
def settings(made, tmp_path) -> Settings:
    settings = Settings(home=tmp_path / "home", device="cpu", precision="fp32", engine="auto")
    shutil.copytree(made, settings.cache / "openvino")
    return settings


@pytest.fixture
def registry(settings) -> Registry:
    return Registry(settings, converts=False)


@needs_nncf
def test_a_draft_is_close_to_its_model_and_says_what_it_is(registry, made, encoder, sentences):
    drafted = registry.encoder(DRAFT)
    assert drafted.runs_on == "CPU, int8, OpenVINO" and drafted.note.startswith("A draft in int8")
    cosines = (unit_rows(drafted.encode(sentences[:200])) * unit_rows(encoder.encode(sentences[:200]))).sum(1)
    assert 0.9 < cosines.min() < 0.999 and 0.99 < cosines.mean() < 0.9999
    weights = next(made.glob("*/*.bin"))
    assert weights.stat().st_size < 25_000_000


@needs_nncf
def test_its_embeddings_never_mix_with_those_of_the_model(registry, made, model_folder, cpu):
    drafted, full = registry.encoder(DRAFT), registry.encoder()
    assert drafted.fingerprint != full.fingerprint == Encoder.from_folder(model_folder, cpu).fingerprint
    with pytest.raises(UserError, match="has changed since"):
        registry.encoder_of(DRAFT, full.fingerprint)
    remade = Encoder.from_folder(model_folder, cpu, DRAFT)
    converted.run_as_draft(remade, model_folder, made, threading.Event())
    assert remade.fingerprint == drafted.fingerprint
    del remade.fingerprint
    remade.network_seal = "of another network"
    assert remade.fingerprint not in (drafted.fingerprint, full.fingerprint)


@needs_nncf
def test_a_draft_is_not_trained_saved_or_timed(registry, tmp_path):
    drafted = registry.encoder(DRAFT)
    with pytest.raises(UserError, match=f"not for training: choose '{DEFAULT_ENCODER}' itself"):
        registry.trainable(DRAFT)
    for timed in (lambda: cross_encoder_like(registry, drafted), lambda: list(on_each_device(registry, DRAFT))):
        with pytest.raises(UserError, match="not for timing"):
            timed()
    with pytest.raises(ValueError, match="int8"):
        drafted.save(tmp_path / "saved")


def test_without_nncf_a_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    for module in (acceleration, converted):
        monkeypatch.setattr(module, "find_spec", lambda name: None if name == "nncf" else object())
    registry = Registry(Settings(home=tmp_path, device="cpu", engine="auto"))
    assert DRAFT not in registry.encoders()
    with pytest.raises(UserError, match="pip install nncf"):
        registry.encoder(DRAFT)
    assert registry.encoder().fingerprint


def test_drafts_are_of_encoders_on_openvino_only(tmp_path):
    with pytest.raises(UserError, match="needs a model of kind encoder"):
        Registry(Settings(home=tmp_path, device="cpu", engine="auto")).encoder(f"draft/{DEFAULT_CROSS_ENCODER}")
    with pytest.raises(UserError, match="needs a model of kind cross-encoder"):
        Registry(Settings(home=tmp_path, device="cpu", engine="auto")).cross_encoder(f"draft/{DEFAULT_CROSS_ENCODER}")
    with pytest.raises(UserError, match="not in use here"):
        Registry(Settings(home=tmp_path, device="cpu", engine="torch")).encoder(DRAFT)


@pytest.mark.parametrize("gains", [True, False])
def test_offered_only_where_it_is_faster(tmp_path, monkeypatch, gains):
    monkeypatch.setattr(acceleration, "has_int8_instructions", lambda: gains)
    monkeypatch.setattr(acceleration, "find_spec", lambda name: object())
    names = Registry(Settings(home=tmp_path, device="cpu", engine="auto")).encoders()
    assert (DRAFT in names) == gains and names[0] == DEFAULT_ENCODER


@needs_nncf
def test_where_it_is_not_faster_it_says_so(registry, monkeypatch):
    monkeypatch.setattr(converted, "has_int8_instructions", lambda: False)
    assert "not faster" in registry.encoder(DRAFT).note


@needs_nncf
def test_an_indexed_corpus_names_the_loss_on_its_own_sentences(settings, sentences):
    bench = open_workbench(settings, converts=False)
    session = bench.sessions.open("")
    session.put(read_lines("\n".join(sentences[:60]), bench.settings.limits))
    indexed = list(index(bench, session, ["text"]))[-1]
    assert indexed.notes == () and other_index(bench, session, DEFAULT_ENCODER) is None
    offered = view.stale(other_index(bench, session, DRAFT))
    again = list(index_again(bench, session, DRAFT))[-1]
    reopened = list(index_again(bench, session, DRAFT))[-1]
    (loss,) = again.notes
    assert loss.startswith("Draft in int8, measured on 60 sentences: cosine to the full model 0.9")
    assert loss in offered and loss in reopened.notes and loss in view.card(again.result, session.get(Indexing))
    assert "(draft)" in view.card(again.result, session.get(Indexing)) and again.result.fingerprint != indexed.result.fingerprint


def test_the_calibration_sentences_are_always_the_same():
    sentences = example_sentences()
    assert len(set(sentences)) == len(sentences) == 300 and sentences == example_sentences()
