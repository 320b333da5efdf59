"""Which pair is asked next: one to learn from and one to measure by in turns, and now and then one that was answered before.

To measure by are random pairs of each stratum of the cosine, so that what they say can be weighted back to all candidates. To learn
from are pairs spread over the cosines around the present boundary, as in dedupe, or such on which cosine and words disagree.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sbert_app.labelling.answers import AGAIN, LEARN, MEASURE, UNSURE, Answer
from sbert_app.labelling.candidates import STRATA, Candidates
from sbert_app.vectors import Vectors

EVERY, LATER = 20, 20  # one pair in so many comes again, after at least so many others
APART, OFTEN = 10, 3  # a row is not asked about in so many pairs in a row, nor more often than this to learn from
BATCH = 100  # questions at once
TRIED = 200  # pairs among which that with the largest disagreement is asked
AROUND = 0.25  # of the range of cosines, on either side of the boundary


@dataclass(frozen=True)
class Question:
    """A pair that is asked. place: among the candidates; probability: of being drawn of those left in its stratum, 0 if chosen."""

    place: int
    why: str
    probability: float = 0.0


def next_question(pairs: Candidates, answers: Sequence[Answer], scores: Vectors | None = None, seed: int = 0) -> Question | None:
    """The pair to ask about next, None if all were asked. scores: the present cosines, (m,), if not those of the candidates."""
    random, count = np.random.default_rng([seed, len(answers)]), len(answers)
    if count and count % EVERY == 0 and (again := _earlier(answers)):
        return Question(again[int(random.integers(len(again)))], AGAIN)
    left = np.ones(len(pairs), bool)
    left[[answer.place for answer in answers if answer.place >= 0]] = False
    measuring, learning = left & pairs.measured, left & ~pairs.measured
    asked = Counter(answer.why for answer in answers)
    if measuring.any() and (asked[MEASURE] <= asked[LEARN] or not learning.any()):
        return _to_measure(pairs, answers, measuring, random)
    if not learning.any():
        return None
    return _to_learn(pairs, answers, _fresh(pairs, answers, learning), pairs.scores if scores is None else scores, random)


def questions(pairs: Candidates, answers: Sequence[Answer], count: int) -> list[Question]:
    """The next questions, at most `count` and BATCH, as they follow while nothing is known of the answers; each pair once."""
    asked: dict[int, Question] = {}
    supposed = list(answers)
    while len(asked) < min(count, BATCH) and (question := next_question(pairs, supposed)):
        asked.setdefault(question.place, question)
        supposed.append(Answer("", "", UNSURE, 0, 0, "", 0.0, question.why, question.probability, question.place))
    return list(asked.values())


def placed(answers: Sequence[Answer], sentences: Sequence[str], pairs: Candidates) -> list[Answer]:
    """These answers with their places among the candidates, found by their texts: another model or file has other candidates.

    What was asked to measure by is to learn from where its pair was not drawn to measure by.
    """
    ends = zip(pairs.rows1.tolist(), pairs.rows2.tolist(), strict=True)
    places = {frozenset((sentences[one], sentences[two])): place for place, (one, two) in enumerate(ends)}

    def at(given: Answer, place: int) -> Answer:
        drawn = given.why != MEASURE or (place >= 0 and bool(pairs.measured[place]))
        return replace(given, place=place, why=given.why if drawn else LEARN)

    return [at(given, places.get(given.texts, -1)) for given in answers]


def _earlier(answers: Sequence[Answer]) -> list[int]:
    """Pairs that were answered a while ago, and not yet twice."""
    times = Counter(answer.place for answer in answers)
    return [answer.place for answer in answers[:-LATER] if answer.place >= 0 and times[answer.place] == 1]


def _to_measure(pairs: Candidates, answers: Sequence[Answer], left: NDArray[np.bool_], random: np.random.Generator) -> Question:
    """A random pair of the stratum with the fewest answers."""
    measured = [pairs.strata[answer.place] for answer in answers if answer.why == MEASURE and answer.place >= 0]
    asked = np.bincount(measured, minlength=STRATA).astype(float) if measured else np.zeros(STRATA)
    asked[np.bincount(pairs.strata[left], minlength=STRATA) == 0] = np.inf
    stratum = int(random.choice(np.flatnonzero(asked == asked.min())))
    places = np.flatnonzero(left & (pairs.strata == stratum))
    return Question(int(random.choice(places)), MEASURE, 1 / len(places))


def _to_learn(
    pairs: Candidates, answers: Sequence[Answer], left: NDArray[np.bool_], scores: Vectors, random: np.random.Generator
) -> Question:
    places = np.flatnonzero(left)
    if sum(answer.why == LEARN for answer in answers) % 2:
        tried = random.choice(places, min(TRIED, len(places)), replace=False)
        apart = np.abs(_ranks(scores)[tried] - _ranks(pairs.words)[tried])
        return Question(int(tried[apart.argmax()]), LEARN)
    low, high = float(scores.min()), float(scores.max())
    if (middle := boundary(answers, scores)) is not None:
        around = AROUND * (high - low)
        low, high = max(low, middle - around), min(high, middle + around)
    return Question(int(places[np.abs(scores[places] - random.uniform(low, high)).argmin()]), LEARN)


def _fresh(pairs: Candidates, answers: Sequence[Answer], left: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those whose rows were not asked about just now or often, unless none is left."""
    places = [answer.place for answer in answers if answer.place >= 0]
    rows = Counter(row for place in places for row in (int(pairs.rows1[place]), int(pairs.rows2[place])))
    recent = {row for place in places[-APART:] for row in (int(pairs.rows1[place]), int(pairs.rows2[place]))}
    tired = [row for row, count in rows.items() if count >= OFTEN or row in recent]
    fresh = left & ~np.isin(pairs.rows1, tired) & ~np.isin(pairs.rows2, tired)
    return fresh if fresh.any() else left


def boundary(answers: Sequence[Answer], scores: Vectors) -> float | None:
    """The cosine half way between the mean of the pairs that are the same and that of the others; None without both."""
    same, other = ([scores[a.place] for a in answers if a.place >= 0 and a.same is is_same] for is_same in (True, False))
    return float(np.mean(same) + np.mean(other)) / 2 if same and other else None


def _ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """The share of values below each."""
    return values.argsort().argsort() / len(values)
