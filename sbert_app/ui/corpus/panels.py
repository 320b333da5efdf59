"""Two parts of the corpus panel: index a file, of which a large one is open at once; and open a collection by its address."""

import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.collections import parse
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.jobs.corpus.job import INDEXING, index, index_again, unread_table, waiting_table
from sbert_app.jobs.corpus.opening import other_index
from sbert_app.jobs.open_collection import listed, open_address
from sbert_app.runtime import Session, Workbench
from sbert_app.step import Step
from sbert_app.ui.corpus import view
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, dimming, handler

log = logging.getLogger(__name__)

ELEMENT = "open-collection"
SHOWN_FIRST = 1.0  # seconds in which the page shows an unread corpus, before the model takes the processor
EVERY = 1.0  # seconds between two steps of an indexing: a page on which a person works meanwhile falls behind more of them
HOW_TO_MAKE = Markup(
    '<p class="hint how-to-make">Make one from files in a shell: <code>{0}</code> '
    '<button type="button" class="small" data-copy="{0}" data-label="Copy" aria-label="Copy the command">Copy</button></p>'
).format("python -m sbert_app index FILES --store FOLDER")
FORMS = "A folder, FILE.db/NAME or http://host:port/NAME."
ABOUT = (
    "A collection holds rows with their embeddings, in a folder or in Milvus, also millions of them. Search reads all rows; the "
    "map and the lists of filters use a random sample."
)


class IndexingPanel:
    """What is said of the open corpus, below the bar; assets/style.css shows one notice at a time. start …: in the corpus panel."""

    def __init__(self, bench: Workbench, session: gr.State, start: gr.Button, stop: gr.Button, progress: gr.HTML) -> None:
        self._bench, self._session, self._index, self._progress = bench, session, start, progress
        self.notice = gr.HTML(elem_id="corpus-notice", elem_classes="notice", js_on_load=None)
        with gr.Row(elem_id="stale-row", elem_classes="notice", visible=False) as self.stale_row:
            self.stale = gr.HTML(elem_id="stale", js_on_load=None)
            self.again = gr.Button("Index again", size="sm", scale=0, elem_id="index-again")
        self.job = LongJob(stop, progress, start, self.again)

    def listen(
        self, chosen: list[Any], model: gr.State, opened: gr.State, shown: list[Any], show: Callable[[Session], Updates]
    ) -> None:
        """Connect events. chosen: text columns and mends; shown: the components that `show` updates once the corpus is indexed."""
        self._show = show
        with_model, outputs = [self._session, model], [*shown, self.notice]
        inputs, stop = [self._session, *chosen, model], lambda session: session.stop(INDEXING)
        indexing = self.job.listen(self._index.click, self._on_index, inputs, outputs, stop)
        indexing.failure(Markup, None, self.notice, **PRIVATE)  # it says how far the reading is
        self.job.listen(self.again.click, self._on_index_again, with_model, outputs, None)
        changed, warning = [opened.change, model.change], [self.stale_row, self.stale, self.again]
        gr.on(changed, handler(self._on_model), with_model, warning, trigger_mode="always_last", **PRIVATE)

    def _on_index(self, session: Session, columns: list[str], mends: list[str], model: str) -> Iterator[Updates]:
        yield from self._indexing(session, waiting_table(session).name, index(self._bench, session, columns, model, mends))

    def _on_index_again(self, session: Session, model: str) -> Iterator[Updates]:
        yield from self._indexing(session, session.corpus().corpus.name, index_again(self._bench, session, model))

    def _indexing(self, session: Session, name: str, steps: Iterator[Step[IndexedCorpus]]) -> Iterator[Updates]:
        """Show the progress, and the corpus once it is open, which a large one is before it is indexed. name: of the file."""
        shown = before = session.get(IndexedCorpus)

        def opened() -> bool:
            return session.get(IndexedCorpus) is not shown

        for step, state in self.job.following(steps, partial(view.progress, name=name), None, EVERY, opened):
            indexed = session.get(IndexedCorpus)
            if step.result:
                notice = view.unread(unread_table(session)) or view.ready(step.result)
                state |= self._show(session) | {self._progress: "", self.notice: notice}
            elif indexed and indexed is not before and indexed.growing:
                state |= (self._show(session) if opened() else {}) | {self.notice: view.reading(step, name)}
            new, shown = opened(), indexed
            yield state
            if new and not step.result:
                time.sleep(SHOWN_FIRST)

    def _on_model(self, session: Session, model: str) -> Updates:
        """Say whether the chosen model is another than the one of the open corpus's index."""
        other = other_index(self._bench, session, model)
        again = gr.Button(label := view.index_again(other), visible=bool(label))
        return {self.stale_row: gr.Row(visible=other is not None), self.stale: view.stale(other), self.again: again}


class CollectionPanel:
    """A folded block; hidden on a hosted app that offers no collection."""

    def __init__(self, bench: Workbench, session: gr.State) -> None:
        self._bench, self._session = bench, session
        names, hosted = list(listed(bench.settings)), bench.settings.hosted
        for listed_at in map(parse, bench.settings.collections):
            if listed_at.kind == "folder" and not Path(listed_at.uri).expanduser().is_dir():
                log.warning("SBERT_STUDIO_COLLECTIONS lists %s, and there is no such folder", listed_at.uri)
        forms = FORMS + (f" Or a name: {', '.join(names)}." if names else "")
        with gr.Accordion("Open a collection", open=False, visible=bool(names) or not hosted, elem_id=ELEMENT):
            gr.HTML(html.hint(ABOUT), js_on_load=None)
            with gr.Row(elem_classes="query-row"):
                place: dict[str, Any] = {"scale": 6, "min_width": 220, "elem_id": "collection-address"}
                self.address: gr.Dropdown | gr.Textbox
                if hosted:
                    self.address = gr.Dropdown(names, label="Collection", **place)
                else:
                    self.address = gr.Textbox(label="Where it is", info=forms, max_lines=1, **place)
                self.go = gr.Button("Open", scale=0, min_width=120, elem_id="collection-open")
            if not hosted:
                gr.HTML(HOW_TO_MAKE, js_on_load=None)

    def listen(self, shown: list[gr.components.Component], show: Callable[[Session], Updates]) -> None:
        """shown: the components that `show` updates once a collection is open."""

        def on_open(session: Session, address: str) -> Updates:
            open_address(self._bench, session, address)
            return show(session)

        triggers = [self.go.click, self.address.submit] if isinstance(self.address, gr.Textbox) else [self.go.click]
        dimming(ELEMENT, gr.on, triggers, handler(on_open), [self._session, self.address], shown)
