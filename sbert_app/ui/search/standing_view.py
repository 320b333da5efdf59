"""Render why a row was not found: the reason, its rank and score in each way to rank, what is against it."""

from collections.abc import Iterator

from markupsafe import Markup

from sbert_app.services.corpus.miss import BM25, CUT, MEANING, TOGETHER, WORD_BY_WORD, Miss, Standing, quoted
from sbert_app.ui.kit import html

TEXT_LENGTH = 300  # characters of the row's text
WAYS = {
    MEANING: "By meaning (cosine)",
    BM25: "By words (BM25)",
    TOGETHER: "Both together (sum of z-scores)",
    WORD_BY_WORD: "Word by word (MaxSim)",
}


def answer(miss: Miss) -> Markup:
    """The reason in one sentence, the row's text, a table of ranks, and what else is known."""
    parts = [Markup('<p class="standing-reason">{}</p>').format(miss.in_words)]
    if not miss.in_corpus:
        parts.insert(0, Markup("<p>{}</p>").format(f"The corpus holds no such text; the most similar row is {miss.row:,}."))
    if miss.sentence:
        text = html.short(miss.sentence, TEXT_LENGTH)
        parts.append(Markup('<p class="standing-text" dir="auto"><span>row {}</span> {}</p>').format(f"{miss.row:,}", text))
    if miss.standings:
        among = f"rank of {miss.of:,}{' without filters' if miss.filters else ''}"
        parts.append(html.table(["ranked", among, "score"], [_line(standing) for standing in miss.standings]))
    return Markup('<div class="standing" role="status">{}{}</div>').format(Markup().join(parts), html.notes(_notes(miss)))


def _line(standing: Standing) -> list[str]:
    rank = "–" if standing.rank is None else f"{standing.rank:,}"
    score = "" if standing.score is None else f"{standing.score:.3f}"
    return [WAYS[standing.way], rank, " · ".join(filter(None, [score, standing.note]))]


def _notes(miss: Miss) -> Iterator[str]:
    words = miss.words
    if words.shared or words.lacking:
        has, lacks = (quoted(group) or "none" for group in (words.shared, words.lacking))
        yield f"Words of the query that the row has: {has}. That it lacks: {lacks}."
    for word, meant in words.typos.items():
        yield f"No row has “{word}”; “{meant}” occurs."
    if miss.read < miss.length and miss.reason != CUT:
        yield f"The model reads the first {miss.read:,} of its {miss.length:,} characters."
