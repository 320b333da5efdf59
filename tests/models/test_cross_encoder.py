import numpy as np
import pytest
from sentence_transformers import CrossEncoder as Theirs

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.hardware import choose_hardware

FP32 = choose_hardware("cpu", "fp32")


@pytest.fixture(scope="module", params=[1, 3], ids=["one label", "three labels"])
def saved(request, model_folder, tmp_path_factory):
    """The bundled backbone with a seeded head, saved by sentence-transformers: its scores mean nothing, but are real."""
    import torch

    torch.manual_seed(0)
    theirs = Theirs(str(model_folder), num_labels=request.param, device="cpu")
    folder = tmp_path_factory.mktemp("cross")
    theirs.save_pretrained(str(folder))
    return theirs, folder


@pytest.fixture(scope="module")
def pairs(sentences):
    return [*zip(sentences[:30], sentences[30:60], strict=True), ("", "blank"), ("long " * 600, "short")]


def test_scores_equal_sentence_transformers(saved, pairs):
    theirs, folder = saved
    ours = CrossEncoder.from_folder(folder, FP32).score(pairs)
    expected = theirs.predict(pairs)
    assert ours.shape == expected.shape
    assert np.abs(ours - expected).max() < 1e-5


def test_the_two_sentences_are_told_apart(saved, pairs):
    ours = CrossEncoder.from_folder(saved[1], FP32)
    assert np.abs(ours.score(pairs[:5]) - ours.score([(b, a) for a, b in pairs[:5]])).max() > 1e-6


def test_saved_folder_loads_in_sentence_transformers(saved, pairs, tmp_path):
    ours = CrossEncoder.from_folder(saved[1], FP32)
    ours.save(tmp_path)
    assert np.abs(Theirs(str(tmp_path), device="cpu").predict(pairs) - ours.score(pairs)).max() < 1e-5
