"""In the corpus panel: open a collection, by its address or, hosted, by its name in the list; and what the open one is."""

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.collections.opened import OpenCollection
from sbert_app.jobs.open_collection import listed, open_address
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.ui.corpus.view import rows
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import Updates, busy, handler, no_longer_busy
from sbert_app.wording import plural

ELEMENT = "open-collection"
COMMAND = "python -m sbert_app index FILES --store FOLDER"
FORMS = "A folder, FILE.db/NAME or http://host:port/NAME."
ABOUT = (
    "A collection holds rows with their embeddings, in a folder or in Milvus, also millions of them. Search reads all rows; the "
    "map and the lists of filters use a random sample."
)


class CollectionPanel:
    """A folded block, without visitors' data; hidden on a hosted app that offers no collection."""

    def __init__(self, bench: Workbench, session: gr.State) -> None:
        self._bench, self._session = bench, session
        names, hosted = list(listed(bench.settings)), bench.settings.hosted
        with gr.Accordion("Open a collection", open=False, visible=bool(names) or not hosted, elem_id=ELEMENT):
            gr.HTML(html.hint(ABOUT), js_on_load=None)
            with gr.Row(elem_classes="query-row"):
                place: dict[str, Any] = {"scale": 6, "min_width": 220, "elem_id": "collection-address"}
                self.address: gr.Dropdown | gr.Textbox = (
                    gr.Dropdown(names, value=names[0] if names else None, label="Collection", **place)
                    if hosted
                    else gr.Textbox(label="Where it is", info=forms(names), lines=1, max_lines=1, **place)
                )
                self.go = gr.Button("Open", scale=0, min_width=120, elem_id="collection-open")
            if not hosted:
                gr.HTML(how_to_make(), js_on_load=None)

    def listen(self, shown: list[gr.components.Component], show: Callable[[Session], Updates]) -> None:
        """shown: the components that `show` updates once a collection is open."""

        def on_open(session: Session, address: str) -> Updates:
            open_address(self._bench, session, address)
            return show(session)

        triggers = [self.go.click, self.address.submit] if isinstance(self.address, gr.Textbox) else [self.go.click]
        opened = gr.on(triggers, handler(on_open), [self._session, self.address], shown, **busy(ELEMENT))
        no_longer_busy(opened, ELEMENT)


def forms(names: Sequence[str]) -> str:
    """What can be typed: forms of addresses, and the names of collections that the app offers."""
    return FORMS + (f" Or a name: {', '.join(names)}." if names else "")


def how_to_make() -> Markup:
    """The command that makes a collection, with a button to copy it."""
    return Markup(
        '<p class="hint how-to-make">Make one from files in a shell: <code>{}</code> '
        '<button type="button" class="small" data-copy="{}" data-label="Copy" aria-label="Copy the command">Copy</button></p>'
    ).format(COMMAND, COMMAND)


def card(opened: OpenCollection) -> Markup:
    """The open collection: its size, model and index, and what uses the sample."""
    facts, sampled = opened.facts, len(opened.sample.corpus)
    files = f"{len(facts.files):,} {plural(len(facts.files), 'file', 'files')}"
    details = f"{facts.dim} dimensions · {files}"
    sample = f"Search reads all rows. The map and the lists of filters use a random sample of {sampled:,}."
    note = sample if opened.is_sampled else ""
    return Markup('<div class="corpus" id="corpus-status"><div><b>{}</b> <span>{}</span> {}</div>{}</div>').format(
        opened.name, f"collection of {rows(opened.rows)} · {facts.model} · {opened.index}", html.info(details), html.notes([note])
    )
