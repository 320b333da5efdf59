"""Put a score into words: where it lies among random pairs and among pairs written to be related or to mean the same."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sbert_app.explain.cautions import LANGUAGE, NEGATION, NUMBERS, ORDER
from sbert_app.explain.words import shared_content
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import read_table
from sbert_app.vectors import Vectors, unit_rows

SAME, CLOSE, TOPIC, LOOSE, UNRELATED = "Same meaning", "Close in meaning", "Close in topic", "Loosely related", "Unrelated"
WORDS = (SAME, CLOSE, TOPIC, LOOSE, UNRELATED)
UNCERTAIN = "Uncertain"  # the model does not read one of the sentences
CONTRADICTIONS = frozenset((NEGATION, NUMBERS, ORDER))
PAIRS = 20_000
FOLDER = ASSETS / "labelled"
SCORED, LABELLED = FOLDER / "requests_scored.csv", FOLDER / "instructions_labelled.csv"
RELATED_SCORES = 2.0, 3.5  # of 5: the same thing, another request
PARAPHRASE_SCORE = 4.5
OTHER_LABEL, SAME_LABEL = "other", "same"  # "opposite" pairs are left out
KEPT_WORDS = 0.5  # share of the content words: a paraphrase keeps at least as many
MOST_REFERENCES = 128  # pairs of each kind

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Calibration:
    """Cosines of random pairs of one corpus, sorted, (m,). example: whether it is an example corpus, as the visitor has none."""

    name: str
    scores: Vectors
    example: bool = False

    @property
    def whose(self) -> str:
        """The corpus, as a sentence names it."""
        return f"the example {self.name}" if self.example else self.name

    @classmethod
    def from_embeddings(cls, name: str, embeddings: Vectors) -> "Calibration":
        """Draw up to 20,000 pairs of different rows, seeded. embeddings: (n, dim), n >= 2."""
        rows = len(embeddings)
        generator = np.random.default_rng(0)
        first = generator.integers(rows, size=PAIRS)
        second = (first + generator.integers(1, rows, size=PAIRS)) % rows
        return cls(name, np.sort(np.einsum("nd,nd->n", unit_rows(embeddings[first]), unit_rows(embeddings[second]))))

    def percentile(self, score: float) -> float:
        """Percentage of the random pairs that score lower, 0..100."""
        return 100 * float(np.searchsorted(self.scores, score)) / len(self.scores)


@dataclass(frozen=True)
class References:
    """Cosines, under one model, of pairs whose meaning is known, rising."""

    related: Vectors  # about one subject
    paraphrases: Vectors  # the same meaning in partly the same words
    other_words: Vectors  # the same meaning without a word in common

    @property
    def weak(self) -> float:
        """The score that 19 of 20 related pairs exceed."""
        return _quantile(self.related, 0.05)


@dataclass(frozen=True)
class Mark:
    """A point on the scale: the median score of `pairs` pairs."""

    name: str
    score: float
    pairs: int


@dataclass(frozen=True)
class Scale:
    """What scores of one model mean."""

    random: Calibration
    references: References

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The medians of random pairs, related pairs and paraphrases."""
        named = ("random", self.random.scores), ("related", self.references.related), ("paraphrase", self.references.paraphrases)
        return tuple(Mark(name, _quantile(scores, 0.5), len(scores)) for name, scores in named)

    @property
    def other_words(self) -> Mark:
        """The median of pairs that mean the same without a word in common: how low such a pair may score."""
        scores = self.references.other_words
        return Mark("other words", _quantile(scores, 0.5), len(scores))

    def word(self, score: float) -> str:
        """One of WORDS, by the score alone."""
        random, related, paraphrase = (mark.score for mark in self.marks)
        loose = (random + related) / 2  # nearer to related pairs than to random ones
        topic = max(loose, _quantile(self.references.related, 0.25))  # higher than a quarter of the related pairs
        close = max(topic, (related + paraphrase) / 2)  # nearer to paraphrases than to related pairs
        thresholds = max(close, paraphrase), close, topic, loose  # the same meaning: higher than half of the paraphrases
        return next((word for word, least in zip(WORDS, thresholds, strict=False) if score >= least), UNRELATED)

    def verdict(self, score: float, cautions: Collection[str]) -> str:
        """The word for a pair with these kinds of cautions: what may contradict is at most close in topic."""
        if LANGUAGE in cautions:
            return UNCERTAIN
        word = self.word(score)
        return TOPIC if word in (SAME, CLOSE) and CONTRADICTIONS.intersection(cautions) else word

    def sentence(self, score: float, cautions: Collection[str] = ()) -> str:
        """The verdict, such as "Close in topic: higher than 99.1 % of random pairs of field_notes.csv"."""
        percentile = self.random.percentile(score)
        share = f"{percentile:.1f}" if percentile < 99.9 else f"{min(percentile, 99.99):.2f}"  # never 100: a sample
        place = "lower than almost all" if percentile < 0.05 else f"higher than {share} % of"
        return f"{self.verdict(score, cautions)}: {place} random pairs of {self.random.whose}"


def _quantile(rising: Vectors, share: float) -> float:
    return float(rising[int(share * (len(rising) - 1))])


def reference_pairs(limits: Limits) -> tuple[Pairs, Pairs, Pairs]:
    """Read the pairs of each kind of `References` from both files, in file order, at most MOST_REFERENCES of a kind."""
    scored, labelled = read_table(SCORED, limits).frame, read_table(LABELLED, limits).frame
    scores, labels = scored["score"].astype(float), labelled["label"]
    related = [*_pairs(scored[scores.between(*RELATED_SCORES)]), *_pairs(labelled[labels == OTHER_LABEL])]
    same = [*_pairs(scored[scores >= PARAPHRASE_SCORE]), *_pairs(labelled[labels == SAME_LABEL])]
    named = [pair for pair in related if shared_content(*pair) > 0]  # different things about one subject, which both name
    close = [pair for pair in same if shared_content(*pair) >= KEPT_WORDS]
    far = [pair for pair in same if shared_content(*pair) == 0]
    return named[:MOST_REFERENCES], close[:MOST_REFERENCES], far[:MOST_REFERENCES]


def _pairs(frame: pd.DataFrame) -> Pairs:
    return list(zip(frame["sentence1"], frame["sentence2"], strict=True))
