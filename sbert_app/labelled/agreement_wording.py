"""Say in words how well the scores of pairs agree with the labels of a file."""

from sbert_app.evaluation.agreement import LabelAgreement, Threshold
from sbert_app.evaluation.verdict import LEAST_HELD_OUT
from sbert_app.labelled.pair_columns import GRADED, PairLabels
from sbert_app.wording import plural, rounded

MINUS = "−"
EXTREMES = "Highest scores", "Lowest scores"


def sentence(labels: PairLabels, agreement: LabelAgreement) -> str:
    """The agreement in one sentence, or why there is none."""
    count = f"{agreement.pairs:,} labelled {plural(agreement.pairs, 'pair', 'pairs')}"
    if agreement.pairs < LEAST_HELD_OUT:
        return f"Too few labels to judge the score: {count}, at least {LEAST_HELD_OUT} are needed."
    if labels.kind == GRADED:
        return _graded(labels, agreement, count)
    return _two_valued(labels, agreement.threshold, count) if agreement.threshold else ""


def _graded(labels: PairLabels, agreement: LabelAgreement, count: str) -> str:
    value = agreement.estimate
    remark = " Higher labels have lower scores." if value.high < 0 else " It could be chance." if value.low <= 0 else ""
    return (
        f"Agreement with “{labels.column}”: Spearman ×100 is {hundredths(value.value)} over {count}, "
        f"95 % interval {hundredths(value.low)} to {hundredths(value.high)}.{remark}"
    )


def _two_valued(labels: PairLabels, threshold: Threshold, count: str) -> str:
    if threshold.value is None or not threshold.helps:
        frequent = f"“{labels.positive}”" if labels.gold[labels.labelled].mean() > 0.5 else different(labels)
        return (
            f"No threshold of the score beats calling every pair {frequent}, "
            f"which is right for {percent(threshold.majority)} of {count}."
        )
    return (
        f"Calling a pair “{labels.positive}” at {shortest(threshold.value)} or higher is right for {percent(threshold.accuracy)} "
        f"of {count}. The threshold was chosen on these same pairs, so expect a little less on others."
    )


def side_titles(labels: PairLabels) -> tuple[str, str]:
    """The titles of the pairs scored too high, and of those scored too low."""
    if labels.kind == GRADED:
        return "Scored higher than labelled", "Scored lower than labelled"
    return f"Highest scores not labelled “{labels.positive}”", f"Lowest scores labelled “{labels.positive}”"


def left_out(labels: PairLabels) -> list[str]:
    """How many rows were scored, but have no label to compare with."""
    return [
        f"{count:,} {plural(count, 'row has', 'rows have')} {reason}: scored, but left out of the agreement."
        for reason, count in labels.left_out.items()
    ]


def details(labels: PairLabels, agreement: LabelAgreement) -> str:
    """All figures, and how the labels were read."""
    if labels.kind == GRADED:
        low, high = (f"{bound:g}" for bound in labels.bounds)
        return " ".join(
            [
                f"Labels from {low} to {high}; higher is taken to mean closer. Spearman compares the order of the scores with that "
                "of the labels: 100 is the same order, 0 is none.",
                f"Pearson ×100: {hundredths(agreement.measures['pearson'])}.",
                _interval(agreement),
            ]
        )
    value, share = agreement.estimate, float(labels.gold[labels.labelled].mean())
    figures = [
        f"“{labels.positive}” is taken to mean the same, {different(labels)} to mean different.",
        f"Average precision ×100: {hundredths(value.value)}, 95 % interval {hundredths(value.low)} to {hundredths(value.high)}; "
        f"100 ranks all “{labels.positive}” pairs above the others, a score without information gets {hundredths(share)}.",
        f"Best F1 ×100: {hundredths(agreement.measures['f1'])}.",
    ]
    if agreement.threshold:
        figures.append(f"Giving every pair the more frequent label is right for {percent(agreement.threshold.majority)}.")
    return " ".join([*figures, _interval(agreement)])


def different(labels: PairLabels) -> str:
    """All labels but the positive one, in quotation marks."""
    return " or ".join(f"“{label}”" for label in labels.others)


def _interval(agreement: LabelAgreement) -> str:
    return f"Interval: bootstrap over pairs, {agreement.resamples:,} resamples."


def percent(share: float) -> str:
    """A share as per cent without decimals, but never "100 %" for less than all."""
    return f"{min(round(100 * share), 99 if share < 1 else 100)} %"


def shortest(value: float) -> str:
    """A number without trailing zeros, such as a threshold, whose last decimal matters."""
    return f"{value:.9f}".rstrip("0").rstrip(".").replace("-", MINUS)


def hundredths(value: float) -> str:
    return rounded(100 * value, 1).replace("-", MINUS)
