"""Search by words with BM25 (library bm25s); words and sentences of a text, and cosines by tf-idf."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sbert_app.vectors import Array, Vectors

if TYPE_CHECKING:
    import bm25s
    from scipy.sparse import csr_matrix

Item = TypeVar("Item")
Span = tuple[int, int]  # first character, last character + 1
Tick = Callable[[], None]  # called between steps, may raise

K1, B = 1.2, 0.75  # the usual parameters of BM25
HELD_ONCE = 1 / (1 + K1)  # what a word that occurs once in a row of average length adds to its score, times its rarity
CHARACTERS = r"\u3041-\u309f\u3400-\u9fff"  # of Japanese and Chinese, written without spaces: each is a word, as Lucene has it
WORD = re.compile(rf"[^\W{CHARACTERS}]+|[{CHARACTERS}]")
SENTENCE_END = re.compile(r"(?<=[.!?…])(?P<quotes>[\"'”’)\]]*)\s+|(?<=[。！？])|\n+")
NO_WORD = ""  # the token of a sentence without words; no query contains it
STOP_WORDS = frozenset(  # they carry no topic; if indexed, "how do I" would outweigh the noun of a question
    """a an and are as at be but by for from had has have how i if in into is it its me my no not of on or our so
    that the their them then there these they this to was we were what when where which who will with you your do does
    did can could would should am been being he she his her""".split()
)


class LexicalIndex:
    """BM25 scores: 0 and up, higher is closer; not comparable between queries."""

    def __init__(self, scorer: "bm25s.BM25") -> None:
        self._scorer = scorer

    @classmethod
    def build(cls, sentences: Iterable[str]) -> "LexicalIndex":
        scorer = _library().BM25(method="lucene", k1=K1, b=B)
        # bm25s lets this be overridden; its own way is a loop over sentences, which sets the array that other methods have.
        scorer.build_index_from_ids, scorer.nonoccurrence_array = _weights, None
        numbers: dict[str, int] = {}
        words = [[numbers.setdefault(word, len(numbers)) for word in tokenize(sentence) or [NO_WORD]] for sentence in sentences]
        scorer.index((words, numbers), show_progress=False)
        return cls(scorer)

    def scores(self, query: str) -> Vectors:
        """One score per sentence, (n,); 0 where no word of the query occurs."""
        words = [word for word in tokenize(query) if word in self._scorer.vocab_dict]
        if not words:
            return np.zeros(self._scorer.scores["num_docs"], dtype=np.float32)
        return np.asarray(self._scorer.get_scores(words), dtype=np.float32)

    def coverage(self, query: str, scores: Vectors) -> float:
        """How much of the query, by how rare its words are, the best of its scores covers, 0..1: 1 for a row that has them all."""
        all_words = float(self.rarity(tokenize(query)).sum()) * HELD_ONCE
        return min(1.0, float(scores.max(initial=0.0)) / all_words) if all_words else 0.0  # for stop words alone

    def rarity(self, words: Sequence[str]) -> Array:
        """How rare each lower-cased word is, (w,): ln(1 + (n - d + 0.5) / (d + 0.5)), held by d of n sentences; stop words: 0."""
        count, starts = int(self._scorer.scores["num_docs"]), self._scorer.scores["indptr"]
        tokens = [self._scorer.vocab_dict.get(word) for word in words]
        holding = np.array([0 if token is None else int(starts[token + 1] - starts[token]) for token in tokens], dtype=float)
        rare = np.log1p((count - holding + 0.5) / (holding + 0.5))
        return np.where([word in STOP_WORDS for word in words], 0.0, rare)

    def weighted_words(self) -> tuple["csr_matrix", list[str]]:
        """What each word adds to the score of each sentence, (n, words) sparse float32, and the words."""
        from scipy.sparse import csc_matrix  # not for the first page

        parts, vocabulary = self._scorer.scores, self._scorer.vocab_dict
        columns = len(parts["indptr"]) - 1
        weights = csc_matrix((parts["data"], parts["indices"], parts["indptr"]), (parts["num_docs"], columns))
        return weights.tocsr(), sorted(vocabulary, key=vocabulary.__getitem__)[:columns]

    @property
    def words(self) -> Iterable[str]:
        """All words of the sentences, lower-cased, without stop words."""
        return (word for word in self._scorer.vocab_dict if isinstance(word, str) and word != NO_WORD)

    def save(self, folder: Path) -> None:
        self._scorer.save(folder / "bm25", show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> "LexicalIndex":
        return cls(_library().BM25.load(folder / "bm25"))


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a text, in order, without the blanks between them."""
    breaks = list(SENTENCE_END.finditer(text))
    starts = [0, *(gap.end() for gap in breaks)]
    ends = [*(gap.start() + len(gap["quotes"] or "") for gap in breaks), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]


def tokenize(sentence: str) -> list[str]:
    """Lower-cased words without stop words. A sentence of stop words alone keeps them."""
    words = WORD.findall(sentence.lower())
    return [word for word in words if word not in STOP_WORDS] or words


def ticking(items: Iterable[Item], tick: Tick) -> Iterator[Item]:
    """The items, `tick` being called before each: it may raise, which ends what reads them."""
    for item in items:
        tick()
        yield item


def tf_idf_cosines(
    columns: Sequence[Sequence[str]], tick: Tick = lambda: None, counted: Sequence[Sequence[str]] = (), **terms: Any
) -> list[Array]:
    """The cosine of each first sentence with that of every other column, (n,) each, by terms weighted by how rare they are.

    columns: n sentences each; counted: in which rarity is counted, by default these; terms: as of TfidfVectorizer, if not words.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second

    vectorizer = TfidfVectorizer(**(terms or {"token_pattern": WORD.pattern}))
    try:
        vectorizer.fit(ticking(dict.fromkeys(sentence for column in counted or columns for sentence in column), tick))
    except ValueError:  # no sentence has a word
        return [np.zeros(len(columns[0])) for _ in columns[1:]]
    first, *others = (vectorizer.transform(ticking(column, tick)) for column in columns)
    return [np.asarray(first.multiply(other).sum(axis=1), dtype=np.float64).ravel() for other in others]


def _weights(unique_token_ids: Sequence[int], corpus_token_ids: Sequence[Sequence[int]], **_: Any) -> dict[str, Any]:
    """What each word adds to the score of each sentence, (n, words) by columns, all at once."""
    from scipy.sparse import csr_matrix  # not for the first page

    lengths = np.fromiter(map(len, corpus_token_ids), np.int64, len(corpus_token_ids))
    tokens = np.fromiter(chain.from_iterable(corpus_token_ids), np.int32, lengths.sum())
    ones, starts = np.ones(len(tokens), np.float32), np.concatenate([[0], np.cumsum(lengths)])
    counts = csr_matrix((ones, tokens, starts), (len(lengths), len(unique_token_ids))).tocsc()
    counts.sum_duplicates()
    holding = np.diff(counts.indptr)
    rarity = np.log1p((len(lengths) - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    saturation = (K1 * (1 - B + B * lengths / lengths.mean())).astype(np.float32)[counts.indices]
    data = np.repeat(rarity, holding) * counts.data / (counts.data + saturation)
    return {"data": data, "indices": counts.indices, "indptr": counts.indptr, "num_docs": len(lengths)}


def _library() -> Any:
    """bm25s, without the lines that it logs about every index."""
    import bm25s  # takes half a second: it imports numba

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s
