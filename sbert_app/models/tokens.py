"""The tokens of a text: where they are, their vectors as MaxSim compares them, and passages that a model reads whole."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sbert_app.corpus.ranking.lexical import Span, sentence_spans
from sbert_app.models.encoder import SPECIAL_TOKENS, Encoder
from sbert_app.vectors import Integers, Rows, Vectors, unit_rows

# One sentence is lost in the mean of a long passage. A question answered by the last of 240 unrelated sentences: the text is first
# among 690 rows for 97 % of questions with passages of up to 32 tokens, 45 % with 64, none with 128. Where a text keeps to its
# subject (eight abstracts a row), the MRR is 0.86 with 32, 64 and 128 tokens, 0.84 with 254, and 0.24 by the beginning alone.
JOINED_TOKENS = 32  # neighbouring sentences are joined up to so many
LONGEST_SENTENCE = 64  # tokens; a longer one, such as of a transcript without marks, is cut between words
SLACK = 2  # tokens left free: a passage that begins where no blank is can have one more than there
Offsets = Integers  # of tokens: first characters, or last + 1, (T,)
Tokens = tuple[int, int]  # first token, last + 1


def own_token_vectors(encoder: Encoder, sentences: Sequence[str], prompt: str = "") -> list[Vectors]:
    """The unit vectors of each sentence's own tokens, (T, width) float32; (0, width) for a sentence without any."""
    return [own for _, own in _read(encoder, sentences, prompt)]


def with_token_vectors(encoder: Encoder, sentences: Sequence[str], prompt: str = "") -> tuple[Vectors, list[Vectors]]:
    """The embeddings of n sentences, (n, dim), not normalised, and their `own_token_vectors`: each is read once for both."""
    read = list(_read(encoder, sentences, prompt))
    return np.array([encoder.pool(tokens) for tokens, _ in read]), [own for _, own in read]


def _read(encoder: Encoder, sentences: Sequence[str], prompt: str) -> Iterator[tuple[Vectors, Vectors]]:
    """Of each sentence the vectors of all its tokens, and the unit vectors of its own ones, (T, width) each."""
    encodings = encoder.encodings(sentences, prompt)
    vectors = encoder.hidden([encoding.ids for encoding in encodings])
    for rows, encoding in zip(vectors, encodings, strict=True):
        yield rows[: len(encoding.ids)], unit_rows(rows[_own(encoding, len(prompt))[0]])


def places(encoder: Encoder, sentence: str, prompt: str = "") -> tuple[Rows, Rows]:
    """Where a sentence's T own tokens are: the first and last character + 1 of each, (T, 2), and the number of its word, (T,).

    In scripts without spaces the tokeniser's own words are meant, in others what is between spaces and punctuation.
    """
    encoding = encoder.encodings([sentence], prompt)[0]
    own, spans = _own(encoding, len(prompt))
    return np.clip(spans, 0, len(sentence)), np.array([encoding.word_ids[i] for i in own.tolist()], dtype=np.int64)


def characters_read(encoder: Encoder, sentence: str, prompt: str = "") -> int:
    """How many characters of a sentence the model reads; what is after them is cut."""
    encoding = encoder.encodings([sentence], prompt)[0]
    return max(0, *(int(end) - len(prompt) for _, end in encoding.offsets)) if encoding.overflowing else len(sentence)


def is_one_piece(encoder: Encoder, word: str) -> bool:
    """Whether the model's vocabulary holds the word as a whole, as it does frequent words."""
    return len(_own(encoder.encodings([word])[0], 0)[0]) == 1


def _own(encoding: Any, prompt: int) -> tuple[Integers, Offsets]:
    """Of the tokens that are neither special nor of the prompt, which takes so many characters: positions, and spans after it."""
    special = np.array(encoding.special_tokens_mask, dtype=bool)
    spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    own = np.flatnonzero(~special & (spans[:, 1] > prompt))
    return own, spans[own] - prompt


def passage_spans(encoder: Encoder, texts: Sequence[str]) -> dict[int, list[Span]]:
    """The passages of each text that is longer than the model reads, by its number; together they are the text."""
    prompt = encoder.document_prompt
    room = encoder.max_length - SPECIAL_TOKENS - len(prompt.encode())  # a token has one byte or more
    candidates = [number for number, text in enumerate(texts) if len(text.encode()) > room]
    ids = encoder.tokenize([texts[number] for number in candidates], prompt)
    filled = [number for number, row in zip(candidates, ids, strict=True) if len(row) >= encoder.max_length]
    encodings = encoder.encodings([texts[number] for number in filled], prompt)
    cut = {number: _cut(encoder, texts[number], encoding) for number, encoding in zip(filled, encodings, strict=True)}
    return {number: spans for number, spans in cut.items() if spans}


def _cut(encoder: Encoder, text: str, encoding: Any) -> list[Span]:
    """The passages of one text. encoding: its first tokens; its `overflowing` holds all others, max_length at a time."""
    windows = [_own(window, len(encoder.document_prompt))[1] for window in (encoding, *encoding.overflowing)]
    if len(windows) == 1 or not len(windows[0]):
        return []
    offsets = np.concatenate(windows)
    if encoder.layout.lower_case and len(text.lower()) != len(text):  # the offsets are of the lower-cased text
        origin = np.repeat(np.arange(len(text)), [len(character.lower()) for character in text])
        starts, ends = np.clip(offsets - [0, 1], 0, len(origin) - 1).T
        offsets = np.stack([origin[starts], origin[ends] + 1], axis=1)
    starts, ends = np.maximum.accumulate(np.clip(offsets, 0, len(text)), axis=0).T
    room = max(1, min(LONGEST_SENTENCE, len(windows[0]) - SLACK))
    passages = _joined(_pieces(text, starts, ends, room), min(JOINED_TOKENS, room))
    spans = [(int(starts[first]), int(ends[last - 1])) for first, last in passages]
    return [(end - len(text[start:end].lstrip()), end) for start, end in spans]  # without a blank in front


def _pieces(text: str, starts: Offsets, ends: Offsets, room: int) -> list[Tokens]:
    """The tokens of each sentence; a sentence of more than `room` tokens is cut between words."""
    sentences = np.array(sentence_spans(text), dtype=np.int64).reshape(-1, 2)
    firsts, lasts = np.searchsorted(ends, sentences[:, 0], side="right"), np.searchsorted(starts, sentences[:, 1], side="left")
    pieces = []
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        while last - first > room:
            middle = _between_words(text, starts, ends, first, room)
            pieces.append((first, middle))
            first = middle
        if last > first:
            pieces.append((first, last))
    return pieces


def _between_words(text: str, starts: Offsets, ends: Offsets, first: int, room: int) -> int:
    """Of the `room` tokens after the first, the last one that begins a word, or else a character."""
    after = np.arange(first + 1, first + room + 1)
    blank = np.array([text[start : start + 1].isspace() for start in starts[after].tolist()])
    for allowed in ((starts[after] > ends[after - 1]) | blank, starts[after] >= ends[after - 1]):
        if allowed.any():
            return int(after[allowed][-1])
    return first + room


def _joined(pieces: Sequence[Tokens], room: int) -> list[Tokens]:
    """Join neighbours, from the beginning, as long as they have at most `room` tokens together."""
    joined: list[Tokens] = []
    for first, last in pieces:
        if joined and last - joined[-1][0] <= room:
            joined[-1] = joined[-1][0], last
        else:
            joined.append((first, last))
    return joined
