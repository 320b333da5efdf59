"""Candidates with known answers, without a model."""

import numpy as np

from sbert_app.labelling.answers import MEASURE, NO, YES, Answer
from sbert_app.labelling.choosing import STRATA, Candidates, next_question


def world(rate: float, seed: int, count: int = 8_000) -> tuple[Candidates, np.ndarray]:
    """Pairs of which this share is the same, more often the higher their cosine; and which of them are."""
    random = np.random.default_rng(seed)
    scores = random.beta(5, 4, count).astype(np.float32)
    middles = np.linspace(-1, 2, 3_001)
    chances = 1 / (1 + np.exp(-15 * (np.quantile(scores, np.linspace(0, 1, 201))[:, None] - middles)))
    middle = middles[np.abs(chances.mean(axis=0) - rate).argmin()]
    same = random.random(count) < 1 / (1 + np.exp(-15 * (scores - middle)))
    strata = np.digitize(scores, np.linspace(scores.min(), scores.max(), STRATA + 1)[1:-1])
    rows, measured = np.arange(count), np.arange(count) % 2 == 0
    return Candidates(rows, rows + count, scores, random.random(count), measured, strata), same


def answered(pairs: Candidates, same: np.ndarray, count: int, seed: int = 0) -> list[Answer]:
    """The answers of a person who is always right, to the questions as they come, until `count` are to measure by."""
    answers: list[Answer] = []
    while sum(answer.why == MEASURE for answer in answers) < count:
        asked = next_question(pairs, answers, seed=seed)
        assert asked is not None
        label = YES if same[asked.place] else NO
        answers.append(
            Answer(f"a{asked.place}", f"b{asked.place}", label, 0, 0, "", 1.0, asked.why, asked.probability, asked.place)
        )
    return answers
