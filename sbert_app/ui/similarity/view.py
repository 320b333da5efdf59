"""Render a comparison: the answer in words, the score on its scale, cautions, matched words; of two lists a heat map and table."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sbert_app.explain.scale import Scale
from sbert_app.explain.words import matched_pairs, spans
from sbert_app.jobs.similarity import SIMILARITY, Comparison, ListComparison, ModelScore
from sbert_app.models.files.trained_for import how_to_read, in_words
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, Input, commands, pictures, present, row
from sbert_app.wording import amount, rounded

COMPARISON = "comparison"  # the element of the result
# The shape of the first result, which is being computed.
SKELETON = Markup('<div class="skeleton" role="status" aria-label="Computing"><i></i><i></i><i></i><i></i></div>')
MARK_NAMES = {"random": "random pairs", "related": "related pairs", "paraphrase": "paraphrases"}
TOO_LONG = "These sentences are too long to explain by words. Shorten them to see which words match."
NUMBERED = "Words with the same number match. The stronger the colour, the more the two add to the score."
SAVED_PAIRS, SHOWN_PAIRS = 1_000, 100
HEAT_MAP, PAIRS = "heat-map", "pairs"  # the elements of the chart and of the table
SCALE = [[0, "#dcebe8"], [0.5, "#6fb3a9"], [1, "#0f5f59"]]
LABEL_LENGTH, NAMED_ROWS = 22, 16
LABELLED_CELLS = 150  # with more cells, values are shown on hover only


def comparison(result: Comparison, model: str = "") -> Markup:
    """The result for two sentences. model: the name of the encoder in use, shown next to another model."""
    other, origin = result.other, html.info(_origin(result.scale), "Where the scale comes from")
    name = Markup("{} {}").format(model if other and model else "Cosine similarity", origin)
    answer = _score(result, name, "sbert", "score", html.cautions(result.cautions))
    answer += _cross_encoder(result.cross_encoder) + html.notes(result.notes)
    cards = Markup('<section class="score-card">{}</section>').format(answer)
    if other:
        cards += Markup('<section class="score-card other">{}</section>').format(_score(other, other.model, "plain", "other-score"))
    return Markup('<div class="result{}">{}</div>{}').format(" two" if other else "", cards, matched_words(result))


def links(sentence1: str, sentence2: str, model: str, cross_encoder: ModelScore | None) -> Markup:
    """The links under the comparison: full screen, commands."""
    values = {"sentence1": sentence1, "sentence2": sentence2, "model": model}
    values |= {"cross_encoder": cross_encoder.model} if cross_encoder else {}
    caption = Caption.of("How similar are two sentences?", model, cross_encoder.model if cross_encoder else "")
    return row(caption, [COMPARISON], present(), commands(SIMILARITY, values, Input()))


def _score(scored: Comparison | ModelScore, name: str, kind: str, elem_id: str, cautions: Markup = Markup()) -> Markup:
    """The sentence in words, cautions, the number, and its bar; above zero, with a mark at the median of each kind of pairs."""
    score, scale = scored.score, scored.scale
    word, colon, place = scored.in_words.partition(": ")
    place = place.removesuffix(f" of {scale.random.whose}") if scale else place  # whose they are is in `_origin`
    line = Markup('<p class="in-words" id="{}-words" role="status"><b>{}</b> {}</p>')
    words = line.format(elem_id, word + colon.rstrip(), place and f"{place}.")
    number = Markup('<div class="score-line"><span class="score" id="{}">{}</span> <span class="eyebrow">{}</span></div>')
    marks = scale.marks if scale else ()
    listed = ", ".join(f"{MARK_NAMES[mark.name]} {rounded(mark.score, 2)}" for mark in marks)
    bar = html.bar(score, kind, f"cosine {rounded(score)} of 1" + (f"; medians: {listed}" if listed else ""))
    mark = Markup('<span class="mark mark-{}" style="--p:{:.1f}"><i></i>{} {}</span>')
    shown = [mark.format(m.name, 100 * max(0.0, min(1.0, m.score)), m.name, rounded(m.score, 2)) for m in marks]
    scaled = Markup('<div class="scale">{}<div class="marks" aria-hidden="true">{}</div></div>').format(bar, Markup().join(shown))
    return words + cautions + number.format(elem_id, rounded(score), name) + scaled


def _origin(scale: Scale) -> str:
    """How the marks were measured."""
    counts = {mark.name: f"{mark.pairs:,}" for mark in scale.marks}
    return (
        f"Marks: medians of {counts['random']} random pairs of {scale.random.whose}, {counts['related']} related pairs and "
        f"{counts['paraphrase']} paraphrases written for this app, measured with this model."
    )


def _cross_encoder(cross: ModelScore | None) -> Markup:
    if cross is None:
        return Markup('<p class="second late">The cross-encoder is still loading.</p>')
    line = Markup('<div class="second">The {} ({}), which reads {}, gives <b id="cross-score">{}</b>{}. {}</div>')
    reads = "both sentences together" if cross.kind == "cross-encoder" else "each sentence apart"
    unit = "" if cross.bounds else ", a logit without a fixed range"
    about = html.info(f"{cross.model}. {how_to_read(cross.trained_for, cross.bounds)}", f"About the {cross.kind}")
    return line.format(cross.kind, in_words(cross.trained_for), reads, rounded(cross.score, 2), unit, about)


def matched_words(result: Comparison) -> Markup:
    """Both sentences, with the pairs of words that add most to the score marked and numbered."""
    attribution = result.attribution
    if attribution is None:
        return html.empty(TOO_LONG)
    pairs, words1, words2 = matched_pairs(attribution), attribution.words1, attribution.words2
    titles = [f"{words1[pair.first]} ↔ {words2[pair.second]}: {rounded(pair.share)} of the score" for pair in pairs]
    shares = [pair.share / pairs[0].share for pair in pairs]
    first = _marked(result.sentences[0], words1, [pair.first for pair in pairs], shares, titles)
    second = _marked(result.sentences[1], words2, [pair.second for pair in pairs], shares, titles)
    numbered = html.hint(NUMBERED) if pairs else Markup()
    return Markup('<div class="matched"><p dir="auto">{}</p><p dir="auto">{}</p>{}</div>').format(first, second, numbered)


def _marked(sentence: str, tokens: Sequence[str], words: Sequence[int], shares: Sequence[float], titles: Sequence[str]) -> Markup:
    """The sentence with the words at these positions marked by pair number; cut after the last word that the model read."""
    places = spans(sentence, tokens)
    mark = Markup('<mark class="pair-{0}" style="--w:{1:.2f}" title="{2}">{3}<sup>{0}</sup></mark>')
    numbers = {place: number for number, word in enumerate(words) if (place := places[word]) is not None}
    marked, position = Markup(), 0
    for (start, end), number in sorted(numbers.items()):
        marked += sentence[position:start] + mark.format(number + 1, shares[number], titles[number], sentence[start:end])
        position = end
    read = max((place[1] for place in places if place is not None), default=len(sentence))
    rest = sentence[position : max(read, position)] + ("" if sentence[read:].strip(" .!?…\"'”’)") == "" else " …")
    return marked + (rest if rest.endswith("…") else sentence[position:])


def lists(result: ListComparison, model: str) -> tuple[Markup, Markup]:
    """Two lists: the number of pairs, the time, and downloads, also of the heat map; and a table of the closest pairs."""
    count, records = result.scores.size, result.records(SAVED_PAIRS)
    text = f"{amount(count, 'pair')} in {result.milliseconds:.1f} ms"
    if count > SHOWN_PAIRS:
        text += f" · the closest {SHOWN_PAIRS} are listed, {len(records):,} are in the download"
    caption = Caption.of("Cosine of every sentence of one list with every sentence of the other", model)
    links = row(caption, [HEAT_MAP, PAIRS], present(), pictures(HEAT_MAP, "sbert-studio-heat-map"))
    rows = [(str(r["rank"]), f"{r['score']:.4f}", r["sentence1"], r["sentence2"]) for r in records[:SHOWN_PAIRS]]
    table = Markup('<div class="pairs" tabindex="0">{}</div>').format(html.table(("#", "Score", "First list", "Second list"), rows))
    return html.head(text, html.downloads("pairs", records)) + links, table


def heat_map(result: ListComparison) -> html.Figure:
    """The cosine of every pair of sentences as a colour."""
    import plotly.graph_objects as go

    labelled = result.scores.size <= LABELLED_CELLS
    heat = go.Heatmap(
        z=np.round(result.scores, 3) + 0.0, zmin=0, zmax=1, colorscale=SCALE, showscale=not labelled,
        text=np.round(result.scores, 2) + 0.0,  # a zero without a sign
        texttemplate="%{text:.2f}" if labelled else None, xgap=2 if labelled else 0, ygap=2 if labelled else 0,
        x=[str(i) for i in range(1, len(result.sentences2) + 1)], y=_labels(result.sentences1, NAMED_ROWS),
        customdata=[_labels(result.sentences2, len(result.sentences2))] * len(result.sentences1),
        colorbar={"title": {"text": "cosine", "side": "right"}, "thickness": 10, "outlinewidth": 0},
        hovertemplate="first list: %{y}<br>second list: %{customdata}<br>cosine %{z:.3f}<extra></extra>",
    )  # fmt: skip
    figure = go.Figure(heat)
    html.quiet(figure, 110 + min(34 * len(result.sentences1), 640))
    title = None if len(result.sentences1) <= NAMED_ROWS else "line of the first list"
    figure.update_yaxes(title=title, autorange="reversed", automargin=True, showgrid=False, type="category")
    figure.update_xaxes(title="line of the second list", automargin=True, showgrid=False, type="category")
    return figure


def _labels(sentences: list[str], most: int) -> list[str]:
    """Numbered short labels (plotly merges equal ones); beyond `most` sentences only the numbers."""
    if len(sentences) > most:
        return [str(i) for i in range(1, len(sentences) + 1)]
    return [f"{i}. {html.as_text(html.short(text, LABEL_LENGTH))}" for i, text in enumerate(sentences, 1)]
