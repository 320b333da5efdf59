"""A table of all numbers of a race, each with its unit, its spread and its source."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from sbert_app.evaluation import paper
from sbert_app.models.files.trained_for import in_words
from sbert_app.timing.extrapolation import DISTURBED, MOST_SPREAD, Throughput, Turn, pairs_of
from sbert_app.timing.measurements import SBERT_PASSES
from sbert_app.timing.result import CROSS, SBERT, Conditions, Rates, TimingResult
from sbert_app.wording import digits, spoken

MEASURED, EXTRAPOLATED, PUBLISHED = "measured", "extrapolated", "published"
SIZES = (1_000, 10_000, 100_000, 1_000_000)

PAIRS = pairs_of(paper.CLOSEST_PAIR_SENTENCES)
IN_PAPER = Rates(  # what the page shows before anything is measured
    Throughput((Turn(PAIRS, paper.CLOSEST_PAIR_SECONDS[CROSS]),)),
    Throughput((Turn(paper.CLOSEST_PAIR_SENTENCES, paper.CLOSEST_PAIR_SECONDS[SBERT]),)),
    Throughput((Turn(PAIRS, paper.CLOSEST_PAIR_COSINES),)),
)


@dataclass(frozen=True)
class Figure:
    """One row. low..high: slowest and fastest turn if measured, 95 % band if extrapolated."""

    what: str
    value: float
    unit: str
    kind: str
    how: str
    low: float | None = None
    high: float | None = None


def figures(result: TimingResult) -> list[Figure]:
    """All rows: first measured, then extrapolated, then published in the paper."""
    return [*chain(*(part(result) for part in (_rates, _whole_runs, _agreement, _searches, _extrapolated))), *_published()]


def models_of_race(conditions: Conditions) -> list[str]:
    """Which models raced: what the cross-encoder was trained for, and what a different backbone does to the ratio."""
    encoder, cross = conditions.encoder, conditions.cross_encoder
    purpose = f" ({in_words(conditions.trained_for)})" if conditions.head_trained else ""
    if conditions.same_backbone:
        return [f"{cross}{purpose} against {encoder}, both on the same backbone."]
    sizes = f": {conditions.sizes[1]} against {conditions.sizes[0]}" if all(conditions.sizes) else ""
    return [
        f"{cross}{purpose} against {encoder}, on different backbones{sizes}.",
        "Their ratio shows the difference in size as well as that between reading pairs and reading sentences.",
    ]


def in_lines(result: TimingResult, sentences: int) -> list[str]:
    """A race for the shell, extrapolated to a number of sentences."""
    cross, sbert = result.cross_seconds(sentences), result.sbert_seconds(sentences)
    (low, high), (slow, fast) = result.cross.spread, result.encode.spread
    lines = [
        *([DISTURBED] if result.disturbed else []),
        *models_of_race(result.conditions),
        f"cross-encoder  {digits(result.cross.rate)} pairs/s (turns {digits(low)} to {digits(high)}), {result.conditions.hardware}",
        f"SBERT          {digits(result.encode.rate)} sentences/s (turns {digits(slow)} to {digits(fast)})",
        f"{sentences:,} sentences, extrapolated: {spoken(cross.seconds)} against {spoken(sbert.seconds)}",
    ]
    if agreement := result.agreement:
        same = "the same" if agreement.same_first else "not the same"
        top = f"{agreement.shared} of the closest {agreement.top} shared"
        spearman = f"Spearman {100 * agreement.spearman:.1f}"
        lines.append(f"agreement over {agreement.pairs:,} pairs: closest pair {same}, {top}, {spearman}")
    return lines


def _rates(result: TimingResult) -> Iterator[Figure]:
    rates = (
        ("Cross-encoder", result.cross, "pairs/s", "pairs drawn at random, smart batching"),
        ("SBERT, encoding", result.encode, "sentences/s", "encodings (sentences repeated), smart batching"),
        ("SBERT, all-pairs step", result.product, "pairs/s", "pairs of random unit vectors, matrix products in blocks"),
    )
    for name, throughput, unit, items in rates:
        turns = len(throughput.turns)
        how = f"{'1 turn' if turns == 1 else f'median of {turns} turns'}, {throughput.items:,} {items}"
        yield Figure(name, throughput.rate, unit, MEASURED, how, *(throughput.spread if turns > 1 else ()))
    how = f"batches per second; turns of at least half the median length; above {MOST_SPREAD:g} something else used the processor"
    for name, throughput, *_ in rates[:2]:
        if len(throughput.turns) > 1:
            yield Figure(f"{name}, fastest turn ÷ slowest turn", throughput.unevenness, "×", MEASURED, how)


def _whole_runs(result: TimingResult) -> Iterator[Figure]:
    if result.answer:
        what = f"SBERT, most similar pair of {result.conditions.sentences:,} sentences"
        yield Figure(what, result.answer.seconds, "s", MEASURED, "one run, from the strings to the answer")
    for run in result.runs:
        pairs = pairs_of(run.sentences)
        lanes = (("Cross-encoder", run.cross_seconds, "one run"), ("SBERT", run.sbert_seconds, f"median of {SBERT_PASSES} runs"))
        for name, seconds, how in lanes:
            yield Figure(f"{name}, all {pairs:,} pairs of {run.sentences} sentences", seconds, "s", MEASURED, f"{how}, complete")


def _agreement(result: TimingResult) -> Iterator[Figure]:
    if agreed := result.agreement:
        how = f"all {agreed.pairs:,} pairs of {result.runs[-1].sentences} sentences, scored by both"
        yield Figure("Agreement: Spearman ×100 of the two score lists", 100 * agreed.spearman, "", MEASURED, how)
        yield Figure(f"Agreement: pairs among the closest {agreed.top} of both", agreed.shared, "pairs", MEASURED, how)
        yield Figure("Agreement: same closest pair (1 is yes)", float(agreed.same_first), "", MEASURED, how)
    if result.quality:
        change, how = result.quality.changes[0], f"{result.quality.examples:,} of your labelled examples, 95 % bootstrap interval"
        for name, side in (("SBERT", change.before), ("Cross-encoder", change.after)):
            yield Figure(f"{name}, {change.metric} ×100", 100 * side.value, "", MEASURED, how, 100 * side.low, 100 * side.high)


def _searches(result: TimingResult) -> Iterator[Figure]:
    if result.encode_one:
        yield Figure("SBERT, one query encoded", result.encode_one * 1e3, "ms", MEASURED, "median of single queries")
    for timing in result.queries:
        source = "vectors sampled around the corpus's own" if timing.synthetic else "the corpus's own vectors"
        how, rows = f"median search for the 10 nearest, {source}", f"One search among {timing.rows:,}"
        yield Figure(f"{rows}, exact index", timing.exact_seconds * 1e3, "ms", MEASURED, how)
        how = f"{how}; recall@10 {timing.recall:.3f}"
        yield Figure(f"{rows}, approximate index", timing.approximate_seconds * 1e3, "ms", MEASURED, how)


def _extrapolated(result: TimingResult) -> Iterator[Figure]:
    for size in SIZES:
        pairs = f"{size:,} sentences, {pairs_of(size):,} pairs"
        for name, estimate, how in (
            ("Cross-encoder", result.cross_seconds(size), "pairs divided by the measured rate"),
            ("SBERT", result.sbert_seconds(size), "sentences and pairs divided by the measured rates"),
        ):
            band = "; 95 % band from the turns" if estimate.low is not None else "; too few turns for a band"
            yield Figure(f"{name}, {pairs}", estimate.seconds, "s", EXTRAPOLATED, how + band, estimate.low, estimate.high)


def _published() -> Iterator[Figure]:
    rows = (("Cross-encoder (BERT)", CROSS, "hours", 3600), ("SBERT (BERT)", SBERT, "s", 1))  # in the units of the paper
    for name, lane, unit, unit_seconds in rows:
        how = f"{paper.SOURCE}, on a {paper.CLOSEST_PAIR_HARDWARE}"
        what = f"{name}, {paper.CLOSEST_PAIR_SENTENCES:,} sentences"
        yield Figure(what, paper.CLOSEST_PAIR_SECONDS[lane] / unit_seconds, unit, PUBLISHED, how)
