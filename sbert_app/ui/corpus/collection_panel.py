"""In the corpus panel: open a collection, by its address or, hosted, by its name in the list."""

from collections.abc import Callable

import gradio as gr

from sbert_app.services.collection.service import CollectionService
from sbert_app.ui.corpus import collection_view
from sbert_app.ui.kit.events import Updates, busy, handler, no_longer_busy

ELEMENT = "open-collection"


class CollectionPanel:
    """A folded block, without visitors' data; hidden on a hosted app that offers no collection."""

    def __init__(self, service: CollectionService, session_id: gr.State) -> None:
        self._service, self._session_id = service, session_id
        listed = service.listed()
        with gr.Accordion("Open a collection", open=False, visible=bool(listed) or not service.hosted, elem_id=ELEMENT):
            gr.HTML(collection_view.about(), js_on_load=None)
            with gr.Row(elem_classes="query-row"):
                if service.hosted:
                    self.address: gr.Dropdown | gr.Textbox = gr.Dropdown(
                        listed, value=listed[0] if listed else None, label="Collection", scale=6, min_width=220,
                        elem_id="collection-address",
                    )  # fmt: skip
                else:
                    self.address = gr.Textbox(
                        label="Where it is",
                        placeholder="a folder, FILE.db/NAME or http://host:port/NAME",
                        info=collection_view.offered(listed),
                        lines=1,
                        max_lines=1,
                        scale=6,
                        min_width=220,
                        elem_id="collection-address",
                    )
                self.go = gr.Button("Open", scale=0, min_width=120, elem_id="collection-open")
            if not service.hosted:
                gr.HTML(collection_view.how_to_make(), js_on_load=None)

    def listen(self, shown: list[gr.components.Component], show: Callable[[str], Updates]) -> None:
        """shown: the components that `show` updates once a collection is open."""

        def on_open(session_id: str, address: str) -> Updates:
            self._service.open(session_id, address)
            return show(session_id)

        triggers = [self.go.click, self.address.submit] if isinstance(self.address, gr.Textbox) else [self.go.click]
        opened = gr.on(triggers, handler(on_open), [self._session_id, self.address], shown, **busy(ELEMENT))
        no_longer_busy(opened, ELEMENT)
