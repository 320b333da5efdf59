"""What the map answers: a point is clicked, a lasso drawn, a cluster chosen, and its sentences are listed and lit."""

from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from sbert_app.services.cluster_map import MapService
from sbert_app.services.map_result import CorpusMap
from sbert_app.ui.events import handler
from sbert_app.ui.views import cluster_map as view
from sbert_app.ui.views import parts
from sbert_app.ui.views.map_said import lit, said

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SCRIPTS = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("map.js", "map_bridge.js"))
# The list's own script: "picked" is an event of ours, here as in assets/map_bridge.js.
CHOSEN = """
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-cluster]');
  if (button) trigger('picked', {cluster: Number(button.dataset.cluster)});
});
"""

Updates = dict[Any, Any]


class MapAnswers:
    """`said` carries messages to the page's script, `pointed` the sentence under the pointer, `selection` the chosen rows."""

    def __init__(self, service: MapService, session_id: gr.State) -> None:
        self._service, self._session_id = service, session_id
        self.said = gr.HTML("", html_template="", js_on_load=SCRIPTS, visible="hidden", elem_id="map-bridge")
        self.pointed = gr.HTML(elem_id="map-pointed", js_on_load=None)
        self.selection: gr.HTML

    def draw_selection(self) -> None:
        """The list of chosen rows stands apart from the rest, below the map."""
        self.selection = gr.HTML(parts.empty(view.NOTHING_CHOSEN), elem_id="map-selection", js_on_load=None)

    def listen(self, clusters: gr.HTML, cluster: gr.Dropdown, everything: gr.Button) -> None:
        """clusters: the list with its buttons; cluster: the drop-down of the same; everything: shows all again."""
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        mine, answers = [self._session_id], [self.said, self.selection]
        cluster.input(handler(self._on_cluster), [*mine, cluster], answers, **private)
        clusters.picked(handler(self._on_listed(cluster)), mine, [*answers, cluster], **private)
        self.said.picked(handler(self._on_picked), mine, [*answers, self.pointed], trigger_mode="always_last", **private)
        everything.click(handler(self._on_all(cluster)), mine, [*answers, cluster], **private)

    def _on_cluster(self, session_id: str, cluster: Any) -> Updates:
        found, members = self._service.map(session_id), self._service.members(session_id, cluster)
        return self._selected(found, members, f"{len(members):,} sentences in “{found.name_of(cluster)}”")

    def _on_listed(self, dropdown: gr.Dropdown) -> Any:
        def on_listed(session_id: str, event: gr.EventData) -> Updates:
            cluster = event._data.get("cluster") if isinstance(event._data, dict) else None
            return {**self._on_cluster(session_id, cluster), dropdown: cluster}

        return on_listed

    def _on_picked(self, session_id: str, event: gr.EventData) -> Updates:
        """What a person did on the plot: pointed at a row, clicked it, or drew around some."""
        told = event._data if isinstance(event._data, dict) else {}
        found, rows = self._service.map(session_id), self._service.rows(session_id, told.get("rows"))
        if not len(rows):
            return {self.pointed: ""}
        if told.get("kind") == "hover":
            return {self.pointed: view.hovered(found, int(rows[0]))}
        if told.get("kind") == "lasso":
            return self._selected(found, rows, f"{len(rows):,} sentences inside the outline")
        near, scores = self._service.near(session_id, int(rows[0]))
        title = f"Row {found.ground.indexed.corpus.rows[rows[0]]:,} and its nearest, by cosine of the embeddings"
        return {
            self.said: said(**lit(None, found.ground.points[near])),
            self.selection: view.selection(found, near, title, scores),
        }

    def _selected(self, found: CorpusMap, rows: NDArray[np.int64], title: str) -> Updates:
        drawn = rows if len(found.ground.drawn) == len(found.ground.points) else np.intersect1d(rows, found.ground.drawn)
        return {self.said: said(**lit(drawn)), self.selection: view.selection(found, rows, title)}

    def _on_all(self, dropdown: gr.Dropdown) -> Any:
        def on_all(session_id: str) -> Updates:
            self._service.map(session_id)
            return {self.said: said(**lit(None)), self.selection: parts.empty(view.NOTHING_CHOSEN), dropdown: None}

        return on_all
