"""The bundled encoder without transformers is the one that transformers computes, bit by bit."""

import numpy as np
import pytest

from sbert_app.models.bundled import bundled_encoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import LONGEST
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import DEFAULT_ENCODER


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_equals_transformers(model_folder, sentences, precision):
    hardware = choose_hardware("cpu", precision)
    own, theirs = (load(model_folder, hardware, DEFAULT_ENCODER) for load in (bundled_encoder, Encoder.from_folder))
    many = " ".join(sentences)
    texts = [*sentences[:40], "", "one", "naïve 你好 [MASK] [PAD]", many[:800], many]
    ids = own.tokenize(texts)
    assert ids == theirs.tokenize(texts) and LONGEST < sorted(map(len, ids))[-2] < len(ids[-1]) == theirs.max_length
    np.testing.assert_array_equal(own.encode(texts), theirs.encode(texts))
    assert own.fingerprint == theirs.fingerprint and own.layout == theirs.layout
    assert [t.words for t in own.token_vectors(texts[:3])] == [t.words for t in theirs.token_vectors(texts[:3])]
    assert sorted(own.tokenizer.all_special_ids) == sorted(theirs.tokenizer.all_special_ids)
    first, second = (encoder.transformer.get_input_embeddings().weight for encoder in (own, theirs))
    np.testing.assert_array_equal(first.float(), second.detach().float())
