"""Render an overlap: how many rows of another file occur in the corpus, and which."""

from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.corpus.overlap import FileOverlap, Match
from sbert_app.services.corpus.overlap import OverlapProgress
from sbert_app.ui.kit import html
from sbert_app.wording import plural

SHOWN = 50  # rows listed in each of the two lists
SENTENCE_LENGTH = 400
STOPPED = "Stopped. Encoded rows are kept: upload the file again to continue."


def progress(event: OverlapProgress) -> Markup:
    text = f"{event.stage}: {event.done:,} of {event.total:,} rows"
    return html.progress(event.done, event.total, text, "Comparing with the other file")


def overlap(compared: FileOverlap, matches: Sequence[Match], threshold: float) -> Markup:
    """The rows of the other file that have a match in the corpus, closest first."""
    total = len(compared.other)
    stages = html.milliseconds({name: seconds * 1e3 for name, seconds in compared.seconds.items()})
    same = sum(match.same for match in matches)
    words = f", {same:,} word for word" if same else ""
    exact = compared.indexed.index.report.kind == "exact"
    how = "" if exact else f" Searched with an approximate index, recall {compared.indexed.index.report.recall:.3f}."
    share = f"{len(matches):,} of {total:,} {plural(total, 'row', 'rows')}"
    have, cosine = plural(len(matches), "has", "have"), f"cosine ≥ {threshold:.3g}{words}"
    hint = html.hint(f"Read from {_columns(compared)}. {stages}.{how}")
    head = Markup('<div class="could-go" role="status"><p><b>{}</b> of {} {} a match in {} at {}.</p>{}</div>').format(
        share, compared.other.name, have, compared.indexed.corpus.name, cosine, hint
    )
    reworded, copied = ([match for match in matches if match.same is same] for same in (False, True))
    return head + _list("In other words", reworded) + _list("Word for word", copied)


def _list(title: str, matches: Sequence[Match]) -> Markup:
    """The closest matches of one kind, under a heading with their number."""
    if not matches:
        return Markup()
    which = html.hint(f"The closest {SHOWN} of them; the export has all.") if len(matches) > SHOWN else Markup()
    items = Markup().join(map(_match, matches[:SHOWN]))
    return Markup('<h2 class="section">{}: {:,} {}</h2>{}<ol class="dup-pairs">{}</ol>').format(
        title, len(matches), plural(len(matches), "row", "rows"), which, items
    )


def _columns(compared: FileOverlap) -> str:
    names = compared.other.columns
    return f"{plural(len(names), 'column', 'columns')} {', '.join(names)}"


def _match(match: Match) -> Markup:
    line, row = Markup('<p dir="auto">{} {}</p>'), Markup('<span class="file-row">{} row {:,}</span>')
    file_row, corpus_row = row.format("file", match.row), row.format("corpus", match.corpus_row)
    rows = Markup(" = ").join([file_row, corpus_row] if match.same else [file_row])
    both = line.format(html.short(match.sentence, SENTENCE_LENGTH), rows)
    if not match.same:
        both += line.format(html.short(match.corpus_sentence, SENTENCE_LENGTH), corpus_row)
    return Markup(
        '<li><div class="dup-scores"><span class="cosine">{:.3f}<small>{}</small></span></div><div class="both">{}</div></li>'
    ).format(match.score, "same text" if match.same else "cosine", both)
