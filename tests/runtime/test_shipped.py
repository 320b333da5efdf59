"""The embeddings that come with the app: of all its sentences, as the encoder gives them, and never deleted."""

import shutil

import numpy as np
import pytest

from sbert_app.corpus.cache import SHIPPED, EmbeddingCache
from sbert_app.corpus.growing import StaticVectors, shipped_words
from sbert_app.corpus.ranking.lexical import LexicalIndex
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from sbert_app.vectors import unit_rows
from tests.shipped import shipped_sentences


@pytest.mark.parametrize("hosted", [False, True])
def test_what_the_first_page_shows_needs_no_encoding(tmp_path, hosted):
    bench = Workbench(Settings(home=tmp_path, device="cpu", precision="fp32", hosted=hosted))
    job = bench.embedder.job(bench.registry.encoder(DEFAULT_ENCODER), [*shipped_sentences(), "not among them"])
    assert job.cached == len(job.embeddings) - 1, "run `make shipped`"


def test_shipped_embeddings_are_those_of_the_encoder(encoder):
    sentences = shipped_sentences()[::20]
    shipped, known = EmbeddingCache(None).lookup(encoder.fingerprint, sentences, encoder.dim)
    assert known.all(), "run `make shipped`"
    np.testing.assert_allclose(shipped, encoder.encode(sentences), atol=2e-6)


def test_shipped_words_point_where_the_encoder_does_and_are_not_encoded_again(encoder):
    shipped = shipped_words()
    words = ["price", "letter", "garden"]
    directions = unit_rows(np.array([shipped[word] for word in words], dtype=np.float32))
    assert (np.einsum("nd,nd->n", directions, unit_rows(encoder.encode(words))) > 0.9998).all(), "run `make shipped`"
    lexical = LexicalIndex.build(["the price of a letter", "a zzyzx in the garden", "one more letter"])
    static, own = StaticVectors(lexical, shipped=True), StaticVectors(lexical)
    assert static.words == ["zzyzx"] and set(own.words) >= {*words, "zzyzx"}
    for each in (static, own):
        each.place(encoder.encode(each.words))
    np.testing.assert_allclose(static.rows, own.rows, atol=0.03)


def test_a_damaged_shipped_segment_is_neither_used_nor_deleted(tmp_path, encoder):
    copied = shutil.copytree(SHIPPED, tmp_path / "shipped")
    vectors = next(copied.rglob("vectors.npy"))
    vectors.write_bytes(vectors.read_bytes()[:-1])
    _, known = EmbeddingCache(tmp_path / "own", shipped=copied).lookup(encoder.fingerprint, shipped_sentences()[:5], encoder.dim)
    assert not known.any() and vectors.exists()
