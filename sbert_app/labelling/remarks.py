"""What a person should know of labels: of one kind only, given by chance, against each other; and what of a file was left out."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sbert_app.labelling.answers import AGAIN, Answer, one_each
from sbert_app.vectors import Vectors
from sbert_app.wording import plural

LEAST, LEAST_SHARE = 20, 0.05  # labels to judge by; share of pairs that are the same, or of those that are not
LEAST_FOLLOWED, LEVEL = 60, 0.05  # labels, from which on they should follow the cosine at this level
LEAST_TWICE, LEAST_EQUAL = 5, 0.75  # pairs asked again, and the share of them that should get the same answer
BY_CHANCE = (
    "Pairs that you call the same are hardly nearer in meaning, to this model, than the others. If you mean another likeness, "
    "go on; if you answered by chance, no model can learn from it."
)


def of_labels(answers: Sequence[Answer], scores: Vectors) -> Iterator[str]:
    """Remarks on the answers so far. scores: the cosines of the candidates, (m,)."""
    judged = [given for given in one_each(answers) if given.place >= 0]
    same = np.array([bool(given.same) for given in judged])
    if len(judged) >= LEAST and not LEAST_SHARE <= same.mean() <= 1 - LEAST_SHARE:
        rare = "the same" if same.mean() < 0.5 else "different"
        yield f"Hardly any pair is {rare} so far: a model learns from both kinds. Are you answering each pair by itself?"
    elif len(judged) >= LEAST_FOLLOWED and not _follows(same, scores[[given.place for given in judged]]):
        yield BY_CHANCE
    twice, equal = consistency(answers)
    if twice >= LEAST_TWICE and equal < LEAST_EQUAL * twice:
        yield f"Only {equal} of {twice} pairs asked again got the same answer: a model learns little of that. Take more time."


def consistency(answers: Sequence[Answer]) -> tuple[int, int]:
    """How many pairs were asked again, and how many of them got the same answer."""
    before: dict[frozenset[str], bool] = {}
    twice, equal = 0, 0
    for answer in answers:
        if answer.same is None:
            continue
        if answer.why == AGAIN and answer.texts in before:
            twice, equal = twice + 1, equal + (before[answer.texts] == answer.same)
        before.setdefault(answer.texts, answer.same)
    return twice, equal


def _follows(same: NDArray[np.bool_], scores: Vectors) -> bool:
    """Whether the scores of the pairs that are the same are clearly higher than those of the others (rank sum, one-sided)."""
    from scipy.stats import mannwhitneyu

    return bool(mannwhitneyu(scores[same], scores[~same], alternative="greater").pvalue < LEVEL)


def of_file(answers: Sequence[Answer], left_out: int, elsewhere: int) -> Iterator[str]:
    """Remarks on the labels of a file. left_out: rows of labelled pairs; elsewhere: pairs that are no candidates."""
    labels: dict[frozenset[str], set[str]] = {}
    for given in answers:
        labels.setdefault(given.texts, set()).add(given.label)
    if left_out:
        yield f"{left_out:,} {plural(left_out, 'row', 'rows')} of the file left out: such pairs are labelled already."
    if twice := sum(len(different) > 1 for different in labels.values()):
        yield f"{twice:,} {plural(twice, 'pair has', 'pairs have')} two different labels in the file: the first counts."
    if elsewhere:
        here = plural(elsewhere, "pair is", "pairs are")
        yield f"{elsewhere:,} {here} not among those asked here: a training uses them, “Make a model now” does not."
