"""Describe clusters: keywords by class-based tf-idf (Grootendorst 2022, BERTopic), and the central sentence."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sbert_app.mapping.quality import Labels
from sbert_app.vectors import Vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

KEYWORDS = 6
WORD = r"(?u)\b[^\W\d_][\w+#'-]{0,29}\b[+#]*"  # starts with a letter; c++ and c# stay whole
# Words that carry no topic in any cluster.
STOP_WORDS = """s t d m re ve ll n't
a about after again all also am an and any are as at be because been before being but by can can't cannot could couldn't did
didn't do does doesn't doing don don't down during each few for from get gets getting got had has have having he her here
hers him his how i i'd i'll i'm i've if in into is isn it it's its just like make me more most my need never no nor not now
of off on once one only or other our out over own please same she should so some still such than that that's the their them
then there these they this those through to too trying two under until up use used using very want was way we were what when
where which while who whom why will with without won't would you your yours
""".split()


class Words:
    """The words of n sentences, counted once, so that the keywords of any clustering take milliseconds."""

    def __init__(self, sentences: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(token_pattern=WORD, stop_words=STOP_WORDS, dtype=np.int32)
        try:
            self._counts = vectorizer.fit_transform(sentences)
        except ValueError:  # only stop words
            self._counts, self._words = None, np.array([], dtype=object)
            return
        self._words = vectorizer.get_feature_names_out()

    def keywords(self, labels: Labels, most: int = KEYWORDS) -> list[list[str]]:
        """The `most` most distinctive words of each cluster 0..k-1, best first; outliers (-1) are ignored."""
        groups = int(labels.max(initial=-1)) + 1
        if self._counts is None or not groups:
            return [[] for _ in range(groups)]
        from scipy.sparse import csr_matrix

        inside = np.flatnonzero(labels >= 0)
        member = csr_matrix((np.ones(len(inside)), (labels[inside], inside)), shape=(groups, len(labels)))
        counts = (member @ self._counts).tocsr()
        totals = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
        frequency = np.asarray(counts.sum(axis=0)).ravel()
        # Beyond the formula, also weigh by the share of a word's uses that fall in the cluster: "said" occurs in all news.
        weight = np.log1p(totals.mean() / np.maximum(frequency, 1)) / np.maximum(frequency, 1)
        return [self._best(counts[group], weight, most) for group in range(groups)]

    def distinctive_words(self, rows: NDArray[np.integer], most: int = KEYWORDS) -> list[str]:
        """The words that distinguish some rows from all the others."""
        if self._counts is None:
            return []
        labels = np.ones(self._counts.shape[0], np.int32)
        labels[rows] = 0
        return self.keywords(labels, most)[0]

    def _best(self, counts: "csr_matrix", weight: NDArray[np.float64], most: int) -> list[str]:
        scores = counts.data.astype(np.float64) ** 2 * weight[counts.indices]
        order = np.argsort(-scores, kind="stable")[:most]
        return [str(word) for word in self._words[counts.indices[order]]]


def central(vectors: Vectors, labels: Labels) -> dict[int, int]:
    """The most central row of each cluster: the one closest by cosine to the mean of its cluster."""
    rows = {}
    for number in np.unique(labels[labels >= 0]).tolist():
        members = np.flatnonzero(labels == number)
        rows[number] = int(members[np.argmax(vectors[members] @ vectors[members].mean(axis=0))])
    return rows


def names(keywords: Sequence[Sequence[str]], most: int = 3) -> list[str]:
    """A distinct name per cluster: its first keywords; a number if there are none or two clusters have the same."""
    counts: dict[str, int] = {}
    names = []
    for number, words in enumerate(keywords, 1):
        name = " · ".join(words[:most]) or f"cluster {number}"
        counts[name] = counts.get(name, 0) + 1
        names.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return names
