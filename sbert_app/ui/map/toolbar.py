"""The line above the map: its corpus, what to find on it, its colours; filters, options and files open below it, over the map."""

import gradio as gr

from sbert_app.corpus_map import colouring
from sbert_app.services.corpus.cluster_map import MapService
from sbert_app.ui.map import view
from sbert_app.ui.map.export_panel import ExportPanel
from sbert_app.ui.map.filter_panel import FilterPanel
from sbert_app.ui.map.options import MapOptions


class Toolbar:
    """The components. `controls`: shown once there is a map."""

    def __init__(self, service: MapService, session_id: gr.State) -> None:
        with gr.Row(elem_id="map-top"):
            self.corpus_line = gr.HTML(view.corpus_line(), elem_id="map-course", js_on_load=None)
            with gr.Row(visible=False, elem_id="map-controls") as self.controls:
                self._draw_controls(service)
                self.export = ExportPanel(service, session_id, self.colour)
            self.options = MapOptions()
            self.start = gr.Button(view.draw_label(None), variant="primary", size="sm", elem_id="map-draw")
            self.stop = gr.Button("Stop here", variant="stop", size="sm", visible=False, elem_id="map-stop")

    def _draw_controls(self, service: MapService) -> None:
        self.query = gr.Textbox(
            label="Find on the map", placeholder="Find on the map: any words", max_lines=1, min_width=0, elem_id="map-query",
        )  # fmt: skip
        self.colour = gr.Dropdown(
            [colouring.CLUSTERS], value=colouring.CLUSTERS, label="Colour by", min_width=0, allow_custom_value=True,
            elem_id="map-colour",
        )  # fmt: skip
        self.filter = FilterPanel(service)
        self.all = gr.Button("Show all", size="sm", elem_id="map-all")
