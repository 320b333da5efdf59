"""The encoder against sentence-transformers, on real sentences and on odd ones."""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import forward_batches
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.models.files.layout import Layout
from sbert_app.vectors import unit_rows

FP32 = Hardware(torch.device("cpu"), torch.float32)
ODD = [
    "", " ", "\n\t", "a", "😀😀 emoji 🧑‍💻", "مرحبا بالعالم", "word " * 2_000, "x" * 5_000,
    "[SEP] [CLS] [MASK]", "Ünïcödé – „quotes“",
]  # fmt: skip


@pytest.fixture(scope="module")
def oracle(model_folder):
    return SentenceTransformer(str(model_folder), device="cpu")


def test_fp32_embeddings_equal_sentence_transformers(encoder, oracle, sentences):
    texts = [*sentences[::3], *ODD]
    assert np.abs(encoder.encode(texts) - oracle.encode(texts, batch_size=4)).max() <= 1e-5  # they pad
    assert encoder.encode([]).shape == (0, 384)


def test_padding_and_order_do_not_matter(encoder, sentences):
    few = sentences[:40]
    alone = np.vstack([encoder.encode([sentence]) for sentence in few])
    assert np.abs(encoder.encode(few) - alone).max() < 1e-5
    assert np.abs(encoder.encode(few[::-1])[::-1] - alone).max() < 1e-5


def test_identical_sentences_are_computed_once(encoder, monkeypatch):
    computed = []

    def count(features):
        computed.append(len(features["input_ids"]))
        return Encoder._start(encoder, features)

    monkeypatch.setattr(encoder, "_start", count)
    embeddings = encoder.encode(["same", "other", "same", "same"])
    assert sum(computed) == 2
    assert (embeddings[0] == embeddings[[2, 3]]).all() and not (embeddings[0] == embeddings[1]).all()


def test_stream_gives_each_row_once_across_windows_and_can_be_stopped(encoder, sentences, monkeypatch):
    monkeypatch.setattr("sbert_app.models.encoder.WINDOW", 64)
    texts = sentences[:150] + sentences[:50]
    rows = np.concatenate([rows for rows, _ in encoder.stream(texts)])
    assert sorted(rows.tolist()) == list(range(200))
    stream = encoder.stream(texts)
    next(stream)
    stream.close()
    assert next(stream, None) is None


def test_out_of_memory_halves_the_batch_and_goes_on_until_it_is_a_single_row(encoder, sentences, monkeypatch):
    expected, most = encoder.encode(sentences[:30]), 3

    def small_memory(features):
        if len(features["input_ids"]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return Encoder._start(encoder, features)

    monkeypatch.setattr(encoder, "_start", small_memory)
    assert np.abs(encoder.encode(sentences[:30]) - expected).max() < 1e-5
    most = 0
    with pytest.raises(torch.OutOfMemoryError):
        encoder.encode(sentences[:2])


@pytest.mark.parametrize("ahead", [0, 2])
def test_batches_are_started_ahead_and_each_row_comes_once(ahead):
    started = []

    def pad(rows):
        started.append(len(rows))
        return {"rows": torch.from_numpy(rows)}

    batches = forward_batches(np.split(np.arange(10), 5), pad, lambda features: lambda: features["rows"], lambda: ahead)
    first = next(batches)
    assert len(started) == ahead + 1
    found = [first, *batches]
    assert all((rows == outputs).all() for rows, outputs in found)
    assert sorted(row for rows, _ in found for row in rows.tolist()) == list(range(10))


def test_saved_folder_gives_the_same_embeddings_here_and_in_sentence_transformers(encoder, sentences, tmp_path):
    encoder.save(tmp_path / "saved")
    texts = sentences[:50]
    expected = encoder.encode(texts)
    there = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(texts)
    here = Encoder.from_folder(tmp_path / "saved", FP32).encode(texts)
    card = (tmp_path / "saved" / "README.md").read_text()
    assert "library_name: sentence-transformers" in card and "| base model | all-MiniLM-L6-v2 |" in card
    assert np.abs(there - expected).max() < 1e-5
    assert np.abs(here - expected).max() < 1e-5


@pytest.mark.parametrize("mode", ["mean", "max", "cls"])
def test_folders_saved_by_sentence_transformers_load_here_with_every_pooling(oracle, mode, sentences, tmp_path):
    theirs = SentenceTransformer(modules=[oracle[0], Pooling(384, pooling_mode=mode)], device="cpu")
    theirs.save(str(tmp_path))
    ours = Encoder.from_folder(tmp_path, FP32)
    assert ours.layout.pooling == mode and not ours.layout.normalize
    assert np.abs(ours.encode(sentences[:20]) - theirs.encode(sentences[:20])).max() < 1e-4


def test_a_plain_transformers_folder_gets_mean_pooling_and_a_note(oracle, tmp_path, sentences):
    oracle[0].auto_model.save_pretrained(tmp_path)
    oracle.tokenizer.save_pretrained(tmp_path)
    plain = Encoder.from_folder(tmp_path, FP32)
    assert "mean pooling was added" in plain.note
    # The bundled model is mean pooling and normalising around that same transformer.
    assert np.abs(unit_rows(plain.encode(sentences[:20])) - oracle.encode(sentences[:20])).max() < 1e-5


def test_prompts_go_before_the_text(encoder):
    layout = Layout(normalize=True, max_length=256, prompts={"query": "query: "})
    asking = Encoder("p", encoder.transformer, encoder.tokenizer, layout, FP32)
    assert asking.prompt("query") == "query: " and asking.prompt("document") == ""
    assert np.abs(asking.encode(["cats"], asking.prompt("query")) - encoder.encode(["query: cats"])).max() < 1e-6


def test_token_vectors_name_words_and_pool_to_the_embedding(encoder):
    tokens = encoder.token_vectors(["Unfathomably café", "short"])[0]
    assert tokens.words == ["[CLS]", "Unfathomably", "café", "[SEP]"]
    assert len(tokens.word) == len(tokens.vectors) > 4  # several tokens make one word
    assert np.abs(unit_rows(encoder.pool(tokens, "mean")[None]) - encoder.encode(["Unfathomably café"])).max() < 1e-5
    assert not tokens.truncated and encoder.token_vectors(["word " * 400])[0].truncated


def test_fingerprint_tells_layouts_and_precisions_apart(encoder, model_folder):
    same = Encoder.from_folder(model_folder, FP32)
    rounded = Encoder.from_folder(model_folder, choose_hardware("cpu", "bf16"))
    pooled = Encoder("x", encoder.transformer, encoder.tokenizer, Layout(pooling="max", max_length=256), FP32)
    assert same.fingerprint == encoder.fingerprint
    assert len({encoder.fingerprint, rounded.fingerprint, pooled.fingerprint}) == 3
