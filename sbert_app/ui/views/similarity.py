"""How a comparison looks: the score, what it means, its rivals, and the words behind it."""

from html import escape

import numpy as np

from sbert_app.explain.attribution import EXACT, Attribution, is_special
from sbert_app.services.similarity import Comparison, ListComparison
from sbert_app.ui.views import parts

MATRIX_WORDS = 32  # more columns than this no screen shows; the strongest links still do
STRONGEST = 8


def comparison(result: Comparison) -> str:
    """The whole result of two sentences."""
    return (
        f'<div class="result"><section class="score-card">{_score(result)}</section>'
        f'<section class="rivals">{_rivals(result)}</section></div>{_why(result.attribution)}'
    )


def pair_records(result: ListComparison, count: int) -> list[dict[str, object]]:
    """The closest pairs as rows to show and to save."""
    pairs = enumerate(result.best(count), 1)
    return [{"rank": rank, "score": round(score, 4), "sentence1": s1, "sentence2": s2} for rank, (score, s1, s2) in pairs]


def _score(result: Comparison) -> str:
    meaning = "One sentence alone has no random pairs to compare with."
    if result.percentile is not None:
        share = f"{result.percentile:.1f}" if result.percentile < 99.9 else f"{min(result.percentile, 99.99):.2f}"
        meaning = f"Higher than {share} % of random pairs of {result.calibrated_on}."
    return (
        f'<p class="eyebrow">Cosine similarity</p><p class="score" id="score">{result.score:.3f}</p>'
        f"{parts.bar(result.score, label=f'cosine {result.score:.3f} of 1')}"
        f'<p class="meaning">{escape(meaning)}</p><p class="timing">{result.milliseconds:.1f} ms on the server</p>'
        f"{parts.notes(result.notes)}"
    )


def _rivals(result: Comparison) -> str:
    names = {"mean": "mean of the tokens", "max": "max over time", "cls": "[CLS] token"}
    rows = [(f"{names[p]}{' (this model)' if p == result.pooling else ''}", v) for p, v in result.poolings.items()]
    cells = [(escape(name), f"{v:.3f}", parts.bar(v, "sbert" if "(" in name else "plain")) for name, v in rows]
    cells.append(("word overlap (Jaccard)", f"{result.word_overlap:.3f}", parts.bar(result.word_overlap, "plain")))
    return parts.table(("Beside it", "Score", ""), cells) + (
        '<p class="hint">Poolings the model was not trained with crowd near 1: compare them by order, not by size.</p>'
    )


def _why(attribution: Attribution | None) -> str:
    if attribution is None:
        return parts.empty("Too many words to leave out one by one: shorten the sentences to see which words matter.")
    links = parts.table(
        ("Strongest links", "Adds"),
        [
            (f"{escape(link.word1)} ↔ {escape(link.word2)}", f"{link.contribution:+.4f}")
            for link in attribution.strongest(STRONGEST)
        ],
    )
    return f'<div class="why"><section>{_matrix(attribution)}</section><section>{links}{_method(attribution)}</section></div>'


def _method(attribution: Attribution) -> str:
    if attribution.method == EXACT:
        text = f"Exact: with mean pooling the cosine is the sum of all cells. Left over: {attribution.residual:.0e}."
    else:
        text = (
            "Leave-one-token-out: what the score loses when both words are gone, beyond what each costs alone. "
            f"The cells do not sum to the score (left over: {attribution.residual:+.3f})."
        )
    return f'<p class="hint">{text}</p>'


def _matrix(attribution: Attribution) -> str:
    values = attribution.contributions
    if max(values.shape) > MATRIX_WORDS:
        return parts.empty(f"The word-by-word matrix is drawn up to {MATRIX_WORDS} words a sentence.")
    if not values.size:
        return parts.empty("No words to compare.")
    largest = float(np.abs(values).max()) or 1.0
    head = "".join(f'<th scope="col"{_special(word)}><span>{escape(word)}</span></th>' for word in attribution.words2)
    body = "".join(
        f'<tr><th scope="row"{_special(word)}>{escape(word)}</th>{"".join(_cell(v, largest) for v in row)}</tr>'
        for word, row in zip(attribution.words1, values.tolist(), strict=True)
    )
    caption = f"Which words meet, in hundredths of the cosine (all cells: {values.sum() * 100:.1f})"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Word by word"><table class="matrix">'
        f"<caption>{caption}</caption><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: float, largest: float) -> str:
    kind = "" if value >= 0 else ' class="minus"'
    return f'<td{kind} style="--w:{abs(value) / largest:.2f}">{value * 100:.1f}</td>'


def _special(word: str) -> str:
    return ' class="special"' if is_special(word) else ""
