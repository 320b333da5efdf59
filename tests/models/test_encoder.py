"""The encoder against sentence-transformers and transformers, on real sentences and on odd ones."""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

from sbert_app.errors import UserError
from sbert_app.models.bundled import bundled_encoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import LONGEST, forward_batches
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.models.files.layout import Layout
from sbert_app.vectors import unit_rows

ODD = [
    "", " ", "\n\t", "a", "😀😀 emoji 🧑‍💻", "مرحبا بالعالم", "word " * 2_000, "x" * 5_000,
    "[SEP] [CLS] [MASK]", "Ünïcödé – „quotes“",
]  # fmt: skip


@pytest.fixture(scope="module")
def oracle(model_folder):
    return SentenceTransformer(str(model_folder), device="cpu")


def test_fp32_embeddings_equal_sentence_transformers(encoder, oracle, sentences):
    texts = [*sentences[::12], *ODD]
    assert np.abs(encoder.encode(texts) - oracle.encode(texts, batch_size=4)).max() <= 1e-5  # they pad
    assert encoder.encode([]).shape == (0, 384)


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
    monkeypatch.setattr("sbert_app.models.encoder.WINDOW", 16)
    texts = sentences[:40] + sentences[:10]
    rows = np.concatenate([rows for rows, _ in encoder.stream(texts)])
    assert sorted(rows.tolist()) == list(range(50))
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


def test_saved_folder_gives_the_same_embeddings_here_and_in_sentence_transformers(encoder, sentences, tmp_path, cpu):
    encoder.save(tmp_path / "saved")
    texts = sentences[:50]
    expected = encoder.encode(texts)
    there = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(texts)
    here = Encoder.from_folder(tmp_path / "saved", cpu).encode(texts)
    card = (tmp_path / "saved" / "README.md").read_text()
    assert "library_name: sentence-transformers" in card and "| base model | all-MiniLM-L6-v2 |" in card
    assert np.abs(there - expected).max() < 1e-5
    assert np.abs(here - expected).max() < 1e-5


@pytest.mark.parametrize("mode", ["mean", "max", "cls"])
def test_folders_saved_by_sentence_transformers_load_here_with_every_pooling(oracle, mode, sentences, tmp_path, cpu):
    theirs = SentenceTransformer(modules=[oracle[0], Pooling(384, pooling_mode=mode)], device="cpu")
    theirs.save(str(tmp_path))
    ours = Encoder.from_folder(tmp_path, cpu)
    assert ours.layout.pooling == mode and not ours.layout.normalize
    assert np.abs(ours.encode(sentences[:20]) - theirs.encode(sentences[:20])).max() < 1e-4


def test_a_plain_transformers_folder_gets_mean_pooling_and_a_note(oracle, tmp_path, sentences, cpu):
    oracle[0].auto_model.save_pretrained(tmp_path)
    oracle.tokenizer.save_pretrained(tmp_path)
    plain = Encoder.from_folder(tmp_path, cpu)
    assert "mean pooling was added" in plain.note
    # The bundled model is mean pooling and normalising around that same transformer.
    assert np.abs(unit_rows(plain.encode(sentences[:20])) - oracle.encode(sentences[:20])).max() < 1e-5


def test_prompts_go_before_the_text(encoder, cpu):
    layout = Layout(normalize=True, max_length=256, prompts={"query": "query: "})
    asking = Encoder("p", encoder.transformer, encoder.tokenizer, layout, cpu)
    assert asking.prompt("query") == "query: " and asking.prompt("document") == ""
    assert np.abs(asking.encode(["cats"], asking.prompt("query")) - encoder.encode(["query: cats"])).max() < 1e-6


def test_token_vectors_name_words_and_pool_to_the_embedding(encoder):
    tokens = encoder.token_vectors(["Unfathomably café", "short"])[0]
    assert tokens.words == ["[CLS]", "Unfathomably", "café", "[SEP]"]
    assert len(tokens.word) == len(tokens.vectors) > 4  # several tokens make one word
    assert np.abs(unit_rows(encoder.pool(tokens.vectors, "mean")[None]) - encoder.encode(["Unfathomably café"])).max() < 1e-5
    assert not tokens.truncated and encoder.token_vectors(["word " * 400])[0].truncated


def test_fingerprint_tells_layouts_and_precisions_apart(encoder, model_folder, cpu):
    same = Encoder.from_folder(model_folder, cpu)
    rounded = Encoder.from_folder(model_folder, choose_hardware("cpu", "bf16"))
    pooled = Encoder("x", encoder.transformer, encoder.tokenizer, Layout(pooling="max", max_length=256), cpu)
    assert same.fingerprint == encoder.fingerprint
    assert len({encoder.fingerprint, rounded.fingerprint, pooled.fingerprint}) == 3


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_bundled_encoder_is_bit_by_bit_the_one_that_transformers_computes(model_folder, sentences, precision):
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


@pytest.fixture(scope="module")
def layered(model_folder):
    """The bundled transformer with two dense layers, as LaBSE has one, and a normalised output."""
    torch.manual_seed(0)
    transformer = SentenceTransformer(str(model_folder), device="cpu")[0]
    dense = Dense(384, 96), Dense(96, 64, bias=False, activation_function=torch.nn.Identity())
    return SentenceTransformer(modules=[transformer, Pooling(384, "mean"), *dense, Normalize()], device="cpu")


def test_a_folder_with_dense_layers_gives_the_same_embeddings(layered, cpu, sentences, tmp_path):
    layered.save(str(tmp_path / "theirs"))
    encoder = Encoder.from_folder(tmp_path / "theirs", cpu)
    expected = layered.encode(sentences[:50])
    assert encoder.dim == 64 and np.abs(encoder.encode(sentences[:50]) - expected).max() < 1e-5
    encoder.save(tmp_path / "ours")
    again = SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    assert np.abs(again.encode(sentences[:50]) - expected).max() < 1e-5


def test_other_weights_or_activations_have_another_fingerprint(layered, cpu, tmp_path):
    layered.save(str(tmp_path))
    _, heavier, other = encoders = [Encoder.from_folder(tmp_path, cpu) for _ in range(3)]
    heavier.dense[0].linear.weight.data *= 1.5
    other.dense[0].activation = "torch.nn.modules.activation.ReLU"
    assert len({encoder.fingerprint for encoder in encoders}) == 3


def test_modules_in_another_order_are_refused(layered, cpu, tmp_path):
    layered.save(str(tmp_path / "m"))
    path = tmp_path / "m" / "modules.json"
    path.write_text(path.read_text().replace("Normalize", "-").replace("Pooling", "Normalize").replace("-", "Pooling"))
    with pytest.raises(UserError, match="in this order"):
        Encoder.from_folder(tmp_path / "m", cpu)
