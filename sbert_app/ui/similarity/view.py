"""Render a comparison: score, its percentile, other measures, and the words that contribute."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
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


def comparison(result: Comparison, model: str = "") -> str:
    """The result for two sentences. model: the name of the encoder in use, shown next to another model."""
    other = f'<section class="score-card other">{_other(result.other)}</section>' if result.other else ""
    return (
        f'<div class="result{" three" if other else ""}">'
        f'<section class="score-card">{_score(result, model if other else "")}</section>{other}'
        f'<section class="rivals">{_other_measures(result)}</section></div>{_why(result.attribution)}'
    )


def lists_summary(result: ListComparison, records: Sequence[Mapping[str, object]]) -> str:
    """Number of pairs, time, and downloads."""
    count = result.scores.size
    text = f"{count:,} {plural(count, 'pair', 'pairs')} in {result.milliseconds:.1f} ms"
    if count > SHOWN_PAIRS:
        text += f" · the closest {SHOWN_PAIRS} are listed, {len(records):,} are in the download"
    return f'<div class="hits-head" role="status"><span>{text}</span>{html.downloads("pairs", records)}</div>'


def pair_table(records: Sequence[Mapping[str, object]]) -> str:
    """A table of the closest pairs, at most SHOWN_PAIRS."""
    rows = [(str(r["rank"]), f"{r['score']:.4f}", escape(str(r["sentence1"])), escape(str(r["sentence2"]))) for r in records]
    return f'<div class="pairs" tabindex="0">{html.table(("#", "Score", "First list", "Second list"), rows[:SHOWN_PAIRS])}</div>'


def pair_records(result: ListComparison, count: int) -> list[dict[str, object]]:
    """The closest pairs as records."""
    pairs = enumerate(result.best(count), 1)
    return [{"rank": rank, "score": round(score, 4), "sentence1": s1, "sentence2": s2} for rank, (score, s1, s2) in pairs]


def _other(other: ModelScore) -> str:
    meaning = "" if other.percentile is None else in_words(other.percentile, "the same corpus under this model") + "."
    return (
        f'<p class="eyebrow">{escape(other.model)}</p><p class="score" id="other-score">{other.score:.3f}</p>'
        f"{html.bar(other.score, 'plain', label=f'cosine {other.score:.3f} of 1')}"
        f'<p class="meaning">{escape(meaning[:1].upper() + meaning[1:])}</p>'
        f'<p class="timing">{other.milliseconds:.1f} ms on the server</p>'
    )


def _score(result: Comparison, model: str) -> str:
    waited = f", after waiting {result.waited:.0f} ms for others" if result.waited >= 1 else ""
    meaning = "" if result.percentile is None else in_words(result.percentile, result.calibrated_on) + "."
    return (
        f'<p class="eyebrow">{escape(model) or "Cosine similarity"}</p><p class="score" id="score">{result.score:.3f}</p>'
        f"{html.bar(result.score, label=f'cosine {result.score:.3f} of 1')}"
        f'<p class="meaning">{escape(meaning[:1].upper() + meaning[1:])}</p>'
        f'<p class="timing">{result.milliseconds:.1f} ms on the server{waited}</p>'
        f"{html.notes(result.notes)}"
    )


def _other_measures(result: Comparison) -> str:
    names = {"mean": "mean of the tokens", "max": "max over time", "cls": "[CLS] token"}
    rows = [(f"{names[p]}{' (this model)' if p == result.pooling else ''}", v) for p, v in result.poolings.items()]
    cells = [(escape(name), f"{v:.3f}", html.bar(v, "sbert" if "(" in name else "plain")) for name, v in rows]
    cross = result.cross_encoder
    if cross:
        label = f'<span title="{escape(cross.model)}">cross-encoder, {cross.milliseconds:.1f} ms</span>'
        cells.insert(0, (label, f"{cross.score:.3f}", html.bar(cross.score, "cross")))
    else:
        cells.insert(0, ("cross-encoder", "…", "loading"))
    cells.append(("word overlap (Jaccard)", f"{result.word_overlap:.3f}", html.bar(result.word_overlap, "plain")))
    return html.table(("Other measures", "Score", ""), cells) + (
        '<p class="hint">Poolings the model was not trained with give cosines near 1: compare their order, not their values.</p>'
    )


def _why(attribution: Attribution | None) -> str:
    if attribution is None:
        return html.empty("These sentences are too long to explain by words. Shorten them to see which words matter.")
    rows = [(_words(link), f"{link.contribution:+.4f}") for link in attribution.strongest(STRONGEST)]
    links = html.table(("Strongest links", "Adds"), rows)
    wide = "" if len(attribution.words2) <= NARROW_WORDS else " wide"
    return f'<div class="why{wide}"><section>{_matrix(attribution)}</section><section>{links}{_method(attribution)}</section></div>'


def _words(link: Link) -> str:
    return " ↔ ".join(escape(html.short(word, WORD_LENGTH)) for word in (link.word1, link.word2))


def _method(attribution: Attribution) -> str:
    if attribution.method == EXACT:
        text = f"Exact: with mean pooling the shares add up to the score (rounding error {attribution.residual:.0e})."
    else:
        text = (
            "Leave-one-out: the score's drops without each of the two words, minus its drop without both. "
            f"The shares do not add up to the score (difference {attribution.residual:+.3f})."
        )
    return f'<p class="hint">{text} Shares are in hundredths of the cosine.</p>'


def _matrix(attribution: Attribution) -> str:
    values = attribution.contributions
    if not values.size:
        return html.empty("No words to compare.")
    rows, columns = _heaviest(values, axis=1), _heaviest(values, axis=0)
    largest = float(np.abs(values).max()) or 1.0
    digits = 1 if largest >= 0.01 else 2
    across, down = _pick(attribution.words2, columns), _pick(attribution.words1, rows)
    head = "".join(f'<th scope="col"{_special(word)}><span>{escape(word)}</span></th>' for word in across)
    body = "".join(
        f'<tr><th scope="row"{_special(word)}>{escape(word)}</th>{"".join(_cell(v, largest, digits) for v in row)}</tr>'
        for word, row in zip(down, values[np.ix_(rows, columns)].tolist(), strict=True)
    )
    caption = "Which words match: each pair's share of the score"
    if max(values.shape) > MATRIX_WORDS:
        caption += f". Shown: the {MATRIX_WORDS} words of a sentence with the largest shares"
    return (
        f'<p class="hint">{caption}</p><div class="scroll" tabindex="0" role="region" aria-label="Word by word">'
        f'<table class="matrix"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _heaviest(values: Vectors, axis: int) -> NDArray[np.int64]:
    """Indices of the words with the largest shares, at most MATRIX_WORDS, in sentence order."""
    weights = np.abs(values).sum(axis=axis)
    return np.sort(np.argsort(-weights, kind="stable")[:MATRIX_WORDS])


def _pick(words: list[str], indices: NDArray[np.int64]) -> list[str]:
    return [words[index] for index in indices.tolist()]


def _cell(value: float, largest: float, digits: int) -> str:
    kind = "" if value >= 0 else ' class="minus"'
    return f'<td{kind} style="--w:{abs(value) / largest:.2f}">{round(value * 100, digits) + 0.0:.{digits}f}</td>'


def _special(word: str) -> str:
    return ' class="special"' if is_special(word) else ""
