"""The map to take away: one html page that needs nothing else, or every row with its cluster as csv."""

from typing import Any

import gradio as gr
import numpy as np

from sbert_app.corpus_map.colouring import colouring
from sbert_app.services.cluster_map import MapService
from sbert_app.tables.writing import csv_file
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.shelf import Shelf
from sbert_app.ui.map.chart import drawn
from sbert_app.ui.map.page import page

PAGE_NAME, CSV_NAME = "sbert-studio-map.html", "sbert-studio-map.csv"


class ExportPanel:
    """The components and handlers of the export. `colour`: what the page is coloured by."""

    def __init__(self, service: MapService, session_id: gr.State, colour: gr.Dropdown) -> None:
        self._service, self._session_id, self._colour, self._shelf = service, session_id, colour, Shelf()
        with gr.Row(elem_classes="examples"):
            self.make_page = gr.Button("Make one page of it", size="sm", elem_id="map-page")
            self.make_csv = gr.Button("Make a csv of all rows", size="sm", elem_id="map-csv")
            self.download = gr.DownloadButton("Download", size="sm", visible=False, elem_id="map-download")

    @property
    def reset(self) -> list[Any]:
        """What `hidden` fills."""
        return [self.download]

    def hidden(self) -> Updates:
        """A file made before tells of another map."""
        return {self.download: gr.DownloadButton(visible=False)}

    def listen(self) -> None:
        self.make_page.click(handler(self._on_page), [self._session_id, self._colour], self.download, **PRIVATE)
        self.make_csv.click(handler(self._on_csv), self._session_id, self.download, **PRIVATE)

    def _on_page(self, session_id: str, by: str) -> Any:
        corpus_map = self._service.map(session_id)
        return self._offer(PAGE_NAME, page(corpus_map, drawn(corpus_map, colouring(corpus_map, by), texts=True)))

    def _on_csv(self, session_id: str) -> Any:
        corpus_map = self._service.map(session_id)
        records = corpus_map.records(np.arange(len(corpus_map.ground.points)))
        return self._offer(CSV_NAME, csv_file(records))

    def _offer(self, name: str, text: str) -> Any:
        """Write a file and show the button that downloads it."""
        (path,) = self._shelf.put({name: text})
        return gr.DownloadButton(f"Download {name} ({path.stat().st_size / 1e6:.1f} MB)", value=str(path), visible=True)
