"""InferSent's BiLSTM and the deep averaging network: what they compute, how they are saved and damaged; files of word vectors."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.modules import LSTM, Dense, Pooling

from sbert_app.errors import UserError
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.registry import Registry
from sbert_app.models.words.vectors import WordVectors, words
from sbert_app.settings import Settings
from sbert_app.timing.experiment import cross_encoder_like
from tests.models.test_damaged import rewrite

INFERSENT, DAN = NAMES = ("new/infersent", "new/dan")
SENTENCES = ["A man plays the guitar.", "Dogs run", "", "A much longer sentence about something quite different, isn't it?"]
EMBEDDINGS = "embeddings.weight"
GLOVE = "the 1 0 2\nThe 9 9 9\ndog 0 1 0.5\ncat 0.5 1 0\n. 0.1 0.1 0.1\nrun 0.3 -1 0.4\n"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    return Registry(Settings(home=tmp_path_factory.mktemp("words"), device="cpu", precision="fp32"))


@pytest.fixture
def saved(registry, tmp_path):
    """Save an untrained network in a folder."""

    def save(name: str) -> Path:
        registry.encoder(name).save(tmp_path / "saved")
        return tmp_path / "saved"

    return save


def test_infersent_equals_the_lstm_of_sentence_transformers(registry):
    encoder = registry.encoder(INFERSENT)
    oracle = LSTM(384, 256)
    oracle.encoder.load_state_dict(encoder.transformer.lstm.state_dict())
    features = encoder.pad(encoder.tokenize(SENTENCES))
    vectors = {"token_embeddings": encoder.transformer.embeddings(features["input_ids"])}
    with torch.no_grad():
        states = oracle({**vectors, "sentence_lengths": features["attention_mask"].sum(1)})
        expected = Pooling(512, "max")({**states, "attention_mask": features["attention_mask"]})["sentence_embedding"]
    assert np.abs(encoder.encode(SENTENCES) - expected.numpy()).max() < 1e-5


def test_the_deep_averaging_network_equals_the_modules_of_sentence_transformers(registry, saved):
    encoder, folder = registry.encoder(DAN), saved(DAN)
    features = encoder.pad(encoder.tokenize(SENTENCES))
    vectors = encoder.transformer.embeddings(features["input_ids"]).detach()
    output = Pooling(384, "mean")({"token_embeddings": vectors, "attention_mask": features["attention_mask"]})
    for path in encoder.layout.dense:
        output = Dense.load(str(folder), subfolder=path)(output)
    assert np.abs(encoder.encode(SENTENCES) - output["sentence_embedding"].detach().numpy()).max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_it_is_saved_and_loaded_with_equal_embeddings(registry, saved, name):
    encoder, folder = registry.encoder(name), saved(name)
    loaded, again = (Encoder.from_folder(folder, choose_hardware("cpu", precision)) for precision in ("fp32", "bf16"))
    assert np.abs(loaded.encode(SENTENCES) - encoder.encode(SENTENCES)).max() < 1e-6
    assert loaded.fingerprint == again.fingerprint and again.hardware.precision == "fp32"  # it never computes in bf16
    assert loaded.layout.note == "" and loaded.dim == 512
    frozen = [not part.transformer.get_input_embeddings().weight.requires_grad for part in (encoder, loaded)]
    assert frozen == [name == INFERSENT] * 2
    card = (folder / "README.md").read_text()
    assert "only SBERT Studio opens this folder" in card and "SentenceTransformer(" not in card and "library_name" not in card


def test_the_same_name_has_the_same_weights_whatever_else_draws_numbers_and_says_that_it_is_untrained(registry):
    torch.manual_seed(1)
    encoders = [registry.trainable(name) for name in NAMES]
    assert [registry.encoder(name).fingerprint for name in NAMES] == [encoder.fingerprint for encoder in encoders]
    assert len({encoder.fingerprint for encoder in encoders}) == 2
    assert all(encoder.note.startswith("Not trained yet:") for encoder in encoders)


def test_a_saved_one_is_listed_with_the_size_of_its_embeddings(registry):
    folder = registry.settings.models / "averaging"
    registry.encoder(DAN).save(folder)
    assert ("averaging", "encoder", 512) in [(row.name, row.kind, row.dim) for row in registry.list()]
    cross, trained = cross_encoder_like(registry, registry.encoder("averaging"))  # there is no cross-encoder of word vectors
    assert cross.name == DEFAULT_CROSS_ENCODER and trained
    (folder / "3_Dense" / "config.json").unlink()
    assert ("averaging", "damaged") in [(row.name, row.kind) for row in registry.list()]


def test_words_are_named_and_left_out_one_by_one(registry):
    encoder = registry.encoder(INFERSENT)
    words, without = encoder.leave_one_out("Dogs run fast")
    assert words == ["Dogs", "run", "fast"] and np.abs(without[0] - encoder.encode(["run fast"])[0]).max() < 1e-6
    (tokens,) = encoder.token_vectors(["Dogs run fast"])
    assert np.abs(encoder.pool(tokens.vectors, "max") - encoder.encode(["Dogs run fast"])[0]).max() < 1e-6
    assert encoder.pieces_a_sample_word == registry.encoder(DEFAULT_ENCODER).pieces_a_sample_word


@pytest.mark.parametrize("name", ["new/", "new/other", "new/infersent:nowhere.txt", "new/infersent:/"])
def test_an_unknown_name_is_a_sentence(registry, name):
    with pytest.raises(UserError, match=r"Must be one of new/infersent, new/dan\.|cannot be read as word vectors"):
        registry.encoder(name)


def test_word_vectors_of_a_file_and_its_whole_words(registry, write, tmp_path):
    path = write("glove.txt.gz", GLOVE)
    encoder = registry.encoder(f"{DAN}:{path}")
    assert [encoder.tokenizer.convert_ids_to_tokens(row) for row in encoder.tokenize(["The DOG runs."])] == [
        ["[CLS]", "the", "dog", "[UNK]", ".", "[SEP]"]
    ]
    assert encoder.transformer.embeddings.weight[4:6].tolist() == [[1, 0, 2], [0, 1, 0.5]]
    assert not encoder.transformer.embeddings.weight[:4].any()  # special tokens are no words
    encoder.save(tmp_path / "saved")
    loaded = Encoder.from_folder(tmp_path / "saved", choose_hardware("cpu", "fp32"))
    assert np.abs(loaded.encode(SENTENCES) - encoder.encode(SENTENCES)).max() < 1e-6
    assert loaded.tokenize(["Cat."]) == encoder.tokenize(["Cat."]) and loaded.max_length == encoder.max_length
    assert loaded.pieces_a_sample_word == pytest.approx(1, abs=0.4)


def test_a_hosted_app_reads_no_file_of_word_vectors(tmp_path, write):
    hosted = Registry(Settings(home=tmp_path, device="cpu", hosted=True))
    with pytest.raises(UserError, match=r"Unknown model 'new/dan:"):
        hosted.encoder(f"{DAN}:{write('glove.txt', GLOVE)}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop("lstm.weight_hh_l0"), "1 weights are missing, such as lstm.weight_hh_l0"),
        (lambda weights: weights["lstm.bias_ih_l0"].fill_(torch.nan), "lstm.bias_ih_l0 contain NaN"),
        (lambda weights: weights.update({EMBEDDINGS: weights[EMBEDDINGS][:100].clone()}), "could not be loaded"),
    ],
)
def test_damaged_weights_are_a_sentence(registry, saved, change, message):
    folder = saved(INFERSENT)
    rewrite(folder, change)
    with pytest.raises(UserError, match=message):
        registry.encoder(str(folder))


DAMAGES = {
    "config.json": [{"units": 100}, {"units": "many"}, {"units": -3}, {"vocab_size": 10}, {"model_type": "no-such-network"}],
    "2_Dense/config.json": [{"out_features": 7}, {"in_features": None}],
    "3_Dense/config.json": [{"activation_function": "os.system"}, {"use_residual": True}],
}


@pytest.mark.parametrize(("file", "change"), [(file, change) for file, changes in DAMAGES.items() for change in changes])
def test_damaged_settings_are_a_sentence(registry, saved, file, change):
    folder = saved(DAN if "Dense" in file else INFERSENT)
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError):
        registry.encoder(str(folder))


def test_a_dense_layer_is_checked_as_the_rest_of_a_model(registry, saved):
    folder = saved(DAN)
    rewrite(folder / "2_Dense", lambda weights: weights["linear.bias"].fill_(torch.inf))
    with pytest.raises(UserError, match="the weights of 2_Dense contain NaN or infinite values"):
        registry.encoder(str(folder))
    (folder / "2_Dense" / "model.safetensors").rename(folder / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(UserError, match="as a pickle"):
        registry.encoder(str(folder))


FILE = "the 1 0\ncat 0 1\nCat 9 9\ncat 5 5\n, 3 3\n"


def test_a_sentence_is_the_mean_of_its_known_words(write):
    vectors = WordVectors.read(write("small.txt", FILE), {"the", "cat", "sleeps"})
    ((rows, embeddings),) = vectors.stream(["The cat, the cat", "the", "", "a dog"])
    assert rows.tolist() == [0, 1, 2, 3] and vectors.name == "small.txt"
    assert embeddings.tolist() == [[0.5, 0.5], [1, 0], [0, 0], [0, 0]]
    assert words("Don't, Über-cat!") == ["don", "t", "über", "cat"]


@pytest.mark.parametrize(("content", "message"), [
    ("the 1 0\ncat 0 1 2\n", "line 2"), ("the one two\n", "line 1"), ("the nan 1\n", "line 1"), ("the\n", "line 1"),
    ("hund 1 0\n", "no vector for any word"), ("", "no vector for any word"), (b"\xff\xfe\x00", "cannot be read"),
    (gzip.compress(np.random.default_rng(0).bytes(4000).hex().encode())[:900], "cannot be read"),
])  # fmt: skip
def test_what_is_no_file_of_word_vectors_gets_a_sentence(write, content, message):
    with pytest.raises(UserError, match=message):
        WordVectors.read(write("bad.txt" if content[:1] != b"\x1f" else "cut.txt.gz", content), {"the", "cat"})
