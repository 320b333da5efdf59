"""Selections on the map: clicks, lassos and chosen clusters highlight points and list their sentences."""

from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus_map.result import CorpusMap
from sbert_app.services.cluster_map import MapService
from sbert_app.settings import ASSETS
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.map import view
from sbert_app.ui.map.script_message import highlight, message

SCRIPTS = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("map.js", "map_bridge.js"))
# Script of the cluster list. "picked" is a custom event, as in assets/map_bridge.js. The new list, which replaces the old one,
# has the focus on the same button.
CLUSTER_SCRIPT = """
let picked = null;
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-cluster]');
  if (!button) return;
  picked = button.dataset.cluster;
  trigger('picked', {cluster: Number(picked)});
});
watch('value', () => setTimeout(() => {
  if (picked !== null && document.activeElement === document.body) element.querySelector(`[data-cluster="${picked}"]`)?.focus();
  picked = null;
}, 0));
"""


class MapAnswers:
    """`bridge` sends messages to the page's script; `pointed` shows the hovered sentence, `selection` and `status` chosen ones."""

    def __init__(self, service: MapService, session_id: gr.State, status: gr.HTML) -> None:
        self._service, self._session_id, self.status = service, session_id, status
        self.bridge = gr.HTML("", html_template="", js_on_load=SCRIPTS, visible="hidden", elem_id="map-bridge")
        self.pointed = gr.HTML(elem_id="map-pointed", js_on_load=None)
        self.selection: gr.HTML

    def draw_selection(self) -> None:
        """Build the list of selected rows, which is below the map."""
        self.selection = gr.HTML(html.empty(view.NOTHING_CHOSEN), elem_id="map-selection", js_on_load=None)

    def listen(self, clusters: gr.HTML, cluster: gr.Dropdown) -> None:
        """Connect events. clusters: the list with buttons; cluster: the drop-down with the same clusters."""
        self._clusters, self._dropdown = clusters, cluster
        session, outputs = [self._session_id], [self.bridge, self.selection, self.status, self.pointed, clusters, cluster]
        cluster.input(handler(self._on_chosen), [*session, cluster], outputs, **PRIVATE)
        clusters.picked(handler(self._on_listed), session, outputs, **PRIVATE)
        self.bridge.picked(handler(self._on_picked), session, outputs, trigger_mode="always_last", **PRIVATE)

    def deselected(self) -> Updates:
        """Clear the selection."""
        return {self.selection: html.empty(view.NOTHING_CHOSEN), self.status: view.status(), self.pointed: ""}

    def show_query(self, corpus_map: CorpusMap) -> Updates:
        """Select the rows nearest to the query on the map."""
        if corpus_map.query is None:
            return self.deselected()
        best, title = corpus_map.query.best(), view.query_title(corpus_map.query)
        nearest = corpus_map.projection.indexed.corpus.sentences[best[0]]
        selection = view.selection(corpus_map, best, title, corpus_map.query.scores[best])
        listed = {self.selection: selection, self.status: view.status(title, nearest), self.bridge: message(**highlight(None))}
        return {**listed, **self._unlisted(corpus_map)}

    def _unlisted(self, corpus_map: CorpusMap) -> Updates:
        """Clear the chosen cluster."""
        return {self._dropdown: None, self._clusters: view.cluster_list(corpus_map)}

    def _on_chosen(self, session_id: str, cluster: Any) -> Updates:
        """A cluster was chosen in the drop-down; typed text that is no cluster is rejected."""
        if cluster in (None, ""):
            return {self.bridge: message(**highlight(None)), **self.deselected()}
        corpus_map = self._service.map(session_id)
        if type(cluster) is not int:
            gr.Warning(f"There is no cluster “{cluster}”. Choose one from the list.")
            return {self._dropdown: None}
        return {**self._cluster(session_id, corpus_map, cluster), self._clusters: view.cluster_list(corpus_map, cluster)}

    def _on_listed(self, session_id: str, event: gr.EventData) -> Updates:
        """A cluster was chosen in the list; the drop-down is set to it."""
        cluster = event._data.get("cluster") if isinstance(event._data, dict) else None
        corpus_map = self._service.map(session_id)
        selected = self._cluster(session_id, corpus_map, cluster)
        return {**selected, self._dropdown: cluster, self._clusters: view.cluster_list(corpus_map, cluster)}

    def _cluster(self, session_id: str, corpus_map: CorpusMap, cluster: Any) -> Updates:
        members = self._service.members(session_id, cluster)
        return self._selected(corpus_map, members, f"{len(members):,} sentences in “{corpus_map.name_of(cluster)}”")

    def _on_picked(self, session_id: str, event: gr.EventData) -> Updates:
        """An event of the plot: hover, click, lasso, or all (a double-click, which clears the selection)."""
        event_data = event._data if isinstance(event._data, dict) else {}
        if not self._service.has_map(session_id):
            return {self.pointed: ""}
        corpus_map, kind = self._service.map(session_id), event_data.get("kind")
        rows = self._service.rows(session_id, event_data.get("rows"))
        if kind == "hover":
            return {self.pointed: view.hovered(corpus_map, int(rows[0])) if len(rows) else ""}
        unlisted = self._unlisted(corpus_map)
        if kind == "all" or not len(rows):
            return {**self.deselected(), **unlisted}
        if kind == "lasso":
            return {**self._selected(corpus_map, rows, f"{len(rows):,} sentences inside the lasso"), **unlisted}
        return {**self._neighbours(session_id, corpus_map, int(rows[0])), **unlisted}

    def _neighbours(self, session_id: str, corpus_map: CorpusMap, row: int) -> Updates:
        """Select a row and its nearest rows, with rings on the map."""
        rows, scores = self._service.neighbours(session_id, row)
        title = f"Row {corpus_map.projection.indexed.corpus.rows[row]:,} and its nearest rows, by cosine of the embeddings"
        return {
            self.bridge: message(**highlight(None, corpus_map.projection.points[rows])),
            self.selection: view.selection(corpus_map, rows, title, scores),
            self.status: view.status(title, corpus_map.projection.indexed.corpus.sentences[row]),
        }

    def _selected(self, corpus_map: CorpusMap, rows: NDArray[np.int64], title: str) -> Updates:
        """Highlight rows on the map and list them below it."""
        projection = corpus_map.projection
        drawn = rows if len(projection.drawn) == len(projection.points) else np.intersect1d(rows, projection.drawn)
        words = projection.words.distinctive_words(rows)
        return {
            self.bridge: message(**highlight(drawn)),
            self.selection: view.selection(corpus_map, rows, title, words=words),
            self.status: view.status(title, ", ".join(words)),
        }
