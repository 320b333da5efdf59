"""Averages of word vectors: of an encoder's input vectors, or of a GloVe file, on each line a word and its numbers."""

import gzip
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.ranking.lexical import WORD
from sbert_app.errors import UserError
from sbert_app.vectors import Batches, Vectors

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

MOST_WORDS = 400_000  # of a whole file, whose most frequent words come first
LONGEST_LINE = 1 << 16  # characters; a vector of 1,000 numbers has about 10,000
BATCH = 1_024


class WordVectors:
    """A word's row in `vectors`, (V, dim). A sentence is the mean of its lower-cased words that are known, else zero."""

    def __init__(self, name: str, rows: dict[str, int], vectors: Vectors) -> None:
        self.name, self._rows, self._vectors = name, rows, vectors

    @classmethod
    def read(cls, path: Path, wanted: Container[str]) -> "WordVectors":
        """Read the wanted words' vectors; the file may be gzipped. Raises UserError if it has none of them or is no such file."""
        rows, vectors = _read(path, lambda word: word in wanted, sys.maxsize)
        if not rows:
            raise UserError(
                f"'{path.name}' has no vector for any word of these sentences. Give a GloVe text file of their language."
            )
        return cls(path.name, rows, vectors)

    @property
    def content(self) -> bytes:
        """The words and their vectors, to tell files apart."""
        return "\0".join(self._rows).encode() + self._vectors.tobytes()

    def stream(self, sentences: Sequence[str]) -> Batches:
        """Yield the row numbers and the embeddings, (n, dim), of all sentences at once."""
        embeddings = np.zeros((len(sentences), self._vectors.shape[1]), np.float32)
        for number, sentence in enumerate(sentences):
            known = [self._rows[word] for word in words(sentence) if word in self._rows]
            if known:
                embeddings[number] = self._vectors[known].mean(axis=0)
        yield np.arange(len(sentences)), embeddings


def read_all(path: Path) -> tuple[list[str], Vectors]:
    """The lower-case words of a file, at most MOST_WORDS, and their vectors. Raises UserError if it is no such file."""
    rows, vectors = _read(path, lambda word: word == word.lower(), MOST_WORDS)
    if not rows:
        raise UserError(f"'{path.name}' has no word vectors. Give a GloVe text file, gzipped or not.")
    return list(rows), vectors


def _read(path: Path, wanted: Callable[[str], bool], most: int) -> tuple[dict[str, int], Vectors]:
    """Rows of the wanted words, and their vectors; a word's first line counts."""
    rows: dict[str, int] = {}
    vectors: list[Vectors] = []
    for number, line in enumerate(_lines(path), 1):
        word, _, numbers = line.strip().partition(" ")
        if word in rows or not wanted(word):
            continue
        vector = _numbers(numbers)
        if not len(vector) or (vectors and len(vector) != len(vectors[0])):
            raise UserError(f"'{path.name}', line {number}: no word with as many numbers as the others. Give a GloVe text file.")
        rows[word] = len(vectors)
        vectors.append(vector)
        if len(vectors) == most:
            break
    return rows, np.stack(vectors) if vectors else np.empty((0, 0), np.float32)


def words(sentence: str) -> list[str]:
    """The lower-cased words of a sentence, as word vectors know them."""
    return WORD.findall(sentence.lower())


def _numbers(text: str) -> Vectors:
    """The numbers of a line; none if one is no finite number."""
    try:
        vector = np.array(text.split(), np.float32)
    except ValueError:
        return np.empty(0, np.float32)
    return vector if np.isfinite(vector).all() else vector[:0]


def _lines(path: Path) -> Iterator[str]:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            while line := file.readline(LONGEST_LINE):
                yield line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UserError(f"'{path.name}' cannot be read as word vectors. Give a GloVe text file, gzipped or not.") from error


class AverageWordVectors:
    """The mean of an encoder's input word vectors: takes the place of the paper's "Avg. GloVe"."""

    def __init__(self, encoder: "Encoder") -> None:
        self._encoder = encoder
        self._vectors = encoder.transformer.get_input_embeddings().weight.detach().float().cpu().numpy()

    def stream(self, sentences: Sequence[str]) -> Batches:
        """Yield (row numbers, (b, dim) float32 vectors) batch by batch. Special tokens are no words: without a word, zero."""
        special = self._encoder.tokenizer.all_special_ids
        for start in range(0, len(sentences), BATCH):
            ids = self._encoder.tokenize(sentences[start : start + BATCH])
            starts = np.cumsum([0, *map(len, ids[:-1])])
            tokens = np.concatenate(ids)
            is_word = ~np.isin(tokens, special)
            counts = np.add.reduceat(is_word, starts, dtype=np.int64)
            vectors = self._vectors[tokens]
            vectors[~is_word] = 0
            means = np.add.reduceat(vectors, starts) / np.maximum(counts, 1)[:, None]
            yield np.arange(start, start + len(ids)), means.astype(np.float32)
