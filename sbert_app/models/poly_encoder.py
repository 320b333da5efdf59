"""The poly-encoder: an embedding, and m vectors by which learnt codes attend over the tokens; pairs are compared by both."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sbert_app.models.cross_encoder import CrossEncoder, Pair
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import POOL, Features
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.files.card import POLY_USAGE
from sbert_app.models.files.finding import NEW_POLY
from sbert_app.models.files.layout import CODES, POLY, check_files, damaged, first_line
from sbert_app.models.files.trained_for import COSINE, UNKNOWN, Bounds, purpose
from sbert_app.models.loading import fingerprint
from sbert_app.vectors import Array, Batches, Vectors, distinct, in_order

NEW_CODES = 16  # m; the paper tries 16, 64 and 360
SEED = 7
WEIGHTS = "model.safetensors"
ROWS, COLUMNS = 16, 1_024  # compared at a time: about 50 MB
MOST_SENTENCES = 8_192  # in memory at a time: about 200 MB with 16 codes of 384 numbers
PAIRS_AT_ONCE = 1_024


class Codes(nn.Module):
    """m learnt queries, each of which averages the tokens by its attention."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(B, T, d) float32, (B, T) of 0/1 -> (B, m, d). In float32, as pooling."""
        with torch.autocast(tokens.device.type, enabled=False):
            logits = torch.einsum("md,btd->bmt", self.weight, tokens)
            weights = logits.masked_fill(mask[:, None] == 0, -torch.inf).softmax(-1)
            return weights @ tokens


class PolyEncoder(Encoder):
    """An encoder with 1 + m vectors a sentence, as one row: `encode` returns (n, (1 + m) * width). Compare by `similarity`."""

    kind = POLY

    def __init__(self, encoder: Encoder, codes: Tensor) -> None:
        """codes: (m, hidden size of the encoder's transformer). The transformer is shared with `encoder`."""
        super().__init__(encoder.name, encoder.transformer, encoder.tokenizer, encoder.layout, encoder.hardware, encoder._layers)
        self.folder = encoder.folder
        self.codes = Codes(codes).to(encoder.hardware.device)
        self.width, self.dim = encoder.dim, (1 + len(codes)) * encoder.dim
        self.attended, self.similarity = Attended(self.width), AttendedArrays(self.width)

    @classmethod
    def from_folder(cls, folder: Path, hardware: Hardware, name: str = "", weights: bool = True) -> "PolyEncoder":
        """Load an encoder's folder with codes in it. Raises UserError if either cannot be read. weights: as for an encoder."""
        encoder = Encoder.from_folder(folder, hardware, name, weights)
        return cls(encoder, read_codes(folder / CODES, encoder.name, int(encoder.config.hidden_size)))

    @classmethod
    def untrained(cls, folder: Path, hardware: Hardware, name: str = "") -> "PolyEncoder":
        """The encoder in `folder` with random codes, always the same: near uniform attention, so its scores are near cosines."""
        encoder = Encoder.from_folder(folder, hardware, name)
        size = int(encoder.config.hidden_size)
        return cls(encoder, torch.randn(NEW_CODES, size, generator=torch.Generator().manual_seed(SEED)) * size**-0.5)

    @cached_property
    def fingerprint(self) -> str:
        """Differs between poly-encoders whose scores differ. 16 hex digits."""
        return fingerprint(super().fingerprint, self.codes)

    def _finish(self, tokens: Tensor, features: Features) -> Tensor:
        """(B, T, width) token vectors -> (B, (1 + m) * width). Nothing is normalised: the attention needs the lengths."""
        tokens, mask = tokens.float(), features["attention_mask"]
        pooled = POOL[self.layout.pooling](tokens, mask)
        vectors: Tensor = self.dense(torch.cat([pooled[:, None], self.codes(tokens, mask)], 1))  # (B, 1 + m, width)
        return vectors.flatten(1)

    def save(self, folder: Path, title: str = "", facts: Mapping[str, str] | None = None) -> None:
        """Write the encoder's folder, which sentence-transformers loads as an encoder, and the codes in a folder in it."""
        count = len(self.codes.weight)
        super().save(folder, title, {"dimensions": f"{self.width}", "codes": f"{count}"} | dict(facts or {}))
        (folder / CODES).mkdir(exist_ok=True)
        save_file({"codes": self.codes.weight.detach().cpu().contiguous()}, folder / CODES / WEIGHTS)
        with (folder / "README.md").open("a", encoding="utf-8") as card:
            card.write(POLY_USAGE)


def read_codes(folder: Path, name: str, size: int) -> Tensor:
    """The codes, (m, size) float32. Raises UserError if the folder is damaged."""
    check_files(folder, name)
    try:
        codes: Tensor = load_file(folder / WEIGHTS)["codes"]
    except Exception as error:  # safetensors raises half a dozen types
        raise damaged(name, f"{folder.name}: {first_line(error)}") from error
    if codes.dtype != torch.float32 or codes.ndim != 2 or not len(codes) or codes.shape[1] != size:
        shape = " × ".join(map(str, codes.shape))
        raise damaged(name, f"{folder.name} holds {shape} numbers as {codes.dtype}, expected m × {size} as torch.float32")
    if not torch.isfinite(codes).all():
        raise damaged(name, f"the weights of {folder.name} contain NaN or infinite values")
    return codes


class Attended:
    """One sentence's embedding attends over the other's code vectors; the cosine of what it reads and itself, mean of both ways.

    The vectors of a sentence come as one row: first its embedding, then its m code vectors, (1 + m) * width numbers.
    """

    def __init__(self, width: int) -> None:
        self.width = width

    def pairs(self, u: Tensor, v: Tensor) -> Tensor:
        """Compare row by row. (n, W), (n, W) -> (n,), -1..1, higher is closer."""
        return (self._one_way(u, v, "n") + self._one_way(v, u, "n")) / 2

    def all(self, u: Tensor, v: Tensor) -> Tensor:
        """Compare each row of u with each of v. (n, W), (k, W) -> (n, k)."""
        return (self._one_way(u, v, "nk") + self._one_way(v, u, "nk").T) / 2

    def _one_way(self, u: Tensor, v: Tensor, out: str) -> Tensor:
        """The embeddings of v read the code vectors of u. out: "n", row by row, or "nk", each with each."""
        codes = u.unflatten(1, (-1, self.width))[:, 1:]  # (n, m, d)
        embeddings = v[:, : self.width]  # (n or k, d)
        weights = torch.einsum(f"nmd,{out[-1]}d->{out}m", codes, embeddings).softmax(-1)
        attended = torch.einsum(f"{out}m,nmd->{out}d", weights, codes)
        return F.cosine_similarity(attended, embeddings, dim=-1)


class AttendedArrays:
    """`Attended` on arrays: computed in float64, some rows at a time."""

    def __init__(self, width: int) -> None:
        self._attended = Attended(width)

    def pairs(self, u: Vectors, v: Vectors) -> Array:
        starts = range(0, len(u), COLUMNS)
        parts = [self._attended.pairs(_double(u[i : i + COLUMNS]), _double(v[i : i + COLUMNS])).numpy() for i in starts]
        return np.concatenate([np.empty(0), *parts])

    def all(self, u: Vectors, v: Vectors) -> Array:
        scores = np.empty((len(u), len(v)))
        for i in range(0, len(u), ROWS):
            for k in range(0, len(v), COLUMNS):
                part = self._attended.all(_double(u[i : i + ROWS]), _double(v[k : k + COLUMNS]))
                scores[i : i + ROWS, k : k + COLUMNS] = part.numpy()
        return scores


def _double(vectors: Vectors) -> Tensor:
    return torch.from_numpy(np.asarray(vectors, dtype=np.float64))


class PolyScorer:
    """A poly-encoder in the place of a cross-encoder. A score is a mean of two cosines, -1..1, higher is closer."""

    kind = POLY
    bounds: Bounds | None = COSINE

    def __init__(self, encoder: PolyEncoder) -> None:
        self._encoder, self.name, self.fingerprint = encoder, encoder.name, encoder.fingerprint
        folder = None if encoder.name == NEW_POLY else encoder.folder
        self.trained_for = purpose(folder, encoder.name, POLY) if folder else UNKNOWN

    def score(self, pairs: Sequence[Pair]) -> Vectors:
        """Score pairs in their order. n pairs -> (n,) float32."""
        return in_order(self.stream(pairs), len(pairs), 1)[:, 0]

    def stream(self, pairs: Sequence[Pair]) -> Batches:
        """Yield (row numbers, scores (b, 1)); after a batch of sentences, b is 0. Close the iterator to stop."""
        for start, end in windows(pairs, MOST_SENTENCES):
            texts, inverse = distinct([text for pair in pairs[start:end] for text in pair])
            vectors = np.empty((len(texts), self._encoder.dim), dtype=np.float32)
            for rows, batch in self._encoder.stream(texts):
                vectors[rows] = batch
                yield np.empty(0, dtype=np.int64), np.empty((0, 1), dtype=np.float32)
            first, second = inverse.reshape(-1, 2).T
            for i in range(0, end - start, PAIRS_AT_ONCE):
                part = slice(i, i + PAIRS_AT_ONCE)
                scores = self._encoder.similarity.pairs(vectors[first[part]], vectors[second[part]])
                yield start + i + np.arange(len(scores)), scores.astype(np.float32)[:, None]


PairScorer = CrossEncoder | PolyScorer


def windows(pairs: Sequence[Pair], most: int) -> Iterator[tuple[int, int]]:
    """Cut the pairs into stretches (start, end) with at most `most` distinct sentences each, in order."""
    start, texts = 0, set[str]()
    for end, pair in enumerate(pairs):
        if end > start and len(texts) + len(set(pair) - texts) > most:
            yield start, end
            start, texts = end, set()
        texts.update(pair)
    if start < len(pairs):
        yield start, len(pairs)
