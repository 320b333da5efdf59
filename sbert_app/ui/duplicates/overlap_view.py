"""Render an overlap: how many rows of another file occur in the corpus, and which."""

from collections.abc import Sequence
from html import escape

from sbert_app.corpus.findings import FileOverlap, Match
from sbert_app.services.overlap import OverlapProgress
from sbert_app.ui.kit import html
from sbert_app.wording import plural

SHOWN = 50
SENTENCE_LENGTH = 400
STOPPED = "Stopped. Encoded rows are kept: upload the file again to continue."


def progress(event: OverlapProgress) -> str:
    text = f"{event.stage}: {event.done:,} of {event.total:,} rows"
    return html.progress(event.done, event.total, text, "Comparing with the other file")


def overlap(compared: FileOverlap, matches: Sequence[Match], threshold: float) -> str:
    """The rows of the other file that have a match in the corpus, closest first."""
    other, corpus = escape(compared.other.name), escape(compared.indexed.corpus.name)
    total = len(compared.other)
    stages = html.milliseconds({name: seconds * 1e3 for name, seconds in compared.seconds.items()})
    same = sum(match.same for match in matches)
    words = f", {same:,} word for word" if same else ""
    exact = compared.indexed.index.report.kind == "exact"
    how = "" if exact else f" Searched with an approximate index, recall {compared.indexed.index.report.recall:.3f}."
    head = (
        f'<div class="could-go" role="status"><p><b>{len(matches):,} of {total:,} {plural(total, "row", "rows")}</b> of {other} '
        f"{plural(len(matches), 'has', 'have')} a match in {corpus} at cosine ≥ {threshold:.3g}{words}.</p>"
        f'<p class="hint">Read from {_columns(compared)}. {stages}.{how}</p></div>'
    )
    which = f'<p class="hint">The closest {SHOWN} of them; the export has all.</p>' if len(matches) > SHOWN else ""
    items = "".join(_match(match) for match in matches[:SHOWN])
    return head + which + (f'<ol class="dup-pairs open">{items}</ol>' if items else "")


def _columns(compared: FileOverlap) -> str:
    names = compared.other.columns
    return f"{plural(len(names), 'column', 'columns')} {escape(', '.join(names))}"


def _match(match: Match) -> str:
    label = "same text" if match.same else "cosine"
    original = "" if match.same else f'<p dir="auto">{_sentence(match.corpus_sentence)} {_row(match.corpus_row, "corpus")}</p>'
    both = f" = {_row(match.corpus_row, 'corpus')}" if match.same else ""
    return (
        f'<li><div class="dup-scores"><span class="cosine">{match.score:.3f}<small>{label}</small></span></div><div class="both">'
        f'<p dir="auto">{_sentence(match.sentence)} {_row(match.row, "file")}{both}</p>{original}</div></li>'
    )


def _row(row: int, where: str) -> str:
    return f'<span class="file-row">{where} row {row:,}</span>'


def _sentence(text: str) -> str:
    return escape(html.short(text, SENTENCE_LENGTH))
