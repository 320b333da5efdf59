"""Render what a collection is, how to make one, and the open one."""

from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.services.collection.opened import OpenCollection
from sbert_app.ui.kit import html
from sbert_app.wording import plural

COMMAND = "python -m sbert_app index FILES --store FOLDER"
ABOUT = (
    "A collection holds rows with their embeddings, in a folder or in Milvus, also millions of them. Search reads all rows; the "
    "map and the lists of filters use a random sample."
)


def about() -> Markup:
    return html.hint(ABOUT)


def offered(names: Sequence[str]) -> str:
    """The names that can be typed instead of an address, "" if there are none."""
    return f"Or one of: {', '.join(names)}." if names else ""


def how_to_make() -> Markup:
    """The command that makes a collection, with a button to copy it."""
    return Markup(
        '<p class="hint how-to-make">Make one from files in a shell: <code>{}</code> '
        '<button type="button" class="small" data-copy="{}" data-label="Copy" aria-label="Copy the command">Copy</button></p>'
    ).format(COMMAND, COMMAND)


def rows(opened: OpenCollection) -> str:
    return f"{opened.rows:,} {plural(opened.rows, 'row', 'rows')}"


def card(opened: OpenCollection) -> Markup:
    """The open collection: its size, model and index, and what uses the sample."""
    facts, sampled = opened.facts, len(opened.sample.corpus)
    files = f"{len(facts.files):,} {plural(len(facts.files), 'file', 'files')}"
    details = f"{facts.dim} dimensions · {files}"
    sample = f"Search reads all rows. The map and the lists of filters use a random sample of {sampled:,}."
    note = sample if opened.is_sampled else ""
    return Markup('<div class="corpus" id="corpus-status"><div><b>{}</b> <span>{}</span> {}</div>{}</div>').format(
        opened.name, f"collection of {rows(opened)} · {facts.model} · {opened.index}", html.info(details), html.notes([note])
    )
