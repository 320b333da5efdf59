"""Render a race's result: extrapolated times, and agreement and quality of the two systems."""

from markupsafe import Markup

from sbert_app.evaluation import paper
from sbert_app.evaluation.verdict import BETTER, UNCLEAR, WORSE
from sbert_app.models.files.trained_for import ANSWERS
from sbert_app.timing.extrapolation import DISTURBED, Extrapolation, pairs_of
from sbert_app.timing.report import IN_PAPER, models_of_race
from sbert_app.timing.result import APPROXIMATE, EXACT, Rates, TimingResult
from sbert_app.ui.kit import html
from sbert_app.wording import spoken, times_100

# The first and last figure are from `python -m tests.benchmarks quality`, the second from `stsb`.
STSB = "STSb test, 1,379 pairs, Spearman ×100, measured with this app on 2026-11-20"
HOW_TO_READ = (
    "Solid: measured. Dashed: extrapolated, with a 95 % band of this race's turns: under another load a race may lie outside it. "
    "Dotted: the chosen number of sentences."
)
STORY = (
    f"Dashed: extrapolated from the {paper.CLOSEST_PAIR_SENTENCES:,} sentences of {paper.SOURCE}, section 1, for which BERT took "
    "65 hours and SBERT 5 seconds."
)
OF_ANSWERS = "The cross-encoder was trained for answers, not for likeness: it scores something else, so both may differ."
BOUGHT = {  # by the verdict on the cross-encoder
    BETTER: ". The extra time buys this accuracy.",
    UNCLEAR: "; on these examples there is no clear difference.",
    WORSE: "; on these examples SBERT is.",
}
SHOWN = 120  # characters of a sentence
STSB_FIGURES = {
    "all-MiniLM-L6-v2, not fine-tuned": 82.0,
    "all-MiniLM-L6-v2, fine-tuned on STSb": 85.8,
    "cross-MiniLM-L6-stsb (cross-encoder)": 86.7,
}
TICKS = Markup('<div class="ticks" aria-hidden="true">{}</div>').format(  # under the slider, logarithmic from 100 to 1,000,000
    Markup().join(Markup('<span style="--p:{}">{:,}</span>').format((power - 2) / 4, 10**power) for power in range(2, 7))
)


def in_words(result: TimingResult, sentences: int, with_method: bool = True) -> Markup:
    """The times extrapolated from a race to a number of sentences, and how, unless a page says that elsewhere."""
    before, warning = Markup(), Markup('<p class="disturbed" role="note">{}</p>')
    if result.disturbed:
        before += warning.format(DISTURBED)
    if not result.conditions.same_backbone:
        before += warning.format(" ".join(models_of_race(result.conditions)))
    if result.answer:  # how far the cross-encoder was when SBERT had its answer
        raced, seconds = result.conditions.sentences, result.answer.seconds
        read, whole = min(pairs_of(raced), round(result.cross.rate * seconds)), result.cross_seconds(raced).seconds
        before += Markup(
            '<p class="moment">SBERT compared all <b>{:,}</b> pairs in <b>{}</b>. In that time the cross-encoder reads <b>{:,}</b> '
            "of them, and it needs <b>{}</b> for all.</p>"
        ).format(pairs_of(raced), spoken(seconds), read, spoken(whole))
    after = _query(result, sentences) + (method(result) if with_method else Markup())
    where = f"On this machine, {result.conditions.date}" if with_method else f"On {result.conditions.machine}"
    return _times(result, sentences, where, before, after)


def story(sentences: int) -> Markup:
    """The times extrapolated from the paper's, shown before anything is measured."""
    return _times(IN_PAPER, sentences, f"In the paper, on a {paper.CLOSEST_PAIR_HARDWARE} GPU", Markup(), html.hint(STORY))


def _times(times: Rates, sentences: int, where: str, before: Markup, after: Markup) -> Markup:
    cross, sbert = times.cross_seconds(sentences), times.sbert_seconds(sentences)
    sides = _side("cross", "Cross-encoder", cross), _side("sbert", "SBERT", sbert)
    ratio = cross.seconds / sbert.seconds  # in two digits, as precise as the rates
    about = f"{float(f'{ratio:.2g}'):,.0f}" if ratio >= 10 else f"{ratio:.1f}"
    return Markup(
        '<div class="words"><p class="eyebrow">{}</p>{}<p class="words-n" role="status">To find the most similar pair: '
        "<b>{:,}</b> sentences are <b>{:,}</b> pairs</p>"
        '<div class="sides">{}<p class="against">against</p>{}</div>'
        '<p class="times">The cross-encoder takes about <b>{} times</b> as long.</p>{}</div>'
    ).format(where, before, sentences, pairs_of(sentences), *sides, about, after)


def _side(kind: str, name: str, estimate: Extrapolation) -> Markup:
    band = "" if estimate.low is None or estimate.high is None else f"{spoken(estimate.low)} to {spoken(estimate.high)}"
    side = Markup('<div class="side {}"><p class="eyebrow">{}</p><p class="big">{}</p><p class="timing">{}</p></div>')
    return side.format(kind, name, spoken(estimate.seconds), band)


def method(result: TimingResult) -> Markup:
    """How the times were obtained."""
    conditions = result.conditions
    rough = "The race was stopped early, so these figures are rough. " if result.stopped else ""
    band = "the 95 % band is below each figure" if result.cross.band and result.encode.band else "too few turns for a 95 % band"
    return html.hint(
        f"{rough}Extrapolated (dashed) from timing {result.cross.items:,} pairs and {result.encode.items:,} sentences, some "
        f"repeatedly, of {conditions.corpus} ({conditions.sentences:,} sentences), on {conditions.machine}, "
        f"{conditions.hardware}, {conditions.date}. Models loaded and warm; {band}."
    )


def _query(result: TimingResult, sentences: int) -> Markup:
    exact, fast = result.query_seconds(EXACT, sentences), result.query_seconds(APPROXIMATE, sentences)
    if exact is None or fast is None or result.encode_one is None:
        return Markup()
    return html.hint(
        f"One new query against all of them: {spoken(sentences / result.cross.rate)} for the cross-encoder; for SBERT "
        f"{spoken(result.encode_one)} to encode it, then {spoken(exact)} in an exact index or {spoken(fast)} in an approximate one."
    )


def agreement(result: TimingResult, live: bool = True) -> Markup:
    """Agreement and quality of the two systems. live: shown in the app, where labelled pairs can be added."""
    return Markup('{}<div class="verdicts agree">{}{}</div>').format(_answer(result), _agreed(result), _quality(result, live))


def _answer(result: TimingResult) -> Markup:
    answer = result.answer
    if answer is None:
        return Markup()
    ties = f" {answer.pair.ties - 1:,} other pairs are just as close." if answer.pair.ties > 1 else ""
    head = (
        f"SBERT's answer: the most similar pair of {result.conditions.sentences:,} sentences, cosine {answer.pair.score:.3f}, "
        f"found in {spoken(answer.seconds)}.{ties}"
    )
    section = Markup('<section class="measures answer"><p class="eyebrow">{}</p><p>{}</p><p>{}</p></section>')
    return section.format(head, answer.sentence1, answer.sentence2)


def _agreed(result: TimingResult) -> Markup:
    agreement, conditions = result.agreement, result.conditions
    if agreement is None:
        reason = (
            "The race was stopped before this check."
            if conditions.head_trained
            else f"There is no trained cross-encoder of the size of {conditions.encoder}: the race used an untrained head, "
            "which is as fast as a trained one. Its scores are meaningless, so they are not compared."
        )
        return Markup('<section class="measures"><p class="eyebrow">Do they agree?</p><p>{}</p></section>').format(reason)
    last = result.runs[-1]
    if agreement.same_first:
        first = Markup("Both find the same closest pair: {}.").format(_pair(last.sbert_first))
    else:
        closest = Markup("Closest pair for SBERT: {}; for the cross-encoder: {}.")
        first = closest.format(_pair(last.sbert_first), _pair(last.cross_first))
    rows = [
        ["Closest pair", "the same" if agreement.same_first else "not the same"],
        [f"The {agreement.top} closest of each: in both lists", f"{agreement.shared} of {agreement.top}"],
        ["Spearman ×100 of all scores (100: the same order)", f"{times_100(agreement.spearman)}"],
    ]
    sampled = " drawn at random" if last.sentences < conditions.sentences else ""
    how = f"All {agreement.pairs:,} pairs of {last.sentences} sentences{sampled}, scored by both."
    why = "Few random pairs are similar, so the order of the others is mostly chance."
    hint = html.hint(f"{how} {why if conditions.trained_for != ANSWERS else OF_ANSWERS}")
    section = Markup('<section class="measures"><p class="eyebrow">Do they agree?</p><p>{}</p>{}{}</section>')
    return section.format(first, html.table(("", ""), rows), hint)


def _pair(pair: tuple[str, str]) -> Markup:
    return Markup(" and ").join(Markup("<q>{}</q>").format(html.short(sentence, SHOWN)) for sentence in pair)


def _quality(result: TimingResult, live: bool) -> Markup:
    if result.quality:
        change = result.quality.changes[0]
        difference, low, high = change.interval
        rows = [[name, f"{times_100(side.value)} ({times_100(side.low)} to {times_100(side.high)})"]
                for name, side in (("SBERT", change.before), ("Cross-encoder", change.after))]  # fmt: skip
        how = (
            f"{change.metric.replace('_', ' ')} ×100 on {result.quality.examples:,} of the labelled examples in the Fine-tune tab, "
            f"on which neither was trained. Cross-encoder minus SBERT: {difference} ({low} to {high})."
        )
    else:
        rows = [[name, f"{value:.1f}"] for name, value in STSB_FIGURES.items()]
        how = f"{STSB}."
        if live:
            how += " Load labelled pairs in the Fine-tune tab to measure both on them in the next race."
    published = (
        f"The paper, STSb test: cross-encoder {paper.NLI_STSB_CROSS_ENCODER} against SBERT {paper.NLI_STSB_SBERT} after NLI "
        f"and STSb, {paper.STSB_CROSS_ENCODER:.2f} against {paper.STSB_SBERT} on STSb alone."
    )
    return Markup(
        '<section class="measures"><p class="eyebrow">Which is more accurate?</p>'
        "<p>Reading both sentences together is usually more accurate{}</p>{}{}</section>"
    ).format(BOUGHT[result.quality.word if result.quality else BETTER], html.table(("", ""), rows), html.hint(f"{how} {published}"))
