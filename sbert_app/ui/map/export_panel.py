"""The menu of what to take home from a map: a self-contained web page, all rows with their clusters as csv, and a picture."""

import gradio as gr
import numpy as np

from sbert_app.corpus_map.colouring import colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.jobs.cluster_map import CLUSTER_MAP
from sbert_app.services.corpus.cluster_map import MapService
from sbert_app.tables.writing import csv_file
from sbert_app.ui.kit.events import Updates
from sbert_app.ui.kit.files import FileButton
from sbert_app.ui.kit.take_home import commands, input_of, pictures, present, row
from sbert_app.ui.map.chart import map_figure
from sbert_app.ui.map.page import caption, options, page

PAGE_NAME, CSV_NAME = "sbert-studio-map.html", "sbert-studio-map.csv"
PLOT = "map-plot"  # the element of the map


class ExportPanel:
    """Components and event handlers; a file is made when its button is clicked. `colour`: the column that colours the page."""

    def __init__(self, service: MapService, session_id: gr.State, colour: gr.Dropdown) -> None:
        self._service, self._session_id, self._colour = service, session_id, colour
        with gr.Accordion("Export", open=False, elem_id="map-export", elem_classes="popover"):
            self.page = FileButton(PAGE_NAME, "map-page")
            self.csv = FileButton(CSV_NAME, "map-csv")
            in_menu = gr.HTML(elem_id="map-take-home", js_on_load=None)
        # Gradio takes a closed menu off the page: the twin stays there, for keep_session.js. style.css hides it, because
        # Gradio shows a component with visible="hidden" once the row around it was hidden and is shown again.
        self.links = [in_menu, gr.HTML(elem_id="map-kept", js_on_load=None)]

    def shown(self, corpus_map: CorpusMap) -> Updates:
        """Offer what belongs to this map."""
        copies = commands(CLUSTER_MAP, options(corpus_map), input_of(corpus_map.projection.indexed))
        links = row(caption(corpus_map), [PLOT], present(), pictures(PLOT, "sbert-studio-map"), copies)
        return dict.fromkeys(self.links, links)

    def listen(self) -> None:
        self.page.listen(self._page, [self._session_id, self._colour])
        self.csv.listen(self._csv, [self._session_id])

    def _page(self, session_id: str, column: str) -> str:
        corpus_map = self._service.map(session_id)
        return page(corpus_map, map_figure(corpus_map, colouring(corpus_map, column), texts=True))

    def _csv(self, session_id: str) -> str:
        corpus_map = self._service.map(session_id)
        return csv_file(corpus_map.records(np.arange(len(corpus_map.projection.points))))
