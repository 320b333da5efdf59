"""Selections on the map: clicks, lassos, filters and chosen clusters highlight points and list their sentences."""

from typing import Any

import gradio as gr
import numpy as np

from sbert_app.corpus_map import selection
from sbert_app.corpus_map.placed import PlacedRows
from sbert_app.corpus_map.result import CorpusMap, QueryOnMap
from sbert_app.corpus_map.selection import Selection
from sbert_app.jobs.map.job import rename
from sbert_app.jobs.map.kept import current_map, current_selection, is_searched
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import ASSETS
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, handler, sent
from sbert_app.ui.map import chart, lists, view
from sbert_app.ui.map.chart import highlight, message
from sbert_app.ui.map.panel import SELECTION, MapPanel
from sbert_app.ui.map.toolbar import MapFilters

SCRIPTS = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("map.js", "map_bridge.js"))


class MapAnswers:
    """`bridge` sends messages to the page's script; `pointed` shows the hovered sentence, `status` what is selected.

    colour: the colouring of the plot.
    """

    def __init__(self, bench: Workbench, session: gr.State, status: gr.HTML, filters: MapFilters, colour: gr.State) -> None:
        self._bench, self._session, self.status, self._filter, self._colour = bench, session, status, filters, colour
        self.bridge = gr.HTML("", html_template="", js_on_load=SCRIPTS, visible="hidden", elem_id="map-bridge")
        self.pointed = gr.HTML(elem_id="map-pointed", js_on_load=None)

    def draw_panel(self) -> None:
        """Build the panel beside the map, which lists clusters and what is selected."""
        self.panel = MapPanel(self._bench, self._session, self.bridge)
        # What `deselected` updates.
        self.deselecting: list[Any] = [self.panel.selection, self.status, self.pointed, *self._filter.outputs]

    def listen(self) -> None:
        panel, session = self.panel, [self._session, self._colour]
        outputs = [self.bridge, panel.groups, panel.tabs, *self.deselecting]
        panel.groups.picked(handler(self._on_listed), session, outputs, **PRIVATE)
        self.bridge.picked(handler(self._on_picked), session, outputs, trigger_mode="always_last", **PRIVATE)
        inputs = {*session, self._filter.state}
        self._filter.menus.chosen(handler(self._on_filter), inputs, outputs, trigger_mode="always_last", **PRIVATE)
        renamed = [self.bridge, panel.groups, panel.numbers, panel.selection, self.status]
        panel.groups.renamed(handler(self._on_renamed), session, renamed, trigger_mode="multiple", **PRIVATE)

    def deselected(self, session: Session) -> Updates:
        """Clear the selection."""
        session.drop(Selection)
        listed = {self.panel.selection: html.empty(view.NOTHING_CHOSEN), self.status: view.status(), self.pointed: ""}
        return {**listed, **self._filter.offered(session.get(CorpusMap))}

    def show_query(self, session: Session, corpus_map: CorpusMap) -> Updates:
        """Select the rows nearest to the query on the map; of a sample, list those nearest in the whole collection."""
        if corpus_map.query and corpus_map.query.nearest:
            return self._show_nearest(session, corpus_map, corpus_map.query, corpus_map.query.nearest)
        listed = {self.panel.groups: lists.cluster_list(corpus_map), self.bridge: message(**highlight(None))}
        return {**listed, **self._filter.offered(corpus_map), **self._listed(session, corpus_map, selection.near_query(corpus_map))}

    def _show_nearest(self, session: Session, corpus_map: CorpusMap, query: QueryOnMap, nearest: PlacedRows) -> Updates:
        """List rows of a collection, and ring where they are."""
        return {
            **self.deselected(session),
            self.panel.groups: lists.cluster_list(corpus_map),
            self.bridge: message(**highlight(None, nearest.points)),
            self.panel.selection: lists.nearest(query, nearest),
            self.status: view.status(lists.nearest_title(query, nearest)),
            self.panel.tabs: gr.Tabs(selected=SELECTION),
        }

    def _on_listed(self, session: Session, colour: str, event: gr.EventData) -> Updates:
        """A cluster or a value was chosen in the list: its rows stay bright."""
        corpus_map, group = current_map(session), sent(event).get("group")
        selected = self._selected(session, corpus_map, selection.of_group(corpus_map, colour, group))
        return {**selected, **self._filter.offered(corpus_map), self.panel.groups: lists.colour_list(corpus_map, colour, group)}

    def _on_picked(self, session: Session, colour: str, event: gr.EventData) -> Updates:
        """An event of the plot: hover, click, lasso, or all (a double-click, which clears the selection)."""
        corpus_map, kind = session.get(CorpusMap), sent(event).get("kind")
        if corpus_map is None:
            return {self.pointed: ""}
        rows = selection.known_rows(corpus_map, sent(event).get("rows"))
        if kind == "hover":
            return {self.pointed: view.hovered(corpus_map, int(rows[0])) if len(rows) else ""}
        unlisted = {self.panel.groups: lists.colour_list(corpus_map, colour), **self._filter.offered(corpus_map)}
        if kind == "all" or not len(rows):
            return {**self.deselected(session), **unlisted}
        if kind == "lasso":
            return {**self._selected(session, corpus_map, selection.inside_lasso(corpus_map, rows)), **unlisted}
        neighbours = selection.near_row(corpus_map, int(rows[0]))
        ringed = {self.bridge: message(**highlight(None, corpus_map.projection.points[neighbours.rows]))}
        return {**ringed, **self._listed(session, corpus_map, neighbours), **unlisted}

    def _on_filter(self, values: Values, event: gr.EventData) -> Updates:
        """Select the rows that match the filters; without one, clear the selection."""
        session, chosen = values[self._session], self._filter.changed(values, event)
        filters = dict(chosen[self._filter.state].filters)
        corpus_map = current_map(session)
        unlisted = {self.panel.groups: lists.colour_list(corpus_map, values[self._colour])}
        if not filters:
            return {**self.deselected(session), **unlisted, self.bridge: message(**highlight(None))}
        selected = selection.matching(corpus_map, filters)
        return {**self._selected(session, corpus_map, selected), **unlisted, **chosen, **self._filter.in_force(filters)}

    def _on_renamed(self, session: Session, colour: str, event: gr.EventData) -> Updates:
        """A cluster got another name: change it wherever it is, without drawing the points again."""
        corpus_map = rename(self._bench, session, sent(event).get("group"), sent(event).get("name"))
        selected = current_selection(session)
        renamed = {
            self.bridge: message(map=corpus_map.projection.id, names=chart.labels(corpus_map)),
            self.panel.groups: lists.colour_list(corpus_map, colour, selected.cluster if selected else None),
            self.panel.numbers: view.numbers(corpus_map),
        }
        return {**renamed, **(self._titled(session, corpus_map, selected) if selected else {})}

    def _selected(self, session: Session, corpus_map: CorpusMap, selected: Selection) -> Updates:
        """Highlight rows on the map and list them beside it."""
        projection = corpus_map.projection
        everything = len(projection.drawn) == len(projection.points)
        drawn = selected.rows if everything else np.intersect1d(selected.rows, projection.drawn)
        return {self.bridge: message(**highlight(drawn)), **self._listed(session, corpus_map, selected)}

    def _listed(self, session: Session, corpus_map: CorpusMap, selected: Selection) -> Updates:
        """Keep the selection, and show the list of its rows."""
        session.put(selected)
        return {**self._titled(session, corpus_map, selected), self.panel.tabs: gr.Tabs(selected=SELECTION)}

    def _titled(self, session: Session, corpus_map: CorpusMap, selected: Selection) -> Updates:
        """The list of selected rows and the line on the map."""
        ranked = selected.scores is not None or not len(selected.rows)
        words = [] if ranked else corpus_map.projection.words.distinctive_words(selected.rows)
        return {
            self.panel.selection: lists.selection(corpus_map, selected, words, is_searched(session, corpus_map)),
            self.status: view.status(selected.title(corpus_map)),
        }
