"""Render a race's result: extrapolated times, agreement and quality of the two systems, every number, and all of it as a page."""

from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.evaluation import paper
from sbert_app.evaluation.verdict import BETTER, UNCLEAR, WORSE
from sbert_app.jobs.timing import TIMING
from sbert_app.models.files.trained_for import ANSWERS
from sbert_app.timing.extrapolation import DISTURBED, Extrapolation, pairs_of
from sbert_app.timing.report import IN_PAPER, PUBLISHED, Figure, figures, models_of_race
from sbert_app.timing.result import APPROXIMATE, EXACT, Rates, TimingResult
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import input_of, shell
from sbert_app.ui.timing import race_view
from sbert_app.wording import digits, spoken, times_100

# The first and last figure are from `python -m tests.benchmarks quality`, the second from `stsb`.
STSB = "STSb test, 1,379 pairs, Spearman ×100, measured with this app on 2026-11-20"
UNTRAINED = "an untrained head, which is as fast as a trained one. Its scores are meaningless, so they are not compared."
OF_ANSWERS = "The cross-encoder was trained for answers, not for likeness: it scores something else, so both may differ."
CARD = Markup('<section class="measures{}"><p class="eyebrow">{}</p><p>{}</p>{}{}</section>')
BOUGHT = {  # by the verdict on the cross-encoder
    BETTER: ". The extra time buys this accuracy.",
    UNCLEAR: "; on these examples there is no clear difference.",
    WORSE: "; on these examples SBERT is.",
}
SHOWN = 120  # characters of a sentence
NOTICEABLE = 0.05  # seconds
SECONDS = {"s": 1.0, "ms": 1e-3}  # by unit of time
STSB_FIGURES = {
    "all-MiniLM-L6-v2, not fine-tuned": 82.0,
    "all-MiniLM-L6-v2, fine-tuned on STSb": 85.8,
    "cross-MiniLM-L6-stsb (cross-encoder)": 86.7,
}


def in_words(result: TimingResult, sentences: int, with_method: bool = True) -> Markup:
    """The times extrapolated from a race to a number of sentences, and how, unless a page says that elsewhere."""
    unlike = "" if result.conditions.same_backbone else " ".join(models_of_race(result.conditions))
    warnings = filter(None, [DISTURBED if result.disturbed else "", unlike])
    before = Markup().join(map(Markup('<p class="disturbed" role="note">{}</p>').format, warnings))
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
    published = f"the {paper.CLOSEST_PAIR_SENTENCES:,} sentences of {paper.SOURCE}, section 1"
    source = html.hint(f"Dashed: extrapolated from {published}, for which BERT took 65 hours and SBERT 5 seconds.")
    return _times(IN_PAPER, sentences, f"In the paper, on a {paper.CLOSEST_PAIR_HARDWARE} GPU", Markup(), source)


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
    cross, once, exactly, nearly = map(spoken, (sentences / result.cross.rate, result.encode_one, exact, fast))
    sbert = f"{once} to encode it, then {exactly} in an exact index or {nearly} in an approximate one"
    return html.hint(f"One new query against all of them: {cross} for the cross-encoder; for SBERT {sbert}.")


def agreement(result: TimingResult, live: bool = True) -> Markup:
    """Agreement and quality of the two systems. live: shown in the app, where labelled pairs can be added."""
    return Markup('{}<div class="verdicts agree">{}{}</div>').format(_answer(result), _agreed(result), _quality(result, live))


def _answer(result: TimingResult) -> Markup:
    if (answer := result.answer) is None:
        return Markup()
    ties = f" {answer.pair.ties - 1:,} other pairs are just as close." if answer.pair.ties > 1 else ""
    cosine = f"cosine {answer.pair.score:.3f}, found in {spoken(answer.seconds)}.{ties}"
    head = f"SBERT's answer: the most similar pair of {result.conditions.sentences:,} sentences, {cosine}"
    return CARD.format(" answer", head, answer.sentence1, Markup("<p>{}</p>").format(answer.sentence2), "")


def _agreed(result: TimingResult) -> Markup:
    agreement, conditions = result.agreement, result.conditions
    if agreement is None:
        reason = "The race was stopped before this check."
        if not conditions.head_trained:
            reason = f"There is no trained cross-encoder of the size of {conditions.encoder}: the race used {UNTRAINED}"
        return CARD.format("", "Do they agree?", reason, "", "")
    last = result.runs[-1]
    same, other = Markup("Both find the same closest pair: {}."), Markup("Closest pair for SBERT: {}; for the cross-encoder: {}.")
    first = (same if agreement.same_first else other).format(_pair(last.sbert_first), _pair(last.cross_first))
    rows = {
        "Closest pair": "the same" if agreement.same_first else "not the same",
        f"The {agreement.top} closest of each: in both lists": f"{agreement.shared} of {agreement.top}",
        "Spearman ×100 of all scores (100: the same order)": times_100(agreement.spearman),
    }
    sampled = " drawn at random" if last.sentences < conditions.sentences else ""
    how = f"All {agreement.pairs:,} pairs of {last.sentences} sentences{sampled}, scored by both."
    why = "Few random pairs are similar, so the order of the others is mostly chance."
    hint = html.hint(f"{how} {why if conditions.trained_for != ANSWERS else OF_ANSWERS}")
    return CARD.format("", "Do they agree?", first, html.table(("", ""), rows.items()), hint)


def _pair(pair: tuple[str, str]) -> Markup:
    return Markup(" and ").join(Markup("<q>{}</q>").format(html.short(sentence, SHOWN)) for sentence in pair)


def _quality(result: TimingResult, live: bool) -> Markup:
    if result.quality:
        change = result.quality.changes[0]
        difference, low, high = change.interval
        sides = {"SBERT": change.before, "Cross-encoder": change.after}
        rows = {name: f"{times_100(side.value)} ({times_100(side.low)} to {times_100(side.high)})" for name, side in sides.items()}
        labelled = f"{result.quality.examples:,} of the labelled examples in the Fine-tune tab, on which neither was trained"
        how = f"{change.metric.replace('_', ' ')} ×100 on {labelled}. Cross-encoder minus SBERT: {difference} ({low} to {high})."
    else:
        rows = {name: f"{value:.1f}" for name, value in STSB_FIGURES.items()}
        how = f"{STSB}.{' Load labelled pairs in the Fine-tune tab to measure both on them in the next race.' if live else ''}"
    both = f"cross-encoder {paper.NLI_STSB_CROSS_ENCODER} against SBERT {paper.NLI_STSB_SBERT} after NLI and STSb"
    published = f"The paper, STSb test: {both}, {paper.STSB_CROSS_ENCODER:.2f} against {paper.STSB_SBERT} on STSb alone."
    usual = f"Reading both sentences together is usually more accurate{BOUGHT[result.quality.word if result.quality else BETTER]}"
    return CARD.format("", "Which is more accurate?", usual, html.table(("", ""), rows.items()), html.hint(f"{how} {published}"))


def numbers(result: TimingResult) -> Markup:
    """Every number and how it was obtained, with downloads."""
    rows = figures(result)
    records = [{key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in vars(f).items()} for f in rows]
    table = html.table(("what", "value", "range of turns, or 95 % band", "how"), [_line(figure) for figure in rows])
    conditions, waited = result.conditions, result.waited
    others = f" Other jobs used the device for {waited:.1f} s in between; that time is not counted." if waited > NOTICEABLE else ""
    how = (
        f"{' '.join(models_of_race(conditions))} {conditions.hardware} on {conditions.machine}, "
        f"{conditions.date}. At most {conditions.max_tokens[0]} tokens per sentence, {conditions.max_tokens[1]} per pair; "
        "including tokenising, excluding warm-up; the two systems took turns."
        f"{others}{f' {DISTURBED}' if result.disturbed else ''}"
    )
    return Markup(
        '<div class="hits-head"><span>{}</span>{}</div>'
        '<div class="numbers scroll" tabindex="0" role="region" aria-label="every number">{}</div>'
    ).format(how, html.downloads("sbert-studio-timing", records), table)


def _line(figure: Figure) -> list[str]:
    """A row; a time of this machine is rounded by `spoken`, as everywhere on the tab, the paper's are in the paper's own units."""
    is_time = figure.unit in SECONDS and figure.kind != PUBLISHED

    def text(value: float) -> str:
        return spoken(value * SECONDS[figure.unit]) if is_time else digits(value)

    band = "" if figure.low is None or figure.high is None else f"{text(figure.low)} to {text(figure.high)}"
    how = Markup('<span class="kind {kind}">{kind}</span> {how}').format(kind=figure.kind, how=figure.how)
    return [figure.what, text(figure.value) if is_time else f"{text(figure.value)} {figure.unit}", band, how]


def page(result: TimingResult, sentences: int, indexed: IndexedCorpus | None) -> str:
    """Render the page, with plotly's script inside: about 5 MB. indexed: as in `race_view.links`, for the command at the foot."""
    chart = race_view.race_chart(result, sentences)
    return html.render(
        "timing_page.html",
        title=f"Cross-encoder against SBERT, {result.conditions.date}",
        source=race_view.caption(result).source,
        in_words=in_words(result, sentences, with_method=False),
        plot=chart.to_html(full_html=False, include_plotlyjs=True, config=html.PAGE_CONFIG),
        how_to_read=race_view.HOW_TO_READ,
        agreement=agreement(result, live=False),
        numbers=numbers(result),
        method=method(result),
        command=shell(TIMING, race_view.options(result, sentences), input_of(indexed)),
    )
