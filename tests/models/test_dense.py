"""Dense layers of a sentence-transformers folder: the same numbers there and here, also after saving."""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

from sbert_app.errors import UserError
from sbert_app.models.encoder import Encoder


@pytest.fixture(scope="module")
def oracle(model_folder):
    """The bundled transformer with two dense layers, as LaBSE has one, and a normalised output."""
    torch.manual_seed(0)
    transformer = SentenceTransformer(str(model_folder), device="cpu")[0]
    dense = Dense(384, 96), Dense(96, 64, bias=False, activation_function=torch.nn.Identity())
    return SentenceTransformer(modules=[transformer, Pooling(384, "mean"), *dense, Normalize()], device="cpu")


def test_a_folder_with_dense_layers_gives_the_same_embeddings(oracle, cpu, sentences, tmp_path):
    oracle.save(str(tmp_path / "theirs"))
    encoder = Encoder.from_folder(tmp_path / "theirs", cpu)
    expected = oracle.encode(sentences[:50])
    assert encoder.dim == 64 and np.abs(encoder.encode(sentences[:50]) - expected).max() < 1e-5
    encoder.save(tmp_path / "ours")
    again = SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    assert np.abs(again.encode(sentences[:50]) - expected).max() < 1e-5


def test_other_weights_or_activations_have_another_fingerprint(oracle, cpu, tmp_path):
    oracle.save(str(tmp_path))
    _, heavier, other = encoders = [Encoder.from_folder(tmp_path, cpu) for _ in range(3)]
    heavier.dense[0].linear.weight.data *= 1.5
    other.dense[0].activation = "torch.nn.modules.activation.ReLU"
    assert len({encoder.fingerprint for encoder in encoders}) == 3


def test_modules_in_another_order_are_refused(oracle, cpu, tmp_path):
    oracle.save(str(tmp_path / "m"))
    path = tmp_path / "m" / "modules.json"
    path.write_text(path.read_text().replace("Normalize", "-").replace("Pooling", "Normalize").replace("-", "Pooling"))
    with pytest.raises(UserError, match="in this order"):
        Encoder.from_folder(tmp_path / "m", cpu)
