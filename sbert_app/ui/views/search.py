"""How a corpus and its hits look."""

from html import escape

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import skipped_summary
from sbert_app.services.corpora import IndexProgress
from sbert_app.services.search import Hit, SearchResult
from sbert_app.tables import Table
from sbert_app.ui.views import parts

NO_CORPUS = "No corpus yet. Pick an example above, or bring your own file: it stays on this machine."
NO_QUERY = "Type what you are looking for, in any words, and press Enter."
METADATA_SHOWN = 6
METADATA_LENGTH = 80


def offered(table: Table, column: str) -> str:
    """What was read from a file, before it is indexed."""
    lines = [*table.notes, *skipped_summary(table.skipped)]
    return (
        f'<p class="read"><b>{escape(table.name)}</b>: {len(table.frame):,} rows, {len(table.frame.columns)} columns. '
        f"Sentences seem to be in <b>{escape(column)}</b>.</p>{parts.notes(lines)}"
    )


def progress(event: IndexProgress) -> str:
    """The progress bar of the indexing, with rate and time left."""
    text = f"{event.stage}: {event.done:,} of {event.total:,} sentences"
    if event.sentences_per_second:
        text += f" · {event.sentences_per_second:,.0f} sentences/s"
    if event.cached:
        text += f" · {event.cached:,} from the cache"
    if event.stopped:
        text += ". What was encoded is kept: press Index to go on."
    elif event.eta_seconds and event.stage == "Encoding":
        text += f" · {parts.duration(event.eta_seconds)} left"
    return parts.progress(event.done, event.total, text, "Indexing")


def corpus(indexed: IndexedCorpus, event: IndexProgress | None = None) -> str:
    """One line on the corpus that is being searched, with what was skipped folded below."""
    report, source = indexed.index.report, indexed.corpus
    recall = f", recall@10 {report.recall:.3f} on {report.recall_queries} rows of it" if report.kind == "approximate" else ""
    facts = [
        f"{len(source):,} sentences",
        f"{indexed.embeddings.shape[1]} dimensions, {escape(indexed.model)}",
        f"{report.kind} index, {report.megabytes:.1f} MB{recall}",
    ]
    if event and event.sentences_per_second:
        facts.append(f"encoded in {parts.duration(event.seconds)} ({event.sentences_per_second:,.0f} sentences/s)")
    elif event:
        facts.append(f"from the cache in {parts.duration(event.seconds)}")
    lines = [*(event.notes if event else ()), *source.notes, *skipped_summary(source.skipped)]
    head = f"<p><b>{escape(source.name)}</b> <span>{' · '.join(facts)}</span></p>"
    return f'<div class="corpus" id="corpus-status">{head}{parts.notes(lines)}</div>'


def results(result: SearchResult) -> str:
    """The hits as cards, with bars, metadata, and a button for more like each."""
    if not result.hits:
        return parts.empty("No sentence fits the filters. Loosen them to see hits.")
    records = [hit_record(hit) for hit in result.hits]
    head = (
        f'<div class="hits-head"><span>{len(result.hits):,} of {result.searched:,} · '
        f"{parts.milliseconds(result.milliseconds)}</span>"
        f"{parts.downloads('hits', records)}</div>"
    )
    return f'{head}<ol class="hits">{"".join(_card(hit) for hit in result.hits)}</ol>'


def hit_record(hit: Hit) -> dict[str, object]:
    """A hit as one flat row to save; metadata columns keep their names unless they clash."""
    own = {"rank": hit.rank, "row": hit.row, "score": round(hit.score, 4), "sentence": hit.sentence}
    return own | {(f"{key}_" if key in own else key): value for key, value in hit.metadata.items()}


def _card(hit: Hit) -> str:
    chips = "".join(
        f"<li><span>{escape(key)}</span> {escape(_short(value))}</li>"
        for key, value in list(hit.metadata.items())[:METADATA_SHOWN]
        if value
    )
    score = f'<div class="hit-score"><b>{hit.score:.3f}</b>{parts.bar(hit.score, label=f"score {hit.score:.3f}")}</div>'
    body = f'<p dir="auto">{escape(hit.sentence)}</p><ul class="chips"><li><span>row</span> {hit.row:,}</li>{chips}</ul>'
    more = f'<button type="button" class="more" data-row="{hit.row}" aria-label="More like row {hit.row}">More like this</button>'
    return f'<li class="hit">{score}<div class="hit-body">{body}</div>{more}</li>'


def _short(text: str) -> str:
    return text if len(text) <= METADATA_LENGTH else text[: METADATA_LENGTH - 1] + "…"
