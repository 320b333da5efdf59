"""A menu to export the map as a self-contained web page, or all rows with their clusters as csv."""

from typing import Any

import gradio as gr
import numpy as np

from sbert_app.corpus_map.colouring import colouring
from sbert_app.services.cluster_map import MapService
from sbert_app.tables.writing import csv_file
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.shelf import Shelf
from sbert_app.ui.map.chart import map_figure
from sbert_app.ui.map.page import page

PAGE_NAME, CSV_NAME = "sbert-studio-map.html", "sbert-studio-map.csv"


class ExportPanel:
    """Components and event handlers. `colour`: the column that colours the page."""

    def __init__(self, service: MapService, session_id: gr.State, colour: gr.Dropdown) -> None:
        self._service, self._session_id, self._colour, self._shelf = service, session_id, colour, Shelf()
        with gr.Accordion("Export", open=False, elem_id="map-export", elem_classes="popover"):
            self.make_page = gr.Button("Export as web page", size="sm", elem_id="map-page")
            self.page = gr.DownloadButton("Download", size="sm", visible=False, elem_id="map-download")
            self.make_csv = gr.Button("Export as table (csv)", size="sm", elem_id="map-csv")
            self.csv = gr.DownloadButton("Download", size="sm", visible=False, elem_id="map-csv-download")

    @property
    def reset(self) -> list[Any]:
        """The components that `hidden` updates."""
        return [self.page, self.csv]

    def hidden(self) -> Updates:
        """Hide the files exported from the previous map."""
        return {button: gr.DownloadButton(visible=False) for button in (self.page, self.csv)}

    def listen(self) -> None:
        self.make_page.click(handler(self._on_page), [self._session_id, self._colour], self.page, **PRIVATE)
        self.make_csv.click(handler(self._on_csv), self._session_id, self.csv, **PRIVATE)

    def _on_page(self, session_id: str, column: str) -> Any:
        corpus_map = self._service.map(session_id)
        return self._download(PAGE_NAME, page(corpus_map, map_figure(corpus_map, colouring(corpus_map, column), texts=True)))

    def _on_csv(self, session_id: str) -> Any:
        corpus_map = self._service.map(session_id)
        records = corpus_map.records(np.arange(len(corpus_map.projection.points)))
        return self._download(CSV_NAME, csv_file(records))

    def _download(self, name: str, text: str) -> Any:
        """Write a file and show its download button."""
        (path,) = self._shelf.put({name: text})
        return gr.DownloadButton(f"Download {name} ({path.stat().st_size / 1e6:.1f} MB)", value=str(path), visible=True)
