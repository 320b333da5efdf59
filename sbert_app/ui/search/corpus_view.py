"""Render a corpus: what was read, indexing progress, and the open corpus."""

from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import SavedCorpus
from sbert_app.services.corpora import IndexProgress
from sbert_app.tables import Table
from sbert_app.tables.table import skipped_summary
from sbert_app.ui.kit import html
from sbert_app.wording import duration, plural


def no_corpus(hosted: bool) -> Markup:
    """A placeholder for the corpus."""
    kept = "only your session sees it, and it is deleted afterwards" if hosted else "it stays on this machine"
    return html.empty(f"No corpus yet. Choose an example above, or upload your own file: {kept}.")


def table_summary(table: Table, column: str, prose: bool) -> Markup:
    """What was read from a file, and the guessed text column."""
    guess = "The text seems to be in" if prose else "No column looks like sentences; the closest is"
    rows, columns = len(table.frame), len(table.frame.columns)
    lines = [*table.notes, *skipped_summary(table.skipped)]
    size = f"{rows:,} {plural(rows, 'row', 'rows')}, {columns} {plural(columns, 'column', 'columns')}"
    head = Markup('<p class="read"><b>{}</b>: {}. {} <b>{}</b>.</p>').format(table.name, size, guess, column)
    return head + html.notes(lines)


def saved(entry: SavedCorpus) -> str:
    """A saved corpus as a list entry."""
    if entry.damaged:
        return f"{entry.name} · damaged, delete it · {entry.megabytes:.1f} MB"
    when = entry.saved[:16].replace("T", " ")
    return f"{entry.name} · {entry.rows:,} {plural(entry.rows, 'row', 'rows')} · {entry.model} · {entry.megabytes:.1f} MB · {when}"


def progress(event: IndexProgress) -> Markup:
    """Progress bar of the indexing, with rate and remaining time."""
    text = f"{event.stage} {event.name}: {event.done:,} of {event.total:,} sentences"
    if event.sentences_per_second:
        text += f" · {event.sentences_per_second:,.0f} sentences/s"
    if event.cached:
        text += f" · {event.cached:,} from the cache"
    if event.stopped:
        text += ". Encoded sentences are kept: index again to continue."
    elif event.eta_seconds and event.stage == "Encoding":
        text += f" · {duration(event.eta_seconds)} left"
    return html.progress(event.done, event.total, text, "Indexing")


def status(indexed: IndexedCorpus, event: IndexProgress | None = None) -> Markup:
    """One line about the open corpus, with notes and skipped rows below."""
    report, source = indexed.index.report, indexed.corpus
    recall = f", recall@10 {report.recall:.3f} on {report.recall_queries} rows of it" if report.kind == "approximate" else ""
    facts = [
        f"{len(source):,} {plural(len(source), 'sentence', 'sentences')}",
        f"{indexed.embeddings.shape[1]} dimensions, {indexed.model}",
        f"{report.kind} index, {report.megabytes:.1f} MB{recall}",
    ]
    if event and event.sentences_per_second:
        facts.append(f"encoded in {duration(event.seconds)} ({event.sentences_per_second:,.0f} sentences/s)")
    elif event:
        facts.append(f"from the cache in {duration(event.seconds)}")
    lines = [*(event.notes if event else ()), *source.notes, *skipped_summary(source.skipped)]
    return Markup('<div class="corpus" id="corpus-status"><p><b>{}</b> <span>{}</span></p>{}</div>').format(
        source.name, " · ".join(facts), html.notes(lines)
    )
