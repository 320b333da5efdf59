"""A corpus that is searched before the model has read all of it: words and static vectors choose rows, which it reads at once.

Static vectors tell where a row probably lies, by its words alone. They are never a score.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.duplicates import Copies, Duplicates
from sbert_app.corpus.mining import mine
from sbert_app.corpus.ranking.fusion import best_first, best_rows, hybrid
from sbert_app.corpus.ranking.lexical import WORD, LexicalIndex
from sbert_app.corpus.ranking.maxsim import TokenCache
from sbert_app.corpus.vector_index import sampled
from sbert_app.settings import ASSETS
from sbert_app.step import Step
from sbert_app.vectors import Mask, Rows, Vectors, distinct, unit_rows

CANDIDATES, BY_WORDS = 100, 20  # rows that are read for a query; of these the best by words alone (docs/search.md)
FIRST = 20  # of the candidates those that are read for first hits
LEARNED, MOST_LEARNED = 500, 2_000  # rows by which the static vectors are mapped at first, and at most
DEPTH = 200  # of the ranking by static vectors, and of that by words, from which they are chosen
MOST_WORDS = 5_000  # of a corpus that have a vector, those that weigh most; twice as many find as much (docs/search.md)
SHIPPED_WORDS = ASSETS / "words.npz"  # the directions of frequent words, by the encoder that comes with the app: `make shipped`
SHRINKAGE, PART = 0.01, 10_000  # of the map, times the rows that it learns from; rows mapped at a time
MOST_SAME_WORDS, READ = 1_000, 50  # rows that are compared by `duplicates`, and read at a time


class StaticVectors:
    """Unit vectors of all rows of a corpus, (n, dim) float32, zero for a row without such a word.

    The model encodes each word by itself, as model2vec does each token; a row is the sum over its words as BM25 weights them. The
    mean is taken from the words, for it says nothing of a row.
    """

    def __init__(self, lexical: LexicalIndex, shipped: bool = False) -> None:
        """shipped: for the encoder that comes with the app, of which frequent words are known."""
        weights, words = lexical.weighted_words()
        heaviest = np.argsort(-np.asarray(weights.sum(axis=0)).ravel(), kind="stable")[:MOST_WORDS]
        chosen, known = [words[word] for word in heaviest.tolist()], shipped_words() if shipped else {}
        has = np.array([word in known for word in chosen], bool)
        self.words = [word for word in chosen if word not in known]  # that are left to encode
        order = np.concatenate([heaviest[has], heaviest[~has]])
        self._weights, self._known = weights[:, order], [known[word] for word in chosen if word in known]
        self.share = float(self._weights[:, : len(self._known)].sum() / max(self._weights.sum(), 1e-12))  # that known words weigh

    def place(self, vectors: Vectors | tuple[()] = ()) -> None:
        """Place the rows by the known words; with the embeddings of `words`, (w, dim), by all of them, which is the last time."""
        unit = unit_rows(np.array([*self._known, *vectors], dtype=np.float32))
        self.rows = unit_rows(self._weights[:, : len(unit)] @ unit_rows(unit - unit.mean(axis=0)))
        self._map, self._lengths = np.eye(self.rows.shape[1], dtype=np.float32), np.ones(len(self.rows), np.float32)
        if len(vectors) == len(self.words):
            del self._weights, self._known

    def learn(self, rows: Rows, embeddings: Vectors) -> None:
        """Map the vectors closer to the model's: ridge regression on some rows, (k,), and their unit embeddings, (k, dim)."""
        # Shrunk towards no map at all, so that some hundred rows do no harm.
        known, strength = self.rows[rows], SHRINKAGE * len(rows) * np.eye(self.rows.shape[1])
        mapped = np.linalg.solve(known.T @ known + strength, known.T @ embeddings + strength).astype(np.float32)
        parts = np.array_split(self.rows, -(-len(self.rows) // PART))
        lengths = np.concatenate([np.linalg.norm(part @ mapped, axis=1) for part in parts])
        self._map, self._lengths = mapped, np.maximum(lengths, 1e-12)

    def cosines(self, query: Vectors) -> Vectors:
        """How close each row probably is to a unit query, (dim,) -> (n,)."""
        return np.asarray(self.rows @ (self._map @ query) / self._lengths, dtype=np.float32)


def shipped_words() -> dict[str, NDArray[np.int8]]:
    """Frequent words of the vocabulary of the encoder that comes with the app: the directions of their embeddings, (dim,)."""
    with np.load(SHIPPED_WORDS) as file:
        return dict(zip(file["words"].astype(str).tolist(), file["vectors"], strict=True))


@dataclass(eq=False)
class Growing:
    """What the model has read of n sentences: by queries, and by the indexing behind them."""

    sentences: Sequence[str]
    lexical: LexicalIndex
    static: StaticVectors
    encode: Callable[[list[str]], tuple[Vectors, list[Vectors]]]  # k sentences -> (k, dim), and each one's own token vectors
    indexed: Vectors  # rows of any length, (n, dim), which the indexing writes
    has: Mask  # which of them it has written, (n,)
    embeddings: Vectors = field(init=False)  # unit rows, (n, dim)
    done: Mask = field(init=False)  # which of them are there, (n,)
    tokens: TokenCache = field(default_factory=TokenCache)  # of the rows that were read here
    _learned: int = LEARNED // 2  # rows that the static vectors were mapped by; before the first time half of the least

    def __post_init__(self) -> None:
        self.embeddings, self.done = np.zeros(self.indexed.shape, np.float32), np.zeros(len(self.has), bool)
        self._copies = Copies.of(self.sentences)

    @property
    def nbytes(self) -> int:
        """Memory besides sentences and `embeddings`, in bytes."""
        return self.static.rows.nbytes + self.indexed.nbytes

    @property
    def read(self) -> int:
        """How many rows the model has read."""
        return int((self.done | self.has).sum())

    @property
    def progress(self) -> str:
        """How far the model is, in words."""
        return f"The model has read {self.read:,} of {len(self.sentences):,} rows"

    @property
    def refusal(self) -> str:
        """Why what needs all rows cannot be done yet."""
        return f"{self.progress}, and this needs all of them. Search works already. If it was stopped, read the file again."

    def fill(self, rows: Rows) -> None:
        """Let the model read those of these rows that it has not read yet."""
        self._take_indexed()
        if len(unread := rows[~self.done[rows]]):
            vectors, tokens = self.encode([self.sentences[row] for row in unread.tolist()])
            self._put(unread, vectors)
            self.tokens.keep(unread.tolist(), tokens)

    def learn(self) -> None:
        """Map the static vectors by the rows read, again each time these have doubled, up to MOST_LEARNED."""
        rows = np.flatnonzero(self.done)
        if min(len(rows), MOST_LEARNED) >= 2 * self._learned:
            self._learned = len(rows)
            rows = rows[sampled(len(rows), MOST_LEARNED)]
            self.static.learn(rows, self.embeddings[rows])

    def ranked(self, query: Vectors, text: str, fits: Mask | None, most: int = CANDIDATES) -> Mask:
        """Read the rows that are most likely the best for a unit query, (dim,), and its text; those that fit and are read, (n,)."""
        self._take_indexed()
        self.learn()
        self.fill(self.candidates(query, text, fits)[:most])
        return self.done.copy() if fits is None else self.done & fits

    def candidates(self, query: Vectors, text: str, fits: Mask | None) -> Rows:
        """The most likely rows, each of another text, at most CANDIDATES."""
        cosines, words = self.static.cosines(query), self.lexical.scores(text)
        rows = np.arange(len(words)) if fits is None else np.flatnonzero(fits)
        rows = rows[np.unique(self._copies.node[rows], return_index=True)[1]]
        once = np.zeros_like(words)
        once[rows] = words[rows]
        closest = rows[best_first(cosines[rows])[:DEPTH]]
        both = hybrid(closest, cosines.__getitem__, once, self.lexical.coverage(text, once))[0]
        order = np.concatenate([both[: CANDIDATES - BY_WORDS], best_rows(once, CANDIDATES), both])
        return order[np.sort(np.unique(order, return_index=True)[1])][:CANDIDATES]

    def duplicates(self) -> Iterator[Step[Duplicates]]:
        """Exact copies, and texts that differ only in case, spaces and punctuation. The last step has the result."""
        copies = self._copies
        words = [" ".join(WORD.findall(self.sentences[row].casefold())) for row in copies.first.tolist()]
        _, kind = distinct(words)
        nodes = np.flatnonzero((np.bincount(kind)[kind] > 1) & np.array(list(map(bool, words))))[:MOST_SAME_WORDS].astype(np.int32)
        rows = copies.first[nodes]
        for done in range(0, len(rows), READ):
            yield Step("Reading rows", done, len(rows))
            self.fill(rows[done : done + READ])
        for step in mine(self.embeddings[rows]):
            if pairs := step.result:
                nodes1, nodes2 = nodes[pairs.rows1], nodes[pairs.rows2]
                same = kind[nodes1] == kind[nodes2]
                pairs = replace(pairs, rows1=nodes1[same], rows2=nodes2[same], scores=pairs.scores[same])
            yield Step(step.stage, step.done, step.total, result=Duplicates(copies, pairs) if pairs else None)

    def _take_indexed(self) -> None:
        rows = np.flatnonzero(self.has & ~self.done)
        self._put(rows, self.indexed[rows])

    def _put(self, rows: Rows, vectors: Vectors) -> None:
        self.embeddings[rows] = unit_rows(vectors)
        self.done[rows] = True
