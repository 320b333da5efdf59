"""The poly-encoder against a plain calculation, pair by pair; its folder, whole and damaged; and its place in the registry."""

import numpy as np
import pytest
import torch

from sbert_app.errors import UserError
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import DEFAULT_ENCODER, NEW_POLY
from sbert_app.models.files.layout import CODES
from sbert_app.models.poly_encoder import PolyEncoder, PolyScorer, windows
from sbert_app.models.registry import Registry
from tests.models.test_damaged import rewrite

PAIRS = [("A man plays a guitar.", "Someone is playing music."), ("A red car", "The bill is due on the first day of each month.")]
PAIRS += [(b, a) for a, b in PAIRS] + [PAIRS[0], ("same", "same"), ("", "blank"), ("long " * 600, "short")]


@pytest.fixture
def poly(tiny, cpu):
    """A tiny encoder with large codes: attention far from uniform."""
    encoder = PolyEncoder.untrained(tiny, cpu)
    encoder.codes.weight.data *= 20
    return encoder


def softmax(values):
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def plain(encoder, reader, read):
    """One way, one pair, in numpy: section 4.4 of the paper, with the cosine as the last step."""
    ids = [encoder.tokenizer(text, truncation=True, max_length=encoder.max_length)["input_ids"] for text in (reader, read)]
    with torch.inference_mode():
        tokens = [encoder.transformer(torch.tensor([row])).last_hidden_state[0].numpy().astype(np.float64) for row in ids]
    embedding = tokens[0].mean(0)
    codes = encoder.codes.weight.detach().numpy().astype(np.float64)
    vectors = np.stack([softmax(tokens[1] @ code) @ tokens[1] for code in codes])  # (m, d)
    attended = softmax(vectors @ embedding) @ vectors
    return attended @ embedding / np.linalg.norm(attended) / np.linalg.norm(embedding)


def expected(encoder):
    return [(plain(encoder, a, b) + plain(encoder, b, a)) / 2 for a, b in PAIRS]


def test_its_scores_are_those_of_a_plain_calculation(poly):
    scores = PolyScorer(poly).score(PAIRS)
    assert scores.dtype == np.float32 and scores.shape == (len(PAIRS),)
    assert np.abs(scores - expected(poly)).max() < 1e-5
    assert len({round(float(score), 4) for score in scores}) > 4 and scores[0] == scores[4]
    assert np.abs(scores[:2] - scores[2:4]).max() < 1e-6  # symmetric
    assert PolyScorer(poly).score([]).shape == (0,)


def test_each_row_and_each_with_each_are_the_same_scores(poly, monkeypatch):
    monkeypatch.setattr("sbert_app.models.poly_encoder.ROWS", 2)
    monkeypatch.setattr("sbert_app.models.poly_encoder.COLUMNS", 3)
    u, v = (poly.encode(column) for column in zip(*PAIRS, strict=True))
    scores = poly.similarity.all(u, v)
    assert scores.shape == (len(PAIRS), len(PAIRS))
    assert np.abs(scores.diagonal() - poly.similarity.pairs(u, v)).max() < 1e-12
    assert np.abs(poly.similarity.all(v[:3], u) - scores.T[:3]).max() < 1e-12
    with_gradients = poly.attended.all(torch.from_numpy(u), torch.from_numpy(v)).numpy()
    assert np.abs(with_gradients - scores).max() < 1e-5


def test_each_sentence_is_encoded_once_however_many_pairs_it_is_in(poly, monkeypatch):
    sentences = [f"sentence number {i}" for i in range(12)]
    pairs = [(a, b) for a in sentences for b in sentences]
    encoded = []
    stream = poly.stream
    monkeypatch.setattr(poly, "stream", lambda texts: (encoded.extend(texts), stream(texts))[1])
    scorer = PolyScorer(poly)
    whole = scorer.score(pairs)
    assert sorted(encoded) == sorted(sentences)
    monkeypatch.setattr("sbert_app.models.poly_encoder.MOST_SENTENCES", 5)
    monkeypatch.setattr("sbert_app.models.poly_encoder.PAIRS_AT_ONCE", 3)
    assert np.abs(scorer.score(pairs) - whole).max() < 1e-6
    cuts = list(windows(pairs, 5))
    assert [start for start, _ in cuts] == [0, *(end for _, end in cuts[:-1])] and cuts[-1][1] == len(pairs) and len(cuts) > 3
    assert all(len({text for pair in pairs[start:end] for text in pair}) <= 5 for start, end in cuts)


def test_before_training_the_bundled_one_scores_nearly_as_the_encoder(registry, scored):
    """Its random codes attend almost evenly: what training starts from is SBERT."""
    columns = [column[:40] for column in scored.sentences]
    pairs = list(zip(*columns, strict=True))
    scores = registry.pair_scorer(NEW_POLY).score(pairs)
    u, v = map(registry.encoder(DEFAULT_ENCODER).encode, columns)
    assert np.corrcoef(scores, np.einsum("nd,nd->n", u, v))[0, 1] > 0.98
    assert np.array_equal(scores, Registry(registry.settings).pair_scorer(NEW_POLY).score(pairs))


def test_it_is_saved_loaded_listed_and_told_from_others(poly, registry, tmp_path):
    poly.save(registry.settings.models / "mine", "Mine")
    scorer = registry.pair_scorer("mine")
    assert np.array_equal(scorer.score(PAIRS), PolyScorer(poly).score(PAIRS))
    assert scorer.fingerprint == poly.fingerprint and scorer.score(PAIRS).ndim == 1 and scorer.name == "mine"
    other = registry.trainable("mine")
    other.codes.weight.data += 0.1
    assert other.fingerprint != poly.fingerprint and registry.pair_scorer("mine").fingerprint == poly.fingerprint
    assert [(row.kind, row.dim, row.available) for row in registry.list() if row.name == "mine"] == [("poly-encoder", 32, True)]
    assert registry.kind("mine") == registry.kind(NEW_POLY) == "poly-encoder"
    card = (registry.settings.models / "mine" / "README.md").read_text()
    assert "| codes | 16 |" in card and "| dimensions | 32 |" in card and "--cross-encoder path/to/this/folder" in card


def test_sentence_transformers_opens_its_folder_as_the_encoder(poly, tmp_path):
    from sentence_transformers import SentenceTransformer

    poly.save(tmp_path)
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(["a sentence"])
    assert np.abs(theirs - poly.encode(["a sentence"])[:, : poly.width]).max() < 1e-5


def test_bf16_scores_are_close(poly, tmp_path):
    poly.save(tmp_path)
    rounded = PolyEncoder.from_folder(tmp_path, choose_hardware("cpu", "bf16"))
    assert rounded.codes.weight.dtype == torch.float32
    assert np.abs(PolyScorer(rounded).score(PAIRS) - PolyScorer(poly).score(PAIRS)).max() < 0.05
    with pytest.raises(ValueError, match="only fp32 weights are saved"):
        rounded.save(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda codes: codes.pop("codes"), r"is damaged \(poly_codes: "),
        (lambda codes: codes["codes"].fill_(torch.nan), "the weights of poly_codes contain NaN or infinite values"),
        (lambda codes: codes.update(codes=torch.ones(3, 7)), "poly_codes holds 3 × 7 numbers as torch.float32, expected m × 32"),
        (lambda codes: codes.update(codes=torch.ones(0, 32)), "poly_codes holds 0 × 32"),
        (lambda codes: codes.update(codes=torch.ones(32)), "poly_codes holds 32 numbers"),
        (lambda codes: codes.update(codes=torch.ones(3, 32, dtype=torch.int32)), "as torch.int32"),
    ],
)
def test_damaged_codes_are_a_sentence(poly, registry, change, message):
    poly.save(registry.settings.models / "mine")
    rewrite(registry.settings.models / "mine" / CODES, change)
    for call in (registry.pair_scorer, registry.trainable):
        with pytest.raises(UserError, match=f"'mine' .*{message}"):
            call("mine")


def test_codes_that_are_no_safetensors_are_a_sentence(poly, registry):
    poly.save(registry.settings.models / "mine")
    path = registry.settings.models / "mine" / CODES / "model.safetensors"
    for content in (b"", b"null", b"\xff" * 99):
        path.write_bytes(content)
        with pytest.raises(UserError, match="'mine'"):
            registry.pair_scorer("mine")
    for name, message in (("gone", "has no weights"), ("pytorch_model.bin", "as a pickle")):
        path = path.rename(path.with_name(name))
        with pytest.raises(UserError, match=message):
            registry.pair_scorer("mine")
