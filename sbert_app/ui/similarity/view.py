"""Render a comparison: score, its percentile, other measures, and the words that contribute."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sbert_app.explain.attribution import EXACT, Attribution, Link, is_special
from sbert_app.explain.calibration import in_words
from sbert_app.services.similarity import Comparison, ListComparison, ModelScore
from sbert_app.ui.kit import html
from sbert_app.vectors import Vectors
from sbert_app.wording import plural

MATRIX_WORDS = 26  # most rows and columns of the matrix
NARROW_WORDS = 14  # up to this many columns, the matrix fits beside the table of links
WORD_LENGTH = 30
SHOWN_PAIRS = 100
STRONGEST = 8
MINUS = ' class="minus"'


def comparison(result: Comparison, model: str = "") -> Markup:
    """The result for two sentences. model: the name of the encoder in use, shown next to another model."""
    other, waited = result.other, f", after waiting {result.waited:.0f} ms for others" if result.waited >= 1 else ""
    score = _score(result, model if other and model else "Cosine similarity", result.calibrated_on, waited)
    other_card = Markup()
    if other:
        other_card = _score(other, other.model, "the same corpus under this model", kind="plain", elem_id="other-score")
        other_card = Markup('<section class="score-card other">{}</section>').format(other_card)
    return Markup(
        '<div class="result{}"><section class="score-card">{}</section>{}<section class="rivals">{}</section></div>{}'
    ).format(
        " three" if other else "", score + html.notes(result.notes), other_card, _other_measures(result), _why(result.attribution)
    )


def lists_summary(result: ListComparison, records: Sequence[Mapping[str, object]]) -> Markup:
    """Number of pairs, time, and downloads."""
    count = result.scores.size
    text = f"{count:,} {plural(count, 'pair', 'pairs')} in {result.milliseconds:.1f} ms"
    if count > SHOWN_PAIRS:
        text += f" · the closest {SHOWN_PAIRS} are listed, {len(records):,} are in the download"
    return html.head(text, html.downloads("pairs", records))


def pair_table(records: Sequence[Mapping[str, object]]) -> Markup:
    """A table of the closest pairs, at most SHOWN_PAIRS."""
    rows = [(str(r["rank"]), f"{r['score']:.4f}", str(r["sentence1"]), str(r["sentence2"])) for r in records[:SHOWN_PAIRS]]
    return Markup('<div class="pairs" tabindex="0">{}</div>').format(html.table(("#", "Score", "First list", "Second list"), rows))


def pair_records(result: ListComparison, count: int) -> list[dict[str, object]]:
    """The closest pairs as records."""
    pairs = enumerate(result.best(count), 1)
    return [{"rank": rank, "score": round(score, 4), "sentence1": s1, "sentence2": s2} for rank, (score, s1, s2) in pairs]


def _score(
    scored: Comparison | ModelScore, name: str, corpus: str, waited: str = "", kind: str = "sbert", elem_id: str = "score"
) -> Markup:
    meaning = "" if scored.percentile is None else f"{in_words(scored.percentile, corpus)}."
    bar = html.bar(scored.score, kind, f"cosine {scored.score:.3f} of 1")
    return Markup(
        '<p class="eyebrow">{}</p><p class="score" id="{}">{:.3f}</p>{}<p class="meaning">{}</p>'
        '<p class="timing">{:.1f} ms on the server{}</p>'
    ).format(name, elem_id, scored.score, bar, meaning[:1].upper() + meaning[1:], scored.milliseconds, waited)


def _other_measures(result: Comparison) -> Markup:
    names = {"mean": "mean of the tokens", "max": "max over time", "cls": "[CLS] token"}
    rows = [(f"{names[p]}{' (this model)' if p == result.pooling else ''}", v) for p, v in result.poolings.items()]
    cells: list[tuple[str, str, str]] = [(name, f"{v:.3f}", html.bar(v, "sbert" if "(" in name else "plain")) for name, v in rows]
    cross = result.cross_encoder
    if cross:
        label = Markup('<span title="{}">cross-encoder, {:.1f} ms</span>').format(cross.model, cross.milliseconds)
        cells.insert(0, (label, f"{cross.score:.3f}", html.bar(cross.score, "cross")))
    else:
        cells.insert(0, ("cross-encoder", "…", "loading"))
    cells.append(("word overlap (Jaccard)", f"{result.word_overlap:.3f}", html.bar(result.word_overlap, "plain")))
    hint = "Poolings the model was not trained with give cosines near 1: compare their order, not their values."
    return html.table(("Other measures", "Score", ""), cells) + html.hint(hint)


def _why(attribution: Attribution | None) -> Markup:
    if attribution is None:
        return html.empty("These sentences are too long to explain by words. Shorten them to see which words matter.")
    rows = [(_words(link), f"{link.contribution:+.4f}") for link in attribution.strongest(STRONGEST)]
    links = html.table(("Strongest links", "Adds"), rows)
    wide = "" if len(attribution.words2) <= NARROW_WORDS else " wide"
    why = Markup('<div class="why{}"><section>{}</section><section>{}{}</section></div>')
    return why.format(wide, _matrix(attribution), links, _method(attribution))


def _words(link: Link) -> str:
    return " ↔ ".join(html.short(word, WORD_LENGTH) for word in (link.word1, link.word2))


def _method(attribution: Attribution) -> Markup:
    if attribution.method == EXACT:
        text = f"Exact: with mean pooling the shares add up to the score (rounding error {attribution.residual:.0e})."
    else:
        text = (
            "Leave-one-out: the score's drops without each of the two words, minus its drop without both. "
            f"The shares do not add up to the score (difference {attribution.residual:+.3f})."
        )
    return html.hint(f"{text} Shares are in hundredths of the cosine.")


def _matrix(attribution: Attribution) -> Markup:
    values = attribution.contributions
    if not values.size:
        return html.empty("No words to compare.")
    rows, columns = _heaviest(values, axis=1), _heaviest(values, axis=0)
    largest = float(np.abs(values).max()) or 1.0
    digits = 1 if largest >= 0.01 else 2
    across, down = _pick(attribution.words2, columns), _pick(attribution.words1, rows)
    column, line = Markup('<th scope="col"{}><span>{}</span></th>'), Markup('<tr><th scope="row"{}>{}</th>{}</tr>')
    head = Markup().join(column.format(_special(word), word) for word in across)
    body = Markup().join(
        line.format(_special(word), word, _cells(row, largest, digits))
        for word, row in zip(down, values[np.ix_(rows, columns)].tolist(), strict=True)
    )
    caption = "Which words match: each pair's share of the score"
    if max(values.shape) > MATRIX_WORDS:
        caption += f". Shown: the {MATRIX_WORDS} words of a sentence with the largest shares"
    return Markup(
        '{}<div class="scroll" tabindex="0" role="region" aria-label="Word by word">'
        '<table class="matrix"><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(html.hint(caption), head, body)


def _heaviest(values: Vectors, axis: int) -> NDArray[np.int64]:
    """Indices of the words with the largest shares, at most MATRIX_WORDS, in sentence order."""
    weights = np.abs(values).sum(axis=axis)
    return np.sort(np.argsort(-weights, kind="stable")[:MATRIX_WORDS])


def _pick(words: list[str], indices: NDArray[np.int64]) -> list[str]:
    return [words[index] for index in indices.tolist()]


def _cells(row: Sequence[float], largest: float, digits: int) -> Markup:
    """The cells of a row. They hold numbers only: escaping hundreds of them would triple the time of the whole result."""
    cells = []
    for value in row:
        kind, share = "" if value >= 0 else MINUS, round(value * 100, digits) + 0.0
        cells.append(f'<td{kind} style="--w:{abs(value) / largest:.2f}">{share:.{digits}f}</td>')
    return Markup("".join(cells))  # noqa: S704


def _special(word: str) -> Markup:
    return Markup(' class="special"') if is_special(word) else Markup()
