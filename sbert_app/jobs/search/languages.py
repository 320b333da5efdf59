"""Notice queries and corpora in a language that a model hardly reads: Similarity's caution, for Search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.explain.attribution import is_special
from sbert_app.explain.cautions import Pieces, unread

if TYPE_CHECKING:
    from sbert_app.explain.attribution import TokenVectors
    from sbert_app.models.encoder import Encoder

SAMPLED, BEGINNING = 200, 300  # rows of a corpus, characters of each
LEAST_ROWS, LEAST_SHARE = 2, 0.1  # of the sampled rows: below it, they are quotations and names


def pieces_of(encoder: "Encoder", tokens: "TokenVectors") -> Pieces:
    """How the tokeniser split a sentence, without special tokens."""
    counts = np.bincount(tokens.word, minlength=len(tokens.words)).tolist()
    words = [(word, count) for word, count in zip(tokens.words, counts, strict=True) if not is_special(word)]
    return Pieces(words, tokens.unknown, encoder.pieces_a_sample_word)


def query_caution(encoder: "Encoder", query: str) -> tuple[str, ...]:
    """A sentence on a query that the model hardly reads, else nothing."""
    reason = unread(query, pieces_of(encoder, encoder.split(query)))
    return (f"The query {reason}: do not rely on these hits.",) if reason else ()


def corpus_caution(encoder: "Encoder", sentences: Sequence[str]) -> tuple[str, ...]:
    """A sentence on how many rows the model hardly reads, judged by a sample of them; nothing if these are few."""
    total = len(sentences)
    sample = [sentences[i][:BEGINNING] for i in np.linspace(0, total - 1, min(total, SAMPLED)).astype(int)]
    count = sum(bool(unread(text, pieces_of(encoder, encoder.split(text)))) for text in sample)
    if count < max(LEAST_ROWS, LEAST_SHARE * len(sample)):
        return ()
    rows = f"{count:,}" if len(sample) == total else f"About {10 * round(total * count / len(sample) / 10):,}"
    return (f"{rows} of {total:,} rows are in a language or script that {encoder.name} hardly reads: do not rely on their scores.",)
