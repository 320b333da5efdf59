"""Render a corpus: the menu's button, the corpora to choose from, what was read, indexing progress, and the open corpus."""

from collections.abc import Sequence
from pathlib import PurePath

from markupsafe import Markup

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.hits import Indexing
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import SavedCorpus
from sbert_app.corpus.mending import Finding
from sbert_app.jobs.corpus.job import ENCODING
from sbert_app.jobs.corpus.opening import OtherIndex
from sbert_app.jobs.open_collection import key_of
from sbert_app.step import Step
from sbert_app.tables import Table, skipped_summary
from sbert_app.ui.kit import html
from sbert_app.wording import amount, duration, row_list

EXAMPLES = {
    "support_tickets.csv": ("Support tickets", "926 short messages with team, product, priority and date"),
    "field_notes.csv": ("Household advice", "450 tips with a topic"),
}
NO_CORPUS = "Add a file, or try an example"
RECENT_SHOWN = 5
FAULT_LENGTH = 120  # characters of an example of what is wrong
NEXT = {"Search": "Search it", "Duplicates": "Find duplicates", "Map": "Draw its map"}  # tab -> what to do there
CLOSE = Markup('<button type="button" class="small close" data-close aria-label="Close">×</button>')  # of a notice
CARD = Markup('<div class="corpus" id="corpus-status"><div><b>{}</b> <span>{}</span> {}</div>{}</div>')  # of what is open
FORMATS = "csv, tsv, txt, jsonl, json, parquet or xlsx; the text formats also as .gz"


def menu(indexed: IndexedCorpus | None, opened: str, collection: OpenCollection | None = None, wanted: str = "") -> Markup:
    """The button in the bar. opened: another for each corpus, closes the panel; wanted: the address's name while none is open."""
    name, size, key = NO_CORPUS, "", wanted
    if indexed:
        name, size, key = indexed.corpus.name, amount(len(indexed.corpus), "row"), indexed.key
    if collection:
        name, size, key = collection.name, amount(collection.rows, "row"), key_of(collection)
    return Markup(
        '<button type="button" class="corpus-button{}" data-corpus="menu" data-opened="{}" data-key="{}" aria-expanded="false" '
        'aria-controls="corpus-panel"><small>Corpus</small><b>{}</b><span>{}</span><i aria-hidden="true"></i></button>'
    ).format("" if indexed else " none", opened, key, html.short(name, 40), size)


def start(saved: Sequence[SavedCorpus], hosted: bool) -> Markup:
    """What a tab shows while no corpus is open: a drop zone, recent corpora, examples."""
    kept = "Only your session sees it, and it is deleted afterwards." if hosted else "It stays on this machine."
    zone = Markup(
        '<button type="button" class="drop" data-corpus="file"><b>Drop a file here, or click to choose one</b>'
        "<span>{}. {}</span></button>"
    ).format(FORMATS, kept)
    return Markup('<div class="start">{}{}</div>').format(zone, choices(saved, deletable=False))


def choices(saved: Sequence[SavedCorpus], deletable: bool = True) -> Markup:
    """Saved corpora and examples as cards."""
    cards = [_saved(entry, deletable) for entry in saved if deletable or not entry.damaged]
    example = Markup(
        '<li class="card"><button type="button" data-corpus="example" data-name="{0}" aria-label="Example: {1}">'
        "<b>{1}</b><span>{2}</span></button></li>"
    )
    examples = [example.format(name, *shown) for name, shown in EXAMPLES.items()]
    recent, older = cards[:RECENT_SHOWN], cards[RECENT_SHOWN:]
    sections = Markup("<h3>Recent</h3>") + _list(recent) if recent else Markup()
    if older and deletable:
        sections += Markup("<details><summary>{:,} more</summary>{}</details>").format(len(older), _list(older))
    return sections + Markup("<h3>Examples</h3>") + _list(examples)


def _list(cards: Sequence[Markup]) -> Markup:
    return Markup('<ul class="cards">{}</ul>').format(Markup().join(cards))


def _saved(entry: SavedCorpus, deletable: bool) -> Markup:
    size, saved = f"{entry.megabytes:.1f} MB", entry.saved[:16].replace("T", " ")
    facts = f"{html.short(entry.text, 40)} · {amount(entry.rows, 'row')} · {PurePath(entry.model).name} · {size} · {saved}"
    facts = f"damaged, can only be deleted · {size}" if entry.damaged else facts
    delete = Markup(
        '<button type="button" class="small" data-corpus="ask" aria-label="Delete {name}">Delete</button>'
        '<p class="ask" role="alert">Delete {name} from this machine? '
        '<button type="button" class="small danger" data-corpus="delete" data-name="{id}">Delete'
        '</button> <button type="button" class="small" data-corpus="cancel">Keep</button></p>'
    ).format(name=entry.name, id=entry.id)
    disabled = Markup(" disabled") if entry.damaged else ""
    return Markup(
        '<li class="card"><button type="button" data-corpus="open" data-name="{}" aria-label="Open {}"{}><b>{}</b><span>{}</span>'
        "</button>{}</li>"
    ).format(entry.id, entry.name, disabled, entry.name, facts, delete if deletable else "")


def table_summary(table: Table, column: str, prose: bool, faults: Sequence[Finding]) -> Markup:
    """What was read from a file, the guessed text column, and what is wrong, each with its rows and examples."""
    guess = "The text seems to be in" if prose else "No column looks like sentences; the closest is"
    size = f"{amount(len(table.frame), 'row')}, {amount(len(table.frame.columns), 'column')}"
    head = Markup('<p class="read"><b>{}</b>: {}. {} <b>{}</b></p>').format(table.name, size, guess, column)
    listed = Markup('<ul class="faults">{}</ul>').format(Markup().join(map(_fault, faults))) if faults else Markup()
    return head + listed + html.notes([*table.notes, *skipped_summary(table.skipped)])


def _fault(fault: Finding) -> Markup:
    arrow, line = Markup('<i aria-label="becomes">→</i> {}'), Markup('<p dir="auto">{} {}</p>')
    examples = [line.format(_cell(now), arrow.format(_cell(then)) if now != then else "") for now, then in fault.examples]
    listed = Markup('<p class="hint">In {}.</p>').format(row_list(fault.rows.tolist()))
    return Markup("<li><details><summary>{}</summary>{}{}</details></li>").format(fault.text, listed, Markup().join(examples))


def _cell(text: str) -> str:
    """An example of a cell, its invisible characters and line breaks as symbols."""
    return html.short("".join(letter if letter.isprintable() else "·" for letter in text), FAULT_LENGTH)


def progress(step: Step[IndexedCorpus], name: str) -> Markup:
    """Progress bar of the indexing of this file, with rate and remaining time."""
    rate = f"{step.rate:,.0f} sentences/s" if step.rate else ""
    cached = f"{step.skipped:,} from the cache" if step.skipped else ""
    left = step.left if step.stage == ENCODING else ""
    text = " · ".join(filter(None, [f"{step.stage} {name}: {step.done:,} of {step.total:,} {step.unit}", rate, cached, left]))
    kept = ". Encoded sentences are kept: index again to continue." if step.stopped else ""
    return html.progress(step.done, step.total, text + kept, "Indexing")


def reading(step: Step[IndexedCorpus], name: str) -> Markup:
    """That a corpus can be searched while the model reads it, and how far it is."""
    left = ", then it was stopped" if step.stopped else f", {step.left}" if step.left else ""
    line = Markup('<p role="status"><span><b>{}</b> can be searched: {:,} of {:,} {} read{}</span></p>')
    return line.format(html.short(name, 30), step.done, step.total, step.unit, left)


def collection_card(opened: OpenCollection) -> Markup:
    """The open collection: its size, model and index, and what uses the sample."""
    facts, sampled = opened.facts, len(opened.sample.corpus)
    size = f"collection of {amount(opened.rows, 'row')} · {facts.model} · {opened.index}"
    sample = f"Search reads all rows. The map and the lists of filters use a random sample of {sampled:,}."
    details = html.info(f"{facts.dim} dimensions · {amount(len(facts.files), 'file')}", "About the collection")
    return CARD.format(opened.name, size, details, html.notes([sample] if opened.is_sampled else []))


def card(indexed: IndexedCorpus, how: Indexing | None = None) -> Markup:
    """The open corpus: size, model and index, with notes and skipped rows below. how: it was indexed, if it was now."""
    report, source = indexed.index.report, indexed.corpus
    recall = f", recall@10 {report.recall:.3f}, measured on {report.recall_queries} rows" if report.kind == "approximate" else ""
    further = f" and {amount(len(indexed.passages), 'passage')}" if indexed.passages else ""
    size = f"{amount(len(source), 'sentence')}{further} · {PurePath(indexed.model).name}"
    index = indexed.growing.progress if indexed.growing else f"{report.kind} index, {report.megabytes:.1f} MB{recall}"
    facts = [f"{indexed.embeddings.shape[1]} dimensions", index]
    if how:
        encoded = f"encoded in {duration(how.seconds)} ({how.rate:,.0f} sentences/s)"
        facts.append(encoded if how.rate else f"from the cache in {duration(how.seconds)}")
    lines = [*(how.notes if how else ()), _truncated(indexed), *source.notes, *skipped_summary(source.skipped)]
    return CARD.format(source.name, size, html.info(" · ".join(facts), "About the corpus"), html.notes(lines))


def ready(indexed: IndexedCorpus | None, collection: OpenCollection | None = None) -> Markup:
    """That the corpus is open and where to go on, on the tabs that do not show the corpus; assets/page.js listens."""
    if indexed is None:
        return Markup()
    button = Markup('<button type="button" class="small" data-tab="{}">{}</button>')
    buttons = Markup().join(button.format(tab, name) for tab, name in NEXT.items())
    line = Markup('<p class="ready" role="status"><span><b>{}</b> is ready: {}.</span> {}{}</p>')
    name, count = (collection.name, collection.rows) if collection else (indexed.corpus.name, len(indexed.corpus))
    return line.format(name, amount(count, "row"), buttons, CLOSE)


def unread(table: Table | None) -> Markup:
    """That a file was uploaded and is not read, "" if there is none."""
    line = Markup('<p role="status"><b>{}</b> is not read yet: open the menu above and press “Read”.</p>')
    return line.format(html.short(table.name, 60)) if table else Markup()


def missing(name: str, hosted: bool) -> Markup:
    """That the corpus of the page's address cannot be opened."""
    where = "none of the examples" if hosted else "neither an example nor kept on this machine"
    line = Markup('<p role="status">There is no corpus <b>{}</b> here: it is {}. Add its file under “Corpus”.</p>')
    return line.format(html.short(name, 60), where)


def _truncated(indexed: IndexedCorpus) -> str:
    """What becomes of texts that are longer than the model reads, "" if there are none."""
    if not indexed.truncated or indexed.growing:  # then the caution above the hits says it
        return ""
    if indexed.unread:
        return indexed.unread[0]
    parts = amount(len(indexed.passages or ()), "passage")
    return f"{indexed.long_texts}. Search reads all of it, in {parts}; map and duplicates read only the beginning."


def stale(other: OtherIndex | None) -> Markup:
    """A warning that the open corpus is indexed with another model than the chosen one."""
    if other is None:
        return Markup()
    if other.seconds is None:
        line = Markup('<p role="status">Made with <b>{}</b>, which Search, Duplicates and Map use. The chosen model is {}.</p>')
        return line.format(other.model, other.other_model)
    return Markup('<p role="status">Search, Duplicates and Map use <b>{}</b> until you index again.</p>').format(other.model)


def index_again(other: OtherIndex | None) -> str:
    """The label of the button that indexes with the chosen model; "" where there is nothing to index again."""
    if other is None or other.seconds is None:
        return ""
    return f"Index again with {html.short(PurePath(other.other_model).name, 24)} (about {duration(other.seconds)})"
