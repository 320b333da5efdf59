"""Selections on the map: clicks, lassos and chosen clusters highlight points and list their sentences."""

from typing import Any

import gradio as gr
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sbert_app.corpus_map.colouring import Categories, colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.services.cluster_map import MapService
from sbert_app.settings import ASSETS
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.map import lists, view
from sbert_app.ui.map.panel import SELECTION, MapPanel
from sbert_app.ui.map.script_message import highlight, message

SCRIPTS = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("map.js", "map_bridge.js"))


class MapAnswers:
    """`bridge` sends messages to the page's script; `pointed` shows the hovered sentence, `status` what is selected."""

    def __init__(self, service: MapService, session_id: gr.State, status: gr.HTML) -> None:
        self._service, self._session_id, self.status = service, session_id, status
        self.bridge = gr.HTML("", html_template="", js_on_load=SCRIPTS, visible="hidden", elem_id="map-bridge")
        self.pointed = gr.HTML(elem_id="map-pointed", js_on_load=None)

        self.panel: MapPanel

    def draw_panel(self) -> None:
        """Build the panel beside the map, which lists clusters and what is selected."""
        self.panel = MapPanel(self._service, self._session_id, self.bridge)

    def listen(self, shown_colour: gr.State) -> None:
        """Connect events. shown_colour: the colouring of the plot."""
        panel = self.panel
        session = [self._session_id, shown_colour]
        outputs = [self.bridge, panel.selection, self.status, self.pointed, panel.groups, panel.tabs]
        panel.groups.picked(handler(self._on_listed), session, outputs, **PRIVATE)
        self.bridge.picked(handler(self._on_picked), session, outputs, trigger_mode="always_last", **PRIVATE)

    def deselected(self) -> Updates:
        """Clear the selection."""
        return {self.panel.selection: html.empty(view.NOTHING_CHOSEN), self.status: view.status(), self.pointed: ""}

    def show_query(self, corpus_map: CorpusMap) -> Updates:
        """Select the rows nearest to the query on the map."""
        if corpus_map.query is None:
            return self.deselected()
        best, title = corpus_map.query.best(), view.query_title(corpus_map.query)
        selection = lists.selection(corpus_map, best, title, corpus_map.query.scores[best])
        listed = {self.panel.groups: lists.cluster_list(corpus_map), self.bridge: message(**highlight(None))}
        return {**listed, **self._listed(title, selection)}

    def colour_list(self, corpus_map: CorpusMap, colour: str, chosen: int | None = None) -> Markup:
        """The clusters, or the values of the column that colours the map."""
        return lists.colour_list(corpus_map, colouring(corpus_map, colour), chosen)

    def _listed(self, title: str, selection: Markup) -> Updates:
        """Show the list of selected rows."""
        return {self.panel.selection: selection, self.status: view.status(title), self.panel.tabs: gr.Tabs(selected=SELECTION)}

    def _on_listed(self, session_id: str, colour: str, event: gr.EventData) -> Updates:
        """A cluster or a value was chosen in the list: its rows stay bright."""
        group: Any = event._data.get("group") if isinstance(event._data, dict) else None
        corpus_map = self._service.map(session_id)
        colours = colouring(corpus_map, colour)
        if isinstance(colours, Categories) and colours.of_column:
            members = colours.members(group)
            title = f"{len(members):,} sentences with {colours.title} “{colours.name_of(group)}”"
        else:
            members = self._service.members(session_id, group)
            title = f"{len(members):,} sentences in “{corpus_map.name_of(group)}”"
        return {**self._selected(corpus_map, members, title), self.panel.groups: lists.colour_list(corpus_map, colours, group)}

    def _on_picked(self, session_id: str, colour: str, event: gr.EventData) -> Updates:
        """An event of the plot: hover, click, lasso, or all (a double-click, which clears the selection)."""
        event_data = event._data if isinstance(event._data, dict) else {}
        if not self._service.has_map(session_id):
            return {self.pointed: ""}
        corpus_map, kind = self._service.map(session_id), event_data.get("kind")
        rows = self._service.rows(session_id, event_data.get("rows"))
        if kind == "hover":
            return {self.pointed: view.hovered(corpus_map, int(rows[0])) if len(rows) else ""}
        unlisted = {self.panel.groups: self.colour_list(corpus_map, colour)}
        if kind == "all" or not len(rows):
            return {**self.deselected(), **unlisted}
        if kind == "lasso":
            return {**self._selected(corpus_map, rows, f"{len(rows):,} sentences inside the lasso"), **unlisted}
        return {**self._neighbours(session_id, corpus_map, int(rows[0])), **unlisted}

    def _neighbours(self, session_id: str, corpus_map: CorpusMap, row: int) -> Updates:
        """Select a row and its nearest rows, with rings on the map."""
        rows, scores = self._service.neighbours(session_id, row)
        title = f"Row {corpus_map.projection.indexed.corpus.rows[row]:,} and its nearest rows, by cosine of the embeddings"
        ringed = {self.bridge: message(**highlight(None, corpus_map.projection.points[rows]))}
        return {**ringed, **self._listed(title, lists.selection(corpus_map, rows, title, scores))}

    def _selected(self, corpus_map: CorpusMap, rows: NDArray[np.int64], title: str) -> Updates:
        """Highlight rows on the map and list them beside it."""
        projection = corpus_map.projection
        drawn = rows if len(projection.drawn) == len(projection.points) else np.intersect1d(rows, projection.drawn)
        words = projection.words.distinctive_words(rows)
        return {
            self.bridge: message(**highlight(drawn)),
            **self._listed(title, lists.selection(corpus_map, rows, title, words=words)),
        }
