"""The pairs of a corpus that a person is asked about, and which is next: to learn from and to measure by in turns, some twice.

The candidates are near by meaning or by words, as two random rows are hardly ever alike. To measure by are random ones of each
stratum of the cosine, so that what they say can be weighted back to all candidates. To learn from are random ones, or in turns such
spread over the cosines around the present boundary. A model that learns from the latter alone, or from pairs on which cosine and
words disagree, gets worse where a label means something else than the model does (docs/evaluation.md).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.ranking.fusion import best_rows
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.explain.words import word_overlap
from sbert_app.labelled.example_set import column_groups
from sbert_app.labelling.answers import AGAIN, LEARN, MEASURE, UNSURE, Answer
from sbert_app.vectors import Array, Integers, Mask, Rows, Vectors

ROWS, NEAR = 2_000, 8  # rows whose neighbours are candidates, and how many by meaning
WORDS_ROWS, WORDS_NEAR = 500, 4  # by words (BM25)
STRATA = 8  # of the cosine: the pairs to measure by are spread over them
LEAST = 40  # candidates
EVERY, LATER = 20, 20  # one pair in so many comes again, after at least so many others
APART, OFTEN = 10, 3  # a row is not asked about in so many pairs in a row, nor more often than this to learn from
BATCH = 100  # questions at once
AROUND = 0.25  # of the range of cosines, on either side of the boundary


@dataclass(frozen=True)
class Candidates:
    """m pairs of rows of a corpus, rows1[i] < rows2[i], in random order."""

    rows1: Rows
    rows2: Rows
    scores: Vectors  # (m,) their cosines
    words: Array  # (m,) the share of their words in common, 0..1
    measured: Mask  # (m,) which are to measure by, half; the others are to learn from
    strata: Integers  # (m,) in which of STRATA equal ranges of the cosine each is

    def __len__(self) -> int:
        return len(self.rows1)

    def rows(self, place: int) -> tuple[int, int]:
        """Both rows of a pair."""
        return int(self.rows1[place]), int(self.rows2[place])


def candidates(indexed: IndexedCorpus) -> Candidates:
    """Draw rows, and pair each with those nearest to it. Equal texts are no pair. Raises UserError for a corpus that has few."""
    random, corpus = np.random.default_rng(0), indexed.corpus
    text = column_groups(corpus.sentences)
    first = np.unique(text, return_index=True)[1]  # the first row of each text
    rows = random.permutation(first)[:ROWS]
    near = indexed.index.search(indexed.embeddings[rows], NEAR + 1)[1]
    pairs = [np.stack([np.repeat(rows, near.shape[1]), near.ravel()], axis=1)]
    for row in rows[:WORDS_ROWS].tolist():
        others = best_rows(indexed.lexical.scores(corpus.sentences[row]), WORDS_NEAR + 1)
        pairs.append(np.stack([np.full(len(others), row), others], axis=1))
    joined = np.concatenate(pairs)
    joined = np.sort(first[text][joined[(joined >= 0).all(axis=1)]], axis=1)
    unique = np.unique(joined[joined[:, 0] < joined[:, 1]], axis=0)
    if len(unique) < LEAST:
        raise UserError(f"This corpus has {len(unique)} pairs to ask about, at least {LEAST} are needed. Open one with more rows.")
    rows1, rows2 = random.permutation(unique).T
    scores = np.einsum("ij,ij->i", indexed.embeddings[rows1], indexed.embeddings[rows2])
    shared = [word_overlap(corpus.sentences[one], corpus.sentences[two]) for one, two in zip(rows1, rows2, strict=True)]
    edges = np.linspace(scores.min(), scores.max(), STRATA + 1)[1:-1]
    return Candidates(rows1, rows2, scores, np.array(shared), np.arange(len(rows1)) % 2 == 0, np.digitize(scores, edges))


@dataclass(frozen=True)
class Question:
    """A pair that is asked. place: among the candidates; probability: of being drawn of those left in its stratum, 0 if chosen."""

    place: int
    why: str
    probability: float = 0.0


def next_question(pairs: Candidates, answers: Sequence[Answer], seed: int = 0) -> Question | None:
    """The pair to ask about next, None if all were asked."""
    random, count = np.random.default_rng([seed, len(answers)]), len(answers)
    if count and count % EVERY == 0:
        times = Counter(answer.place for answer in answers)
        if again := [answer.place for answer in answers[:-LATER] if answer.place >= 0 and times[answer.place] == 1]:
            return Question(again[int(random.integers(len(again)))], AGAIN)
    left = np.ones(len(pairs), bool)
    left[[answer.place for answer in answers if answer.place >= 0]] = False
    measuring, learning = left & pairs.measured, left & ~pairs.measured
    asked = Counter(answer.why for answer in answers)
    if measuring.any() and (asked[MEASURE] <= asked[LEARN] or not learning.any()):
        return _to_measure(pairs, answers, measuring, random)
    return _to_learn(pairs, answers, _fresh(pairs, answers, learning), random) if learning.any() else None


def questions(pairs: Candidates, answers: Sequence[Answer], count: int) -> list[Question]:
    """The next questions, at most `count` and BATCH, as they follow while nothing is known of the answers; each pair once."""
    asked: dict[int, Question] = {}
    supposed = list(answers)
    while len(asked) < min(count, BATCH) and (question := next_question(pairs, supposed)):
        asked.setdefault(question.place, question)
        supposed.append(Answer("", "", UNSURE, 0, 0, "", 0.0, question.why, question.probability, question.place))
    return list(asked.values())


def placed(answers: Sequence[Answer], corpus: Corpus, pairs: Candidates) -> list[Answer]:
    """These answers with their rows and their places among the candidates, by their texts: another model or file has others.

    What was asked to measure by stays so where its pair is a candidate, whichever half it now is in: it was drawn at random and
    not learnt. Others say nothing of the candidates, and are to learn from.
    """
    places = {frozenset(corpus.sentences[row] for row in pairs.rows(place)): place for place in range(len(pairs))}
    rows = dict(zip(corpus.sentences[::-1], corpus.rows[::-1].tolist(), strict=True))  # of a repeated text the first

    def at(given: Answer, place: int) -> Answer:
        row1, row2 = rows.get(given.sentence1, 0), rows.get(given.sentence2, 0)
        return replace(given, row1=row1, row2=row2, place=place, why=LEARN if given.why == MEASURE and place < 0 else given.why)

    return [at(given, places.get(given.texts, -1)) for given in answers]


def _to_measure(pairs: Candidates, answers: Sequence[Answer], left: Mask, random: np.random.Generator) -> Question:
    """A random pair of the stratum with the fewest answers."""
    measured = [pairs.strata[answer.place] for answer in answers if answer.why == MEASURE and answer.place >= 0]
    asked = np.bincount(measured, minlength=STRATA).astype(float) if measured else np.zeros(STRATA)
    asked[np.bincount(pairs.strata[left], minlength=STRATA) == 0] = np.inf
    stratum = int(random.choice(np.flatnonzero(asked == asked.min())))
    places = np.flatnonzero(left & (pairs.strata == stratum))
    return Question(int(random.choice(places)), MEASURE, 1 / len(places))


def _to_learn(pairs: Candidates, answers: Sequence[Answer], left: Mask, random: np.random.Generator) -> Question:
    """A random one, or in turns one whose cosine is around the boundary."""
    places, scores = np.flatnonzero(left), pairs.scores
    if sum(answer.why == LEARN for answer in answers) % 2:
        return Question(int(random.choice(places)), LEARN)
    low, high = float(scores.min()), float(scores.max())
    if (middle := boundary(pairs, answers)) is not None:
        around = AROUND * (high - low)
        low, high = max(low, middle - around), min(high, middle + around)
    return Question(int(places[np.abs(scores[places] - random.uniform(low, high)).argmin()]), LEARN)


def _fresh(pairs: Candidates, answers: Sequence[Answer], left: Mask) -> Mask:
    """Those whose rows were not asked about just now or often, unless none is left."""
    places = [answer.place for answer in answers if answer.place >= 0]
    rows = Counter(row for place in places for row in pairs.rows(place))
    recent = {row for place in places[-APART:] for row in pairs.rows(place)}
    tired = [row for row, count in rows.items() if count >= OFTEN or row in recent]
    fresh = left & ~np.isin(pairs.rows1, tired) & ~np.isin(pairs.rows2, tired)
    return fresh if fresh.any() else left


def boundary(pairs: Candidates, answers: Sequence[Answer]) -> float | None:
    """The cosine half way between the mean of the pairs that are the same and that of the others; None without both."""
    same, other = ([pairs.scores[a.place] for a in answers if a.place >= 0 and a.same is is_same] for is_same in (True, False))
    return float(np.mean(same) + np.mean(other)) / 2 if same and other else None
