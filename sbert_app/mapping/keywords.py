"""Describe clusters: keywords that many of its sentences have and few others, names made of them, and the central sentence."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sbert_app.mapping.clusters import Labels
from sbert_app.mapping.word_forms import Tokens, akin
from sbert_app.vectors import Integers, Vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

KEYWORDS = 6  # of a cluster, at most
MANY = 10  # sentences, of which a word used once is no keyword
SEPARATOR = " · "
LABEL = 2  # terms of a name that no other cluster has; it has one more
# Two words are one term where they occur side by side: often enough, in most uses of the rarer and in many of the other word.
PAIR_USES, RARER_SHARE, OTHER_SHARE = 3, 0.5, 0.25


class Words:
    """The terms of n sentences, words and pairs of words, counted once: keywords of any clustering take milliseconds."""

    def __init__(self, sentences: Sequence[str]) -> None:
        tokens = Tokens(sentences)
        forms = tokens.forms()
        self._words = tokens.words
        self._counts = _counted(tokens.rows[tokens.topical], forms[tokens.numbers[tokens.topical]], (len(sentences), len(forms)))
        self._pair_words, self._pair_names, self._pair_counts = _pairs(tokens, forms, len(sentences))

    def keywords(self, labels: Labels) -> list[list[str]]:
        """The most distinctive terms of each cluster 0..k-1, best first; outliers (-1) are ignored."""
        groups = int(labels.max(initial=-1)) + 1
        if not groups:
            return []
        inside = np.flatnonzero(labels >= 0)
        member = _counted(labels[inside], inside, (groups, len(labels)))
        counts, pairs = member @ self._counts, member @ self._pair_counts
        scores = _distinctive(counts, np.bincount(labels[inside], minlength=groups))
        return [self._best(scores[group], counts[group], pairs[group]) for group in range(groups)]

    def distinctive_words(self, rows: NDArray[np.integer]) -> list[str]:
        """The terms that distinguish some rows from all the others."""
        labels = np.ones(self._counts.shape[0], np.int32)
        labels[rows] = 0
        return self.keywords(labels)[0]

    def _best(self, scores: "csr_matrix", counts: "csr_matrix", pairs: "csr_matrix") -> list[str]:
        """The best terms of one cluster: words by score, but a pair of words in the place of both."""
        partners = self._partners(counts, pairs)
        terms: list[str] = []
        named: list[int] = []
        for word in scores.indices[np.argsort(-scores.data, kind="stable")].tolist():
            if len(terms) == KEYWORDS:
                break
            if any(akin(self._words[word], self._words[other]) for other in named):
                continue
            partner, term = partners.get(word, (word, self._words[word]))
            alone = partner == word or any(akin(self._words[partner], self._words[other]) for other in named)
            terms.append(self._words[word] if alone else term)
            named += [word] if alone else [word, partner]
        return terms

    def _partners(self, counts: "csr_matrix", pairs: "csr_matrix") -> dict[int, tuple[int, str]]:
        """Per word of a cluster that mostly occurs beside another one: this word, and the pair as text."""
        uses = np.zeros(len(self._words))
        uses[counts.indices] = counts.data
        both = np.sort(uses[self._pair_words[pairs.indices]], axis=1)  # the rarer word first
        often = (pairs.data >= PAIR_USES) & (pairs.data >= RARER_SHARE * both[:, 0]) & (pairs.data >= OTHER_SHARE * both[:, 1])
        partners: dict[int, tuple[int, str]] = {}
        for pair in pairs.indices[often][np.argsort(pairs.data[often], kind="stable")].tolist():  # the most frequent pair wins
            first, second = self._pair_words[pair].tolist()
            partners |= {first: (second, self._pair_names[pair]), second: (first, self._pair_names[pair])}
        return partners


def _distinctive(counts: "csr_matrix", sizes: Integers) -> "csr_matrix":
    """The score of each word in each cluster: excess² / (uses + size), where excess is how often the word occurs in the cluster
    beyond the cluster's share of all words, uses how often it occurs anywhere, and size the cluster's sentences.

    Like an F-measure, it is high for a word that many sentences of the cluster have and few others: a word of one sentence scores
    low, though no other cluster has it, and so does "said" in news.
    None is of a word used once by many sentences, nor of one that the others use more.
    """
    scores = counts.astype(np.float64)
    group = np.repeat(np.arange(len(sizes)), np.diff(scores.indptr))
    uses = np.asarray(counts.sum(axis=0)).ravel()[scores.indices]
    words = np.asarray(counts.sum(axis=1)).ravel()
    share = words / max(1, words.sum()) if len(sizes) > 1 else np.zeros(1)  # the only cluster is compared with nothing
    once_of_many = (scores.data == 1) & (sizes[group] >= MANY)
    scores.data = np.maximum(0, scores.data - share[group] * uses) ** 2 / (uses + sizes[group]) * ~once_of_many
    scores.eliminate_zeros()
    return scores


def _counted(rows: NDArray[np.integer], columns: NDArray[np.integer], shape: tuple[int, int]) -> "csr_matrix":
    """How often each column occurs in each row."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)


def _pairs(tokens: Tokens, forms: Integers, rows: int) -> tuple[Integers, list[str], "csr_matrix"]:
    """Pairs of words side by side, used twice or more: their words (p, 2), their most frequent spelling, their counts by row."""
    numbers, size = tokens.numbers, len(forms)
    first = np.flatnonzero(tokens.topical[:-1] & tokens.topical[1:] & (tokens.rows[:-1] == tokens.rows[1:]))
    first = first[forms[numbers[first]] != forms[numbers[first + 1]]]
    spelt, spelling, uses = np.unique(
        numbers[first].astype(np.int64) * size + numbers[first + 1], return_inverse=True, return_counts=True
    )
    merged, pair = np.unique(forms[spelt // size] * size + forms[spelt % size], return_inverse=True)
    best = np.zeros(len(merged), np.int64)
    order = np.argsort(uses, kind="stable")
    best[pair[order]] = spelt[order]
    often = np.flatnonzero(np.bincount(pair, uses, minlength=len(merged)) > 1)
    position = np.full(len(merged), -1)
    position[often] = np.arange(len(often))
    column = position[pair[spelling]]
    counts = _counted(tokens.rows[first[column >= 0]], column[column >= 0], (rows, len(often)))
    names = [f"{tokens.words[key // size]} {tokens.words[key % size]}" for key in best[often].tolist()]
    return np.stack([merged[often] // size, merged[often] % size], axis=1), names, counts


def central(vectors: Vectors, labels: Labels) -> list[int]:
    """The most central row of each cluster: the one closest by cosine to the mean of its cluster."""
    clusters = [np.flatnonzero(labels == number) for number in range(labels.max(initial=-1) + 1)]
    return [int(rows[np.argmax(vectors[rows] @ vectors[rows].mean(axis=0))]) for rows in clusters]


def names(keywords: Sequence[Sequence[str]]) -> list[str]:
    """A name per cluster from its first terms. Its first two, and all three, are no other cluster's in any order: where they are,
    the next term is used."""
    taken: set[frozenset[str]] = set()
    names = []
    for number, terms in enumerate(keywords, 1):
        chosen = _untaken(list(terms), taken) or [*terms[:1], f"cluster {number}"]
        label = chosen[:LABEL]
        third = next(([term] for term in chosen[LABEL:] if frozenset([*label, term]) not in taken), [])
        taken |= {frozenset(label), frozenset([*label, *third])}
        names.append(SEPARATOR.join([*label, *third]))
    return names


def _untaken(terms: list[str], taken: set[frozenset[str]]) -> list[str]:
    """The terms, with the second one changed until no other cluster begins with the same two; empty if there is no such term."""
    for second in range(1, max(2, len(terms))):
        chosen = [*terms[:1], *terms[second : second + 1], *terms[1:second], *terms[second + 1 :]]
        if chosen and frozenset(chosen[:LABEL]) not in taken:
            return chosen
    return []
