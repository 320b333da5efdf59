"""The encoder (bi-encoder): turns each sentence into one vector, independently of all others."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sbert_app.explain.cautions import SAMPLE
from sbert_app.explain.words import TokenVectors, by_word
from sbert_app.models.dense import IDENTITY, Dense, read_dense, write_dense
from sbert_app.models.engine.engine import OnEngine
from sbert_app.models.engine.forward import POOL, Features, Fetch, Pad, forward_batches
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.files.card import write_card
from sbert_app.models.files.layout import WORDS, Layout, read_layout, write_layout
from sbert_app.models.loading import fingerprint, load_transformer, load_without_weights
from sbert_app.vectors import COSINE, Batches, Rows, Similarity, Vectors, distinct, in_order

WINDOW = 16_384  # sentences tokenised at a time: bounds memory, and the first batch starts at once
SPECIAL_TOKENS = 2  # that a tokenizer adds to a sentence, at least
NO_VECTORS: Vectors = np.empty((0, 0), np.float32)


class Encoder(OnEngine):
    """A transformer, pooling, dense layers if it has any. `encode` returns (n, dim) float32, equal to sentence-transformers."""

    kind = "encoder"
    similarity: Similarity = COSINE

    def __init__(
        self, name: str, transformer: Any, tokenizer: Any, layout: Layout, hardware: Hardware, dense: Sequence[Dense] = ()
    ) -> None:
        super().__init__(name, transformer, tokenizer, self._hidden, hardware, layout.max_length)
        self.layout = layout
        self.dense, self._layers = nn.Sequential(*dense).to(hardware.device), tuple(dense)  # fp32, as pooling
        if self.of_words:
            self.hardware = replace(hardware, dtype=torch.float32)
            transformer.freeze()
        self.dim = dense[-1].linear.out_features if dense else int(transformer.config.hidden_size)

    @classmethod
    def from_folder(cls, folder: Path, hardware: Hardware, name: str = "", weights: bool = True) -> "Encoder":
        """Load a sentence-transformers or plain transformers folder. Raises UserError if it cannot be read.

        weights: False leaves torch's on disk until they are needed; the caller gives it another engine, and its fingerprint.
        """
        name = name or folder.name
        layout = read_layout(folder, name)
        read = partial(load_transformer, folder / layout.transformer_path, hardware, name=name)
        transformer, tokenizer = read() if weights else load_without_weights(folder / layout.transformer_path, name)
        encoder = cls(name, transformer, tokenizer, layout, hardware, [read_dense(folder / path, name) for path in layout.dense])
        encoder.folder, encoder.reader = folder, lambda: read()[0]
        return encoder

    @property
    def of_words(self) -> bool:
        """Whether it reads word vectors with a network of this app, which is no transformer."""
        return bool(self.config.model_type == WORDS)

    @property
    def note(self) -> str:
        """A remark about this model to show to users, "" if there is none."""
        return " ".join(filter(None, (self.layout.note, self.engine_note)))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights, layout and precision: differs between encoders whose embeddings differ. 16 hex digits."""
        activations = "".join(layer.activation for layer in self._layers)
        settings = f"{self.layout}{self.max_length}{self.hardware.precision}{activations}"
        return fingerprint(settings, self.transformer, self.dense)

    @cached_property
    def pieces_a_sample_word(self) -> float:
        """Pieces that the tokeniser makes of an everyday word in another language than English, on average."""
        return len(self.tokenize([SAMPLE])[0]) / len(SAMPLE.split())

    def prompt(self, *names: str) -> str:
        """The first of these named prompts that the model has (such as "query: " for queries), else ""."""
        return next((self.layout.prompts[name] for name in names if name in self.layout.prompts), "")

    @property
    def document_prompt(self) -> str:
        """The prompt before each sentence of a corpus, "" if the model has none."""
        return self.prompt("document", "passage", "corpus")

    def encode(self, sentences: Sequence[str], prompt: str = "") -> Vectors:
        """Embed sentences in their order. n strings -> (n, dim) float32."""
        return in_order(self.stream(sentences, prompt), len(sentences), self.dim)

    def stream(self, sentences: Sequence[str], prompt: str = "") -> Batches:
        """Yield (row numbers, vectors) batch by batch, computing each distinct sentence once; close the iterator to stop."""
        unique, inverse = distinct(sentences)
        occurrences = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse, minlength=len(unique)))[:-1])
        for start in range(0, len(unique), WINDOW):
            ids = self.tokenize(unique[start : start + WINDOW], prompt)
            for rows, vectors in self.batches(ids, list(map(len, ids)), self._start):
                targets = [occurrences[start + row] for row in rows]
                yield np.concatenate(targets), np.repeat(vectors, [len(t) for t in targets], axis=0)

    def stream_batches(self, batches: Iterable[Rows], pad: Pad) -> Batches:
        """Embed batches that the caller has cut, with the padding they have; yield (row numbers, vectors) in their order."""
        start = partial(self.engine.start, finish=self._finish, packs=False)
        return forward_batches(batches, pad, start, lambda: self.engine.ahead)

    def token_vectors(self, sentences: Sequence[str]) -> list[TokenVectors]:
        """The vectors before pooling, with the words they belong to."""
        encodings = self.encodings(sentences)
        vectors = self.hidden([encoding.ids for encoding in encodings])
        return [self._by_word(*each) for each in zip(encodings, sentences, vectors, strict=True)]

    def encodings(self, sentences: Sequence[str], prompt: str = "") -> list[Any]:
        """The tokeniser's encodings, one per sentence, with the place of each token in the text; cut at `max_length`."""
        return self._backend.encode_batch([self._clean(prompt + sentence) for sentence in sentences])

    def hidden(self, ids: Sequence[Sequence[int]]) -> list[Vectors]:
        """The vectors before pooling of each row, (T or more, width), padding included."""
        batches = self.batches(ids, list(map(len, ids)), lambda features: self.engine.start(features, lambda tokens, _: tokens))
        vectors = {row: tokens for rows, hidden in batches for row, tokens in zip(rows.tolist(), hidden, strict=True)}
        return [vectors[row] for row in range(len(ids))]

    def pool(self, tokens: Vectors, pooling: str = "") -> Vectors:
        """Pool one sentence's token vectors, (T, width) -> (dim,), and through the dense layers. pooling: "" for its own."""
        vectors = torch.from_numpy(tokens)[None].to(self.hardware.device)
        mask = torch.ones(vectors.shape[:2], dtype=torch.long, device=vectors.device)
        with torch.inference_mode():
            return self.dense(POOL[pooling or self.layout.pooling](vectors, mask))[0].cpu().numpy()

    def split(self, sentence: str) -> TokenVectors:
        """The words of a sentence and their pieces, without vectors."""
        return self._by_word(self.encodings([sentence])[0], sentence)

    def leave_one_out(self, sentence: str) -> tuple[list[str], Vectors]:
        """The w words of a sentence, and its embedding without each of them, (w, dim)."""
        (encoding,) = self.encodings([sentence])
        tokens = self._by_word(encoding, sentence)
        numbers = np.unique(tokens.word[np.array(encoding.special_tokens_mask) == 0]).tolist()
        shortened = [[i for i, word in zip(encoding.ids, tokens.word, strict=True) if word != number] for number in numbers]
        vectors = in_order(self.batches(shortened, list(map(len, shortened)), self._start), len(shortened), self.dim)
        return [tokens.words[number] for number in numbers], vectors

    def _by_word(self, encoding: Any, sentence: str, hidden: Vectors = NO_VECTORS) -> TokenVectors:
        return by_word(encoding, self._clean(sentence), hidden, self.tokenizer.unk_token)

    def save(self, folder: Path, title: str = "", facts: Mapping[str, str] | None = None) -> None:
        """Write a sentence-transformers folder with a model card of `facts`. Needs fp32 weights."""
        super().save(folder)
        write_layout(folder, self.layout, int(self.config.hidden_size), self.max_length)
        for path, layer in zip(self.layout.dense, self._layers, strict=True):
            write_dense(folder / path, layer)
        base = {"base model": self.name, "dimensions": f"{self.dim}", "tokens": f"{self.max_length}"}
        write_card(folder, title or folder.name, base | {"pooling": self.layout.pooling} | dict(facts or {}), own=self.of_words)

    def with_layer(self, weight: Vectors) -> "Encoder":
        """This encoder with a further dense layer, (outputs, dim), without bias or activation; the transformer is shared."""
        layer = Dense(self.dim, len(weight), bias=False, activation=IDENTITY)
        layer.linear.weight.data = torch.from_numpy(weight)
        layout = replace(self.layout, dense=(*self.layout.dense, f"{2 + len(self.layout.dense)}_Dense"))
        return Encoder(self.name, self.transformer, self.tokenizer, layout, self.hardware, [*self._layers, layer])

    def frozen(self) -> "Encoder":
        """A copy with the weights of now, without dropout."""
        transformer, layers = deepcopy((self.transformer, self._layers))
        return Encoder(self.name, transformer.eval(), self.tokenizer, self.layout, self.hardware, layers)

    def _clean(self, sentence: str) -> str:
        return sentence.lower() if self.layout.lower_case else sentence

    def tokenize(self, sentences: Sequence[str], prompt: str = "") -> list[list[int]]:
        """Token ids of each sentence, special tokens included, cut at `max_length`."""
        encodings = self._backend.encode_batch_fast([self._clean(prompt + sentence) for sentence in sentences])
        return [encoding.ids for encoding in encodings]

    def _hidden(self, features: Features) -> Tensor:
        """(B, T) ids -> (B, T, dim) token vectors."""
        return self.transformer(**features).last_hidden_state

    def embed(self, features: Features) -> Tensor:
        """(B, T) ids -> (B, dim), on torch with gradients: what training uses."""
        return self._finish(self._hidden(features), features)

    def _start(self, features: Features) -> Fetch:
        return self.engine.start(features, self._finish)

    def _finish(self, tokens: Tensor, features: Features) -> Tensor:
        """(B, T, width) token vectors -> (B, dim). Pooled in float32: bf16 sums over many tokens lose digits."""
        pooled = self.dense(POOL[self.layout.pooling](tokens.float(), features["attention_mask"]))
        return torch.nn.functional.normalize(pooled, dim=1) if self.layout.normalize else pooled
