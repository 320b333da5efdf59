"""The panel beside the map: its clusters, what is selected on it, another model's map. One tab each."""

import gradio as gr

from sbert_app.services.corpus.cluster_map import MapService
from sbert_app.settings import ASSETS
from sbert_app.ui.kit import html
from sbert_app.ui.map import view
from sbert_app.ui.map.compare_panel import ComparePanel

LIST_SCRIPT = (ASSETS / "map_clusters.js").read_text(encoding="utf-8")
CLUSTERS, SELECTION, COMPARE = "map-clusters-tab", "map-selection-tab", "map-compare-tab"


class MapPanel:
    """The components. `result`: shown once there is a map; `compare`: the other model's map."""

    def __init__(self, service: MapService, session_id: gr.State, bridge: gr.HTML) -> None:
        with gr.Tabs(elem_id="map-panel") as self.tabs:
            with gr.Tab("Clusters", id=CLUSTERS):
                self.summary = gr.HTML(html.empty(view.NO_MAP), elem_id="map-summary", js_on_load=None)
                self.groups = gr.HTML(elem_id="map-clusters", js_on_load=LIST_SCRIPT)
                with gr.Accordion(
                    "How good are the clusters?", open=False, visible=False, elem_id="map-numbers-box"
                ) as self.result:
                    self.numbers = gr.HTML(elem_id="map-numbers", js_on_load=None)
            with gr.Tab("Selection", id=SELECTION):
                self.selection = gr.HTML(html.empty(view.NOTHING_CHOSEN), elem_id="map-selection", js_on_load=None)
            with gr.Tab("Compare", id=COMPARE) as compare:
                self.compare = ComparePanel(service, session_id, bridge, compare)
