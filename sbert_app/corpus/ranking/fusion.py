"""Fuse rankings: cosines, BM25 and MaxSim, each by its z-scores; and the arithmetic of ranks."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Mask, Rows, Vectors

Scores = NDArray[np.float64]

WORDS_POWER, MAXSIM_SHARE = 3, 0.8  # chosen on SciFact's train claims, TREC-QA's dev part and 500 titles (docs/search.md)


def best_rows(scores: Vectors, top: int) -> Rows:
    """Rows of the largest positive scores, best first, at most `top`; equal scores in row order."""
    top = min(top, len(scores))
    if top < 1:
        return np.empty(0, dtype=np.int64)
    least = np.partition(scores, len(scores) - top)[len(scores) - top]
    candidates = np.flatnonzero((scores >= least) & (scores > 0))
    return candidates[np.argsort(-scores[candidates], kind="stable")][:top]


def z_scores(values: NDArray[np.floating]) -> Scores:
    """Shift and scale to mean 0 and standard deviation 1, (n,) -> (n,). Zeros if all are equal: they decide nothing."""
    centred = np.asarray(values, dtype=np.float64) - np.mean(values, dtype=np.float64) if len(values) else np.zeros(0)
    spread = float(np.sqrt(np.mean(centred**2))) if len(values) else 0.0
    return centred / spread if spread > 1e-9 else np.zeros(len(values))


def hybrid(
    closest: Rows, cosines: Callable[[Rows], NDArray[np.floating]], words: NDArray[np.floating], coverage: float
) -> tuple[Rows, Scores]:
    """Fuse the rows of a ranking by meaning with as many of the best by words, each once, best first, by the sum of z-scores.

    closest: (k,) rows. cosines: those of any rows; words: BM25 scores of all rows, (n,), 0 for those that do not count.
    coverage: `LexicalIndex.coverage`, 0..1. Without it, one common word in rows about something else would outweigh meaning.
    """
    rows = np.union1d(closest, best_rows(words, len(closest))).astype(np.int64)
    scores = z_scores(cosines(rows)) + coverage**WORDS_POWER * z_scores(words[rows])
    order = best_first(scores)
    return rows[order], scores[order]


def compared_order(fused: Scores, maxsim: Scores, coverage: float) -> Rows:
    """The order of a hybrid ranking, (n,), after its first k rows were compared token by token.

    fused: what it ranks by, (n,). maxsim: scores of the first k, (k,): their z-scores are added, weighted by the coverage, as
    MaxSim favours the query's own words too; the others follow.
    """
    together = fused[: len(maxsim)] + MAXSIM_SHARE * coverage * z_scores(maxsim)
    return np.concatenate([best_first(together), np.arange(len(maxsim), len(fused))])


def best_first(scores: NDArray[np.floating]) -> Rows:
    """Positions by score, best first; equal scores in their order."""
    return np.argsort(-scores, kind="stable")


def rank_of(scores: NDArray[np.floating], row: int, counted: Mask) -> int:
    """The rank of a row by scores, (n,), from 1; equal scores rank in row order. counted: which rows do beside itself, (n,)."""
    better = int((scores[counted] > scores[row]).sum())
    before = scores[:row][counted[:row]]
    return 1 + better + int((before == scores[row]).sum())
