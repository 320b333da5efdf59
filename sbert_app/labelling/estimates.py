"""What labels say: from which cosine on pairs are the same, how consistent they are, and what a person should know of them.

Precision and recall over all candidates come from answers to pairs drawn in strata of the cosine. Each stratum is cut at the
threshold. In each of the two parts the share of pairs that are the same has a Beta distribution, given the answers there, and
counts as many pairs as the part has: the estimate is weighted back to all candidates (post-stratified, as in OASIS). A part where
no answer is "the same" may hide some such pairs or none: so there are two priors, and the interval goes from the lowest to the
highest of both, like that of Clopper and Pearson. The best threshold is chosen by a logistic curve through the answers, not by
draws: of what looks best by chance too much would be promised.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.labelling.answers import AGAIN, MEASURE, Answer, one_each
from sbert_app.labelling.choosing import STRATA, Candidates
from sbert_app.vectors import Array, Integers, Mask, Vectors
from sbert_app.wording import amount

DRAWS, THRESHOLDS = 1_000, 41
PRIORS = np.array([[0.3, 0.6], [0.02, 0.05]])  # answers (same, other) that a part is given: many, or next to none
BY_CURVE = 0.5  # answers that are shared out as the curve says
COUNTS = 0.85  # what an answer counts: the threshold was chosen by it, and with 1 too few intervals hold the truth (simulated)
LEAST_EACH = 30  # answers of each kind, below which nothing is settled
NARROW = 0.2  # the width of an interval that settles a figure
FEW, RARE = 400, "Pairs that mean the same are rare: only {} so far. It stays a rough figure."
LEVELS = (0.025, 0.5, 0.975)
LEAST, LEAST_SHARE = 20, 0.05  # labels to judge by; share of pairs that are the same, or of those that are not
LEAST_FOLLOWED, LEVEL = 60, 0.05  # labels, from which on they should follow the cosine at this level
LEAST_TWICE, LEAST_EQUAL = 5, 0.75  # pairs asked again, and the share of them that should get the same answer
BY_CHANCE = (
    "Pairs that you call the same are hardly nearer in meaning, to this model, than the others. If you mean another likeness, "
    "go on; if you answered by chance, no model can learn from it."
)
Interval = tuple[float, float]


@dataclass(frozen=True)
class AtThreshold:
    """Precision and recall, 0..1, of calling a pair the same from this cosine on, each with its interval of 95 %."""

    threshold: float
    precision: float
    recall: float
    precision_within: Interval
    recall_within: Interval

    @property
    def in_words(self) -> str:
        text = "cosine {:.2f}, precision {:.2f} ({:.2f} to {:.2f}), recall {:.2f} ({:.2f} to {:.2f})"
        return text.format(self.threshold, self.precision, *self.precision_within, self.recall, *self.recall_within)


@dataclass(frozen=True)
class Estimate:
    """curve: by threshold, rising; best: that of the highest F1; same, other: the answers that it is made of."""

    curve: Sequence[AtThreshold]
    best: AtThreshold
    same: int
    other: int

    def precise(self, least: float) -> AtThreshold | None:
        """The lowest threshold from which on the precision is estimated at `least`; None if there is none."""
        return next((point for point in self.curve if point.precision >= least), None)

    @property
    def missing(self) -> int:
        """About how many further answers would settle the best threshold; 0 if it is settled."""
        width = max(high - low for low, high in (self.best.precision_within, self.best.recall_within))
        count = self.same + self.other
        of_width = max(0.0, count * ((width / NARROW) ** 2 - 1))  # intervals narrow as the root of the answers
        rare = max(1, min(self.same, self.other))
        of_kind = max(0, LEAST_EACH - rare) * count / rare
        return int(np.ceil(max(of_width, of_kind) / 10) * 10)

    @property
    def outlook(self) -> str:
        """What more labels would do."""
        if not self.missing:
            return "More labels would hardly change it."
        return f"About {self.missing} more labels would settle it." if self.missing <= FEW else RARE.format(self.same)


def estimate(pairs: Candidates, answers: Sequence[Answer]) -> Estimate | None:
    """What the answers to measure by say of all candidates; None without one of each kind."""
    scores, asked = pairs.scores, [answer for answer in one_each(answers) if answer.why == MEASURE and answer.place >= 0]
    places, same = np.array([a.place for a in asked], int), np.array([a.same for a in asked], bool)
    if not same.any() or same.all():
        return None
    random, curve, f1 = np.random.default_rng(0), list[AtThreshold](), list[float]()
    chance = _chance_by_cosine(scores, places, same)
    low, high = np.quantile(scores, [0.01, 0.999]).tolist()
    for threshold in np.linspace(low, high, THRESHOLDS).tolist():
        above = scores >= threshold
        cell = pairs.strata + STRATA * above  # the upper part of each stratum follows the lower ones
        size, yes, no = (np.bincount(cells, minlength=2 * STRATA) for cells in (cell, cell[places[same]], cell[places[~same]]))
        curved = BY_CURVE * np.bincount(cell, chance, 2 * STRATA) / np.maximum(size, 1)
        more, less = PRIORS.T[:, :, None, None]
        same_here, other_here = COUNTS * yes + curved + more, COUNTS * no + BY_CURVE - curved + less
        drawn = random.beta(same_here, other_here, (len(PRIORS), DRAWS, 2 * STRATA)) * size
        found, called = drawn[..., STRATA:].sum(axis=-1), int(above.sum())
        curve.append(_at(threshold, found / called, found / drawn.sum(axis=-1)))
        f1.append(2 * chance[above].sum() / (chance.sum() + called))
    return Estimate(curve, curve[int(np.argmax(f1))], int(same.sum()), int((~same).sum()))


def _chance_by_cosine(scores: Vectors, places: Integers, same: Mask) -> Array:
    """For each candidate the chance that it is the same, (m,), by a logistic curve through the answers."""
    from sklearn.linear_model import LogisticRegression

    return np.asarray(LogisticRegression(C=100).fit(scores[places, None], same).predict_proba(scores[:, None])[:, 1])


def _at(threshold: float, precision: Array, recall: Array) -> AtThreshold:
    """The medians of the draws, (2, DRAWS) each, in the middle of both priors; the intervals hold those of both."""
    (low1, middle1, high1), (low2, middle2, high2) = (np.quantile(drawn, LEVELS, axis=1) for drawn in (precision, recall))
    within = [(float(low.min()), float(high.max())) for low, high in ((low1, high1), (low2, high2))]
    return AtThreshold(threshold, float(middle1.mean()), float(middle2.mean()), *within)


def of_labels(answers: Sequence[Answer], scores: Vectors) -> Iterator[str]:
    """Remarks on the answers so far. scores: the cosines of the candidates, (m,)."""
    judged = [given for given in one_each(answers) if given.place >= 0]
    same = np.array([bool(given.same) for given in judged])
    if len(judged) >= LEAST and not LEAST_SHARE <= same.mean() <= 1 - LEAST_SHARE:
        rare = "the same" if same.mean() < 0.5 else "different"
        yield f"Hardly any pair is {rare} so far: a model learns from both kinds. Are you answering each pair by itself?"
    elif len(judged) >= LEAST_FOLLOWED:
        from scipy.stats import mannwhitneyu

        near = scores[[given.place for given in judged]]  # of pairs that are the same clearly higher (rank sum, one-sided)?
        if not mannwhitneyu(near[same], near[~same], alternative="greater").pvalue < LEVEL:
            yield BY_CHANCE
    twice, equal = consistency(answers)
    if twice >= LEAST_TWICE and equal < LEAST_EQUAL * twice:
        yield f"Only {equal} of {twice} pairs asked again got the same answer: a model learns little of that. Take more time."


def consistency(answers: Sequence[Answer]) -> tuple[int, int]:
    """How many pairs were asked again, and how many of them got the same answer."""
    first = {given.texts: given for given in one_each(answers)}
    again = [given for given in answers if given.why == AGAIN and given.same is not None and given is not first[given.texts]]
    return len(again), sum(given.same == first[given.texts].same for given in again)


def of_file(answers: Sequence[Answer], left_out: int, other: int, elsewhere: int) -> Iterator[str]:
    """Remarks on a file's labels. left_out: rows labelled already; other: those with another label; elsewhere: no candidates."""
    labels: dict[frozenset[str], set[str]] = {}
    for given in answers:
        labels.setdefault(given.texts, set()).add(given.label)
    if left_out:
        yield f"{amount(left_out, 'row')} of the file left out: such pairs are labelled already."
    if other:
        rows = amount(other, "of them has", "of them have")
        yield f"{rows} another label in the file. To correct one, use “All labels” on the page."
    if twice := sum(len(different) > 1 for different in labels.values()):
        yield f"{amount(twice, 'pair has', 'pairs have')} two different labels in the file: the first counts."
    if elsewhere:
        here = amount(elsewhere, "pair is", "pairs are")
        yield f"{here} not among those asked here: a training uses them, “Make a model now” does not."
