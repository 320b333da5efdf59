"""What the map answers: a point is clicked, a lasso drawn, a cluster chosen, and its sentences are listed and lit."""

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
from sbert_app.ui.map.script_message import lit, said

SCRIPTS = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("map.js", "map_bridge.js"))
# The list's own script: "picked" is an event of ours, here as in assets/map_bridge.js.
CHOSEN = """
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-cluster]');
  if (button) trigger('picked', {cluster: Number(button.dataset.cluster)});
});
"""


class MapAnswers:
    """`said` carries messages to the page's script, `pointed` the sentence under the pointer, `selection` the chosen rows.

    `told`, above the map, says in short what is listed below it.
    """

    def __init__(self, service: MapService, session_id: gr.State, told: gr.HTML) -> None:
        self._service, self._session_id, self.told = service, session_id, told
        self.said = gr.HTML("", html_template="", js_on_load=SCRIPTS, visible="hidden", elem_id="map-bridge")
        self.pointed = gr.HTML(elem_id="map-pointed", js_on_load=None)
        self.selection: gr.HTML

    def draw_selection(self) -> None:
        """The list of chosen rows stands apart from the rest, below the map."""
        self.selection = gr.HTML(html.empty(view.NOTHING_CHOSEN), elem_id="map-selection", js_on_load=None)

    def listen(self, clusters: gr.HTML, cluster: gr.Dropdown) -> None:
        """clusters: the list with its buttons; cluster: the drop-down of the same."""
        self._clusters, self._dropdown = clusters, cluster
        session, answers = [self._session_id], [self.said, self.selection, self.told, self.pointed, clusters, cluster]
        cluster.input(handler(self._on_chosen), [*session, cluster], answers, **PRIVATE)
        clusters.picked(handler(self._on_listed), session, answers, **PRIVATE)
        self.said.picked(handler(self._on_picked), session, answers, trigger_mode="always_last", **PRIVATE)

    def nothing(self) -> Updates:
        """Nothing is chosen."""
        return {self.selection: html.empty(view.NOTHING_CHOSEN), self.told: view.told(), self.pointed: ""}

    def asked(self, corpus_map: CorpusMap) -> Updates:
        """The rows nearest to the query that was placed on the map."""
        if corpus_map.query is None:
            return self.nothing()
        best, title = corpus_map.query.best(), view.asked(corpus_map.query)
        nearest = corpus_map.ground.indexed.corpus.sentences[best[0]]
        selection = view.selection(corpus_map, best, title, corpus_map.query.scores[best])
        listed = {self.selection: selection, self.told: view.told(title, nearest), self.said: said(**lit(None))}
        return {**listed, **self._unlisted(corpus_map)}

    def _unlisted(self, corpus_map: CorpusMap) -> Updates:
        """No cluster is the chosen one."""
        return {self._dropdown: None, self._clusters: view.cluster_list(corpus_map)}

    def _on_chosen(self, session_id: str, cluster: Any) -> Updates:
        """A cluster of the drop-down; a text that names none takes the choice back."""
        if cluster in (None, ""):
            return {self.said: said(**lit(None)), **self.nothing()}
        corpus_map = self._service.map(session_id)
        if type(cluster) is not int:
            gr.Warning(f"There is no cluster “{cluster}”. Choose one of the list.")
            return {self._dropdown: None}
        return {**self._cluster(session_id, corpus_map, cluster), self._clusters: view.cluster_list(corpus_map, cluster)}

    def _on_listed(self, session_id: str, event: gr.EventData) -> Updates:
        """A cluster of the list, whose drop-down follows."""
        cluster = event._data.get("cluster") if isinstance(event._data, dict) else None
        corpus_map = self._service.map(session_id)
        answer = self._cluster(session_id, corpus_map, cluster)
        return {**answer, self._dropdown: cluster, self._clusters: view.cluster_list(corpus_map, cluster)}

    def _cluster(self, session_id: str, corpus_map: CorpusMap, cluster: Any) -> Updates:
        members = self._service.members(session_id, cluster)
        return self._selected(corpus_map, members, f"{len(members):,} sentences in “{corpus_map.name_of(cluster)}”")

    def _on_picked(self, session_id: str, event: gr.EventData) -> Updates:
        """What a person did on the plot: pointed at a row, clicked it, drew around some, or asked for all again."""
        told = event._data if isinstance(event._data, dict) else {}
        if not self._service.drawn_already(session_id):
            return {self.pointed: ""}
        corpus_map, kind = self._service.map(session_id), told.get("kind")
        rows = self._service.rows(session_id, told.get("rows"))
        if kind == "hover":
            return {self.pointed: view.hovered(corpus_map, int(rows[0])) if len(rows) else ""}
        unlisted = self._unlisted(corpus_map)
        if kind == "all" or not len(rows):
            return {**self.nothing(), **unlisted}
        if kind == "lasso":
            return {**self._selected(corpus_map, rows, f"{len(rows):,} sentences inside the outline"), **unlisted}
        return {**self._near(session_id, corpus_map, int(rows[0])), **unlisted}

    def _near(self, session_id: str, corpus_map: CorpusMap, row: int) -> Updates:
        """A row and its nearest, ringed on the map."""
        near, scores = self._service.near(session_id, row)
        title = f"Row {corpus_map.ground.indexed.corpus.rows[row]:,} and its nearest, by cosine of the embeddings"
        return {
            self.said: said(**lit(None, corpus_map.ground.points[near])),
            self.selection: view.selection(corpus_map, near, title, scores),
            self.told: view.told(title, corpus_map.ground.indexed.corpus.sentences[row]),
        }

    def _selected(self, corpus_map: CorpusMap, rows: NDArray[np.int64], title: str) -> Updates:
        """Some rows, lit on the map and listed below it."""
        drawn = (
            rows if len(corpus_map.ground.drawn) == len(corpus_map.ground.points) else np.intersect1d(rows, corpus_map.ground.drawn)
        )
        words = corpus_map.ground.words.standing_out(rows)
        listed = {
            self.selection: view.selection(corpus_map, rows, title, words=words),
            self.told: view.told(title, ", ".join(words)),
        }
        return {self.said: said(**lit(drawn)), **listed}
