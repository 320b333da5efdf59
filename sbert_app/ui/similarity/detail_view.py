"""Render the details of a comparison: word by word, other measures, times."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sbert_app.explain.words import EXACT, Attribution, Link, has_content, is_special
from sbert_app.jobs.similarity import Comparison
from sbert_app.models.files.trained_for import in_words
from sbert_app.ui.kit import html
from sbert_app.ui.similarity.view import TOO_LONG
from sbert_app.vectors import Integers, Mask, Vectors
from sbert_app.wording import rounded

MATRIX_WORDS = 26  # most rows and columns of the matrix with content; and
QUIET_WORDS = 14  # this many without
NARROW_WORDS = 14  # up to this many columns, the matrix fits beside the table of links
WORD_LENGTH = 30
STRONGEST = 8
NOTICED = 100.0  # milliseconds of waiting that a person notices
POOLING_NAMES = {"mean": "mean of the tokens", "max": "max over time", "cls": "[CLS] token"}
HINT = "Poolings the model was not trained with give cosines near 1: compare their order, not their values."
OTHER_WORDS = (
    "A low score proves no difference: {} pairs that mean the same in entirely other words have a median of {} with this model. "
    "Nor does a high one prove agreement: opposites share most of their words."
)
BY_SCORE = "By the score alone the answer would be “{}”; because of the caution it is “{}”."


def details(result: Comparison, model: str) -> Markup:
    """Everything behind the one number. model: the encoder's name."""
    measures = Markup('<div class="why measures-row"><section>{}</section><section>{}</section></div>')
    return _why(result.attribution) + measures.format(_other_measures(result), _times(result, model))


def _other_measures(result: Comparison) -> Markup:
    cells: list[tuple[str, str, str]] = []
    if cross := result.cross_encoder:
        bar = html.bar(cross.score, "cross") if cross.bounds else Markup("<small>logit, no fixed range</small>")
        cells.append((f"{cross.kind} {cross.model}, {in_words(cross.trained_for)}", rounded(cross.score), bar))
    for pooling, value in result.poolings.items():
        own = pooling == result.pooling
        name = f"{POOLING_NAMES[pooling]}{' (this model)' if own else ''}"
        cells.append((name, rounded(value), html.bar(value, "sbert" if own else "plain")))
    cells.append(("word overlap (Jaccard)", rounded(result.word_overlap), html.bar(result.word_overlap, "plain")))
    measures = html.table(("Other measures", "Score", ""), cells) + html.hint(HINT)
    # How low the same meaning may score, and whether a caution changed the answer.
    mark, alone, word = result.scale.other_words, result.scale.word(result.score), result.in_words.partition(":")[0]
    measures += html.hint(OTHER_WORDS.format(mark.pairs, rounded(mark.score, 2)))
    return measures + (html.hint(BY_SCORE.format(alone, word)) if alone != word else "")


def _times(result: Comparison, model: str) -> Markup:
    """The models' times for this pair, side by side, without waiting."""
    scores = [score for score in (result.cross_encoder, result.other) if score]
    times = [(f"SBERT, {model or 'encoder'}", result.encode_milliseconds)]
    times += [(f"{'SBERT' if score.kind == 'encoder' else score.kind}, {score.model}", score.milliseconds) for score in scores]
    rows = [(name, f"{milliseconds:.1f} ms") for name, milliseconds in times]
    waited = f" This comparison waited {result.waited:.0f} ms for others first." if result.waited >= NOTICED else ""
    return html.table(("Time for this pair", "on the server"), rows) + html.hint(f"Tokenising and the model, nothing else.{waited}")


def _why(attribution: Attribution | None) -> Markup:
    if attribution is None:
        return html.empty(TOO_LONG)
    contents = has_content(attribution.words1), has_content(attribution.words2)
    links = Markup('<div class="content-only">{}</div><div class="quiet">{}</div>').format(
        _links(attribution.strongest(STRONGEST, contents)), _links(attribution.strongest(STRONGEST))
    )
    wide = "" if len(attribution.words2) <= NARROW_WORDS else " wide"
    why = Markup('<div class="why{}"><section>{}</section><section>{}{}</section></div>')
    return why.format(wide, _matrix(attribution, contents), links, _method(attribution, contents))


def _links(links: Sequence[Link]) -> Markup:
    words = [" ↔ ".join(html.short(word, WORD_LENGTH) for word in (link.word1, link.word2)) for link in links]
    adds = [f"{link.contribution:+z.4f}" for link in links]
    return html.table(("Strongest links", "Adds"), [*zip(words, adds, strict=True)])


def _method(attribution: Attribution, contents: tuple[Mask, Mask]) -> Markup:
    if attribution.method == EXACT:
        shown = float(attribution.contributions[np.ix_(*contents)].sum(dtype=np.float64))
        text = (
            f"Hidden words still count: they take part in {rounded(attribution.score - shown)} of {rounded(attribution.score)}. "
            f"Exact: with mean pooling all shares add up to the score (rounding error {attribution.residual:.0e})."
        )
    else:
        text = (
            "Hidden words still count in the score. Leave-one-out: the score's drops without each of the two words, minus its drop "
            f"without both. The shares do not add up to the score (difference {attribution.residual:+.3f})."
        )
    return html.hint(f"{text} Shares are in hundredths of the cosine.")


def _matrix(attribution: Attribution, contents: tuple[Mask, Mask]) -> Markup:
    values = attribution.contributions
    if not values.size:
        return html.empty("No words to compare.")
    rows, columns = _heaviest(values, 1, contents[0]), _heaviest(values, 0, contents[1])
    largest = float(np.abs(values).max()) or 1.0
    digits = 1 if largest >= 0.01 else 2
    across = [(attribution.words2[i], bool(contents[1][i])) for i in columns.tolist()]
    down = [(attribution.words1[i], bool(contents[0][i])) for i in rows.tolist()]
    kinds = ["" if content else "quiet" for _, content in across]
    column, line = Markup('<th scope="col"{}><span>{}</span></th>'), Markup('<tr{}><th scope="row"{}>{}</th>{}</tr>')
    head = Markup().join(column.format(_kind(word, content), word) for word, content in across)
    body = Markup().join(
        line.format(_kind("", content), _kind(word, True), word, _cells(row, kinds, largest, digits))
        for (word, content), row in zip(down, values[np.ix_(rows, columns)].tolist(), strict=True)
    )
    caption = "Which words match: each pair's share of the score"
    if len(rows) < values.shape[0] or len(columns) < values.shape[1]:
        caption += ". Shown: the words of each sentence with the largest shares"
    return Markup(
        '{}<div class="scroll" tabindex="0" role="region" aria-label="Word by word">'
        '<table class="matrix"><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(html.hint(caption), head, body)


def _heaviest(values: Vectors, axis: int, content: Mask) -> Integers:
    """Indices of the words with the largest shares, most of them with content, in sentence order."""
    order = np.argsort(-np.abs(values).sum(axis=axis), kind="stable")
    return np.sort(np.concatenate([order[content[order]][:MATRIX_WORDS], order[~content[order]][:QUIET_WORDS]]))


def _cells(row: Sequence[float], kinds: Sequence[str], largest: float, digits: int) -> Markup:
    """The cells of a row. They hold numbers only: escaping hundreds of them would triple the time of the whole result."""
    cells = []
    for value, kind in zip(row, kinds, strict=True):
        names = f"{kind} minus" if value < 0 else kind
        classes = f' class="{names}"' if names else ""
        cells.append(f'<td{classes} style="--w:{abs(value) / largest:.2f}">{100 * value:z.{digits}f}</td>')
    return Markup("".join(cells))  # noqa: S704


def _kind(word: str, content: bool) -> Markup:
    names = " ".join(filter(None, ("" if content else "quiet", "special" if is_special(word) else "")))
    return Markup(' class="{}"').format(names) if names else Markup()
