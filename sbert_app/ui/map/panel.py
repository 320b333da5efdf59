"""Beside the map its clusters, what is selected on it, another model's map; clicks, lassos, filters and lists select its rows."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
import numpy as np
from markupsafe import Markup

from sbert_app.corpus_map import colouring, selection
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError
from sbert_app.jobs.map import kept
from sbert_app.jobs.map.job import MAP, compare_model, rename
from sbert_app.runtime import Session, Workbench
from sbert_app.settings import ASSETS
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, Values, handler, sent
from sbert_app.ui.map import chart, lists, view
from sbert_app.ui.map.toolbar import MapFilters, label

ABOUT = "Its map of the same rows, for instance to see what a training changed."
NO_OTHER = "No other model is available yet. Save one in the Fine-tune tab, or type the name of one."
LIST_SCRIPT = (ASSETS / "map_clusters.js").read_text(encoding="utf-8")
CLUSTERS, SELECTION, COMPARE = "map-clusters-tab", "map-selection-tab", "map-compare-tab"
# "inside" is a custom event: the corpus is to be searched inside the selection, in the Search tab.
INSIDE = "element.addEventListener('click', event => { if (event.target.closest('[data-inside]')) trigger('inside'); });\n"
SCRIPTS = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("map.js", "map_bridge.js"))


class ComparePanel:
    """Compare the map with another model's map of the same rows, with a slider between the two. `bridge`: to the map's script."""

    def __init__(self, bench: Workbench, session: gr.State, bridge: gr.HTML, tab: gr.Tab) -> None:
        self._bench, self._session, self._bridge, self._tab = bench, session, bridge, tab
        self.model = gr.Dropdown([], label="The other model", info=ABOUT, allow_custom_value=True, min_width=0, elem_id="map-other")
        with gr.Row(elem_id="map-compare-buttons"):
            self.start = gr.Button("Compare", size="sm", min_width=0, elem_id="map-compare-start")
            self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, min_width=0, elem_id="map-compare-stop")
        self.stage = gr.HTML(elem_id="map-compare-stage", js_on_load=None)
        self.job = LongJob(self.stop, self.stage, self.start)
        self.share = gr.Slider(
            0, 1, 0, step=0.01, label="From the first model (left) to the other (right)", visible=False,
            info="Clusters, their names and their colours stay those of the first.", elem_id="map-share", elem_classes="log-slider",
        )  # fmt: skip
        self.summary = gr.HTML(elem_id="map-moved", js_on_load=None)
        self.reset = [self.share, self.summary, self.stage]  # what `hidden` updates

    def hidden(self) -> Updates:
        """Hide the comparison with the previous map."""
        return {self.share: gr.Slider(value=0, visible=False), self.summary: "", self.stage: ""}

    def shown(self, corpus_map: CorpusMap, share: float) -> Updates:
        """Show the map's comparison, with the points at `share` of the way to the other model's map; hidden if it has none."""
        if (comparison := corpus_map.comparison) is None:
            return self.hidden()
        return {
            self._bridge: chart.move(corpus_map, comparison, share),
            self.share: gr.Slider(value=share, visible=True),
            self.summary: view.model_comparison(corpus_map.model, comparison),
            self.stage: "",
        }

    def listen(self, colour: gr.Dropdown, model: gr.State, changes: list[Any]) -> None:
        """Connect events. changes: the events, besides this panel's, after which other models may be available."""
        self._colour, session = colour, [self._session]
        inputs, listed = [*session, model, self.model], [*changes, self._tab.select]
        gr.on(listed, handler(self._on_models, early=True), inputs, self.model, **PRIVATE)
        changed = [self.share, self.summary, self._bridge, colour]
        self.job.listen(self.start.click, self._on_compare, [*session, self.model], changed, lambda session: session.stop(MAP))
        self.share.change(None, self.share, None, js="share => window.studioMapMorph(share)", **PRIVATE)

    def _on_models(self, session: Session, model: str, chosen: str | None) -> Any:
        """List the models that are available now; one that is chosen or typed, also meanwhile, stays unless it is the map's own."""
        others, own = kept.other_models(self._bench, session, model), kept.own_model(session, model)
        emptied: dict[str, Any] = {"value": None} if chosen and chosen == own else {}
        return gr.Dropdown(choices=others, info=ABOUT if others else NO_OTHER, **emptied)

    def _on_compare(self, session: Session, model: str | None) -> Iterator[Updates]:
        """Show progress, then morph the map to the other model's layout."""
        if not model:
            raise UserError("Choose the other model first.")
        yield {**self.hidden(), **self.job.busy(Markup())}
        for step in compare_model(self._bench, session, model):
            if step.result is None:
                yield {self.stage: html.progress(step.done, step.total, f"{step.stage} …", "Comparing")}
        corpus_map, updates = kept.current_map(session), self.job.idle()
        if corpus_map.comparison is not None:
            updates |= {**self.shown(corpus_map, 1.0), self._colour: gr.Dropdown(choices=colouring.choices(corpus_map))}
        yield updates


class MapPanel:
    """`bridge` sends messages to the page's script; `pointed` shows the hovered sentence, `status` what is selected."""

    def __init__(self, bench: Workbench, session: gr.State, status: gr.HTML, filters: MapFilters) -> None:
        self._bench, self._session, self.status, self._filter = bench, session, status, filters
        self.bridge = gr.HTML("", html_template="", js_on_load=SCRIPTS, visible="hidden", elem_id="map-bridge")
        self.pointed = gr.HTML(elem_id="map-pointed", js_on_load=None)

    def draw(self) -> None:
        """Build the tabs beside the map, and connect what selects rows."""
        with gr.Tabs(elem_id="map-panel") as self.tabs:
            with gr.Tab("Clusters", id=CLUSTERS):
                self.summary = gr.HTML(html.empty(view.NO_MAP), elem_id="map-summary", js_on_load=None)
                self.groups = gr.HTML(elem_id="map-clusters", js_on_load=LIST_SCRIPT)
                with gr.Accordion("How good are the clusters?", open=False, elem_id="map-numbers-box"):  # hidden as the toolbar
                    self.numbers = gr.HTML(elem_id="map-numbers", js_on_load=None)
            with gr.Tab("Selection", id=SELECTION):
                self.selection = gr.HTML(html.empty(view.NOTHING_CHOSEN), elem_id="map-selection", js_on_load=INSIDE + LIST_SCRIPT)
            with gr.Tab("Compare", id=COMPARE) as compare:
                self.compare = ComparePanel(self._bench, self._session, self.bridge, compare)
        # What `deselected` updates.
        self.deselecting: list[Any] = [self.selection, self.status, self.pointed, *self._filter.outputs]
        outputs, inputs = [self.bridge, self.groups, self.tabs, *self.deselecting], {self._session, self._filter.state}
        self.groups.picked(handler(self._on_listed), inputs, outputs, **PRIVATE)
        self.bridge.picked(handler(self._on_picked), inputs, outputs, trigger_mode="multiple", **PRIVATE)
        self._filter.menus.chosen(handler(self._on_filter), inputs, outputs, trigger_mode="multiple", **PRIVATE)
        renamed = [self.bridge, self.groups, self.numbers, self.selection, self.status]
        for listed in (self.groups, self.selection):
            listed.renamed(handler(self._on_renamed), self._session, renamed, trigger_mode="multiple", **PRIVATE)

    def deselected(self, session: Session) -> Updates:
        """Clear the selection."""
        session.drop(selection.Selection)
        listed = {self.selection: html.empty(view.NOTHING_CHOSEN), self.status: view.status(), self.pointed: ""}
        return {**listed, **self._filter.offered(session.get(CorpusMap))}

    def selected_again(self, session: Session, corpus_map: CorpusMap, selected: selection.Selection | None) -> Updates:
        """What was selected before the page was reloaded: rows that were chosen, not those near a row or a query."""
        if selected is None or selected.scores is not None or corpus_map.comparison:
            return {}
        return {**self.listed(session, corpus_map, selected), **self._filter.offered(corpus_map, selected.filters)}

    def show_query(self, session: Session, corpus_map: CorpusMap) -> Updates:
        """Select the rows nearest to the query on the map; of a sample, list and ring those nearest in the whole collection."""
        query = corpus_map.query
        if query is None or query.nearest is None:
            return self.listed(session, corpus_map, selection.near_query(corpus_map), chart.highlight(None))
        return {
            **self.deselected(session),
            self.groups: lists.colour_list(corpus_map, kept.colour(session)),
            self.bridge: chart.highlight(None, query.nearest.points),
            self.selection: lists.nearest(query, query.nearest),
            self.status: view.status(lists.nearest_title(query, query.nearest)),
            self.tabs: gr.Tabs(selected=SELECTION),
        }

    def _on_listed(self, values: Values, event: gr.EventData) -> Updates:
        """A cluster or a value was chosen in the list: its rows stay bright, those that fit the filters."""
        session, group = values[self._session], sent(event).get("group")
        corpus_map, colour = kept.current_map(session), kept.colour(session)
        chosen = selection.of_group(corpus_map, colour, group).among(corpus_map, values[self._filter.state].filters)
        return {**self.listed(session, corpus_map, chosen), self.groups: lists.colour_list(corpus_map, colour, group)}

    def _on_picked(self, values: Values, event: gr.EventData) -> Updates:
        """An event of the plot: hover, click, lasso, or all (a double-click, which clears the selection and the filters)."""
        session, kind = values[self._session], sent(event).get("kind")
        corpus_map = session.get(CorpusMap)
        if corpus_map is None:
            return {self.pointed: ""}
        rows = selection.known_rows(corpus_map, sent(event).get("rows"))
        if kind == "hover":
            return {self.pointed: view.hovered(corpus_map, int(rows[0])) if len(rows) else ""}
        if kind == "all" or not len(rows):
            return {**self.deselected(session), self.groups: lists.colour_list(corpus_map, kept.colour(session))}
        if kind == "lasso":
            chosen = selection.inside_lasso(corpus_map, rows).among(corpus_map, values[self._filter.state].filters)
            return self.listed(session, corpus_map, chosen)
        near = selection.near_row(corpus_map, int(rows[0]))
        return self.listed(session, corpus_map, near, chart.highlight(None, corpus_map.projection.points[near.rows]))

    def _on_filter(self, values: Values, event: gr.EventData) -> Updates:
        """Select the rows that match the filters; without one, clear the selection."""
        session, chosen = values[self._session], self._filter.changed(values, event)
        corpus_map, filters = kept.current_map(session), dict(chosen[self._filter.state].filters)
        if not filters:
            listed = {self.groups: lists.colour_list(corpus_map, kept.colour(session)), self.bridge: chart.highlight(None)}
            return {**self.deselected(session), **listed}
        selected = self.listed(session, corpus_map, selection.matching(corpus_map, filters))
        return {**selected, **chosen, self._filter.box: gr.Accordion(label=label(filters))}

    def _on_renamed(self, session: Session, event: gr.EventData) -> Updates:
        """A cluster got another name: change it wherever it is, without drawing the points again."""
        corpus_map = rename(self._bench, session, sent(event).get("group"), sent(event).get("name"))
        selected = kept.current_selection(session)
        renamed = {
            self.bridge: chart.renamed(corpus_map),
            self.groups: lists.colour_list(corpus_map, kept.colour(session), selected.cluster if selected else None),
            self.numbers: view.numbers(corpus_map),
        }
        return {**renamed, **(self._titled(session, corpus_map, selected) if selected else {})}

    def listed(self, session: Session, corpus_map: CorpusMap, selected: selection.Selection, shown: str = "") -> Updates:
        """Keep the selection, and list its rows; no filter is in force but its own. shown: a message, "": its rows are bright."""
        rows = np.intersect1d(selected.rows, corpus_map.projection.drawn)
        session.put(selected)
        return {
            **self._titled(session, corpus_map, selected),
            **({} if selected.filters else self._filter.offered(corpus_map)),
            self.bridge: shown or chart.highlight(rows, map=corpus_map.projection.id),
            self.groups: lists.colour_list(corpus_map, kept.colour(session)),
            self.tabs: gr.Tabs(selected=SELECTION),
        }

    def _titled(self, session: Session, corpus_map: CorpusMap, selected: selection.Selection) -> Updates:
        """The list of selected rows and the line on the map."""
        ranked = selected.scores is not None or not len(selected.rows)
        words = [] if ranked else corpus_map.projection.words.distinctive_words(selected.rows)
        return {
            self.selection: lists.selection(corpus_map, selected, words, kept.is_searched(session, corpus_map)),
            self.status: view.status(selected.title(corpus_map) + selected.aside),
        }
