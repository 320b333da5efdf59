"""The Map tab: draw the corpus in two dimensions, with named clusters and selectable points."""

import math
import time
from collections.abc import Iterator
from typing import Any

import gradio as gr

from sbert_app.corpus_map import colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.services.cluster_map import Grouping, MapService
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.long_job import LongJob
from sbert_app.ui.map import chart, view
from sbert_app.ui.map.answers import CLUSTER_SCRIPT, MapAnswers
from sbert_app.ui.map.compare_panel import ComparePanel
from sbert_app.ui.map.export_panel import ExportPanel
from sbert_app.ui.map.options import MapOptions
from sbert_app.ui.map.script_message import highlight, message, star

LEAD = "See the whole corpus at once: sentences with **similar** meanings are **close**, in automatically named clusters."
REFRESH_SECONDS, REFRESH_POINTS = 0.5, 40_000  # seconds between redraws: at least 0.5, and 1 per 40,000 points
# Whether the visitor asks for less motion: then the points are not shown while they move.
REDUCED_MOTION = "() => matchMedia('(prefers-reduced-motion: reduce)').matches"


def build(service: MapService, session_id: gr.State, model: gr.State, opened: gr.State, tab: gr.Tab) -> None:
    """Build the tab. `opened` changes with the session's corpus, `model` with the header's model."""
    gr.Markdown(LEAD, elem_classes="lead")
    _MapTab(service, session_id, model).listen(opened, tab)


class _MapTab:
    """Components and event handlers; the map is in the visitor's session."""

    def __init__(self, service: MapService, session_id: gr.State, model: gr.State) -> None:
        self._service, self._session_id, self._model = service, session_id, model
        with gr.Row(elem_id="map-top"):
            self.start = gr.Button("Draw the map", variant="primary", elem_id="map-draw")
            self.stop = gr.Button("Stop here", variant="stop", visible=False, elem_id="map-stop")
            self.corpus_line = gr.HTML(view.corpus_line(), elem_id="map-course", js_on_load=None)
        self.stage = gr.HTML(elem_id="map-stage", js_on_load=None)
        self.job = LongJob(self.stop, self.stage, self.start)
        with gr.Column(visible=False, elem_id="map-controls") as self.controls:
            self._draw_controls()
            self.status = gr.HTML(view.status(), elem_id="map-told", js_on_load=None)
        self._draw_map()
        with gr.Column(visible=False, elem_id="map-result") as self.result:
            self.answers.draw_selection()
            with gr.Accordion("How good are the clusters?", open=False, elem_id="map-numbers-box"):
                self.numbers = gr.HTML(elem_id="map-numbers", js_on_load=None)
            self.compare = ComparePanel(service, session_id, self.answers.bridge)
            self.export = ExportPanel(service, session_id, self.colour)
        self.reduced_motion = gr.Checkbox(visible="hidden", elem_id="map-reduced-motion")

    def _draw_controls(self) -> None:
        self.shown_colour = gr.State(colouring.CLUSTERS)  # the colouring of the current plot
        self.summary = gr.HTML(elem_id="map-summary", js_on_load=None)
        with gr.Row(elem_classes="query-row"):
            self.query = gr.Textbox(
                label="Find on the map",
                placeholder="Any words, then Enter",
                max_lines=1,
                scale=3,
                min_width=200,
                elem_id="map-query",
            )
            self.cluster = gr.Dropdown(
                [], label="Show a cluster", scale=2, min_width=140, allow_custom_value=True, elem_id="map-cluster"
            )
            self.colour = gr.Dropdown(
                [colouring.CLUSTERS], value=colouring.CLUSTERS, label="Colour by", scale=2, min_width=140,
                allow_custom_value=True, elem_id="map-colour",
            )  # fmt: skip
            self.all = gr.Button("Show all", size="sm", scale=0, min_width=90, elem_id="map-all")

    def _draw_map(self) -> None:
        with gr.Row(elem_id="map-and-list"):
            with gr.Column(scale=7, min_width=320):
                self.plot = gr.Plot(label="Map of the corpus", show_label=False, elem_id="map-plot")
                self.answers = MapAnswers(self._service, self._session_id, self.status)
            with gr.Column(scale=3, min_width=240):
                self.options = MapOptions()
                self.clusters = gr.HTML(elem_id="map-clusters", js_on_load=CLUSTER_SCRIPT)

    def listen(self, opened: gr.State, tab: gr.Tab) -> None:
        session = [self._session_id]
        selection = [self.status, self.answers.selection, self.answers.pointed]
        grouped = [self.plot, self.summary, self.clusters, self.cluster, self.colour, self.shown_colour, self.numbers, *selection]
        panels = [self.controls, self.result, *self.compare.reset, *self.export.reset]
        outputs = [*grouped, *panels, self.corpus_line, self.query]
        everything = [*outputs, *self.job.outputs, self.answers.bridge, *self.options.values]
        opened.change(handler(self._on_opened), [*session, self._model], everything, **PRIVATE)
        tab.select(None, None, self.reduced_motion, js=REDUCED_MOTION, **PRIVATE)
        tab.select(handler(self._on_tab_opened), [*session, self._model], [self.plot, self.stage], **PRIVATE)
        inputs = [*session, self._model, self.reduced_motion, *self.options.values]
        self.job.listen(self.start.click, self._on_draw, inputs, outputs, self._service.stop)
        gr.on(
            self.options.changes, handler(self._on_regroup), [*session, *self.options.values],
            [*grouped, *self.export.reset], **PRIVATE,
        )  # fmt: skip
        inputs = [*session, self.colour, self.shown_colour]
        coloured = self.colour.input(handler(self._on_colour), inputs, [self.plot, self.shown_colour], **PRIVATE)
        coloured.failure(lambda shown: shown, self.shown_colour, self.colour, **PRIVATE)
        queried = [self.plot, self.colour, self.shown_colour, *selection, self.answers.bridge, self.cluster, self.clusters]
        self.query.submit(handler(self._on_query), [*session, self.query, self.shown_colour], queried, **PRIVATE)
        self.answers.listen(self.clusters, self.cluster)
        self.all.click(handler(self._on_all), [*session, self.shown_colour], [*queried, self.query], **PRIVATE)
        self.compare.listen(self.colour, self._model, [tab.select, opened.change, self._model.change])
        self.export.listen()

    def _on_opened(self, session_id: str, model: str) -> Updates:
        """Show what the session holds: its corpus, and the map of it if one was drawn before the page was reloaded."""
        corpus_line = view.corpus_line(self._service.corpus(session_id, model))
        updates = {self.corpus_line: corpus_line, **self._cleared(), **self.job.idle()}
        if not self._service.has_map(session_id):
            return {**updates, **self._panels(False), self.plot: None}
        corpus_map = self._service.map(session_id)
        query = corpus_map.query.query if corpus_map.query else ""
        shown = {**self._grouped(corpus_map), **self._panels(True), self.query: query, **self.options.set(*corpus_map.grouping)}
        return {**updates, **shown, **self.compare.shown(corpus_map, 0.0)}

    def _on_tab_opened(self, session_id: str, model: str) -> Any:
        """When the tab is opened without a map, show a preview, which also initialises plotly and WebGL."""
        preview = self._service.preview(session_id, model)
        return (chart.layout_figure(preview.points, preview.drawn), view.PREVIEW) if preview else (gr.skip(), gr.skip())

    def _cleared(self) -> Updates:
        """Clear everything about the previous map except the plot."""
        empty = dict.fromkeys((self.summary, self.clusters, self.answers.pointed, self.answers.selection, self.query), "")
        return {**empty, **self.compare.hidden()}

    def _panels(self, visible: bool) -> Updates:
        """Show or hide the panels. Not hidden for a redraw: Gradio loses a `visible=True` that follows within milliseconds."""
        return {panel: gr.Column(visible=visible) for panel in (self.controls, self.result)}

    def _on_draw(self, session_id: str, model: str, still: bool, method: str, count: str, outliers: float) -> Iterator[Updates]:
        """Show the preview, the moving points (not if `still`), then the map."""
        grouping = Grouping.read(method, count, outliers)
        yield self.job.busy(html.progress(0, 1, "Starting …", ""))
        shown, last, seconds = 0.0, self.job.idle(), math.inf if still else REFRESH_SECONDS
        for step in self._service.draw(session_id, grouping, model):
            if isinstance(step, CorpusMap):
                last |= {**self._grouped(step), **self._panels(True)}
            elif not shown or time.monotonic() - shown > max(seconds, len(step.points) / REFRESH_POINTS):
                moving = {self.stage: view.stage(step), self.plot: chart.layout_figure(step.points, step.drawn)}
                yield moving if shown else {**self._cleared(), **moving}
                shown = time.monotonic()
            else:
                yield {self.stage: view.stage(step)}
        yield last

    def _grouped(self, corpus_map: CorpusMap) -> Updates:
        return {
            self.plot: chart.map_figure(corpus_map, colouring.colouring(corpus_map)),
            self.summary: view.summary(corpus_map),
            self.clusters: view.cluster_list(corpus_map),
            self.cluster: gr.Dropdown(choices=view.cluster_choices(corpus_map), value=None),
            self.colour: gr.Dropdown(choices=colouring.choices(corpus_map), value=colouring.CLUSTERS),
            self.shown_colour: colouring.CLUSTERS,
            self.numbers: view.numbers(corpus_map),
            **self.answers.deselected(),
            **self.export.shown(corpus_map),
        }

    def _on_regroup(self, session_id: str, method: str, count: str, outliers: float) -> Updates:
        grouping = Grouping.read(method, count, outliers)
        if not self._service.has_map(session_id):
            return {self.plot: gr.skip()}  # the options are for the map that will be drawn
        return self._grouped(self._service.regroup(session_id, grouping))

    def _on_colour(self, session_id: str, column: str, shown: str) -> Updates:
        """Recolour the map. Gradio sends each choice twice; the second is ignored, because the points are megabytes."""
        if column == shown:
            return {self.plot: gr.skip()}
        corpus_map = self._service.map(session_id)
        return {self.shown_colour: column, self.plot: chart.map_figure(corpus_map, colouring.colouring(corpus_map, column))}

    def _on_query(self, session_id: str, text: str, shown: str) -> Updates:
        """Place the query and select the rows near it; an empty query removes the star."""
        if isinstance(text, str) and not text.strip():
            return self._without_query(session_id, shown)
        corpus_map = self._service.query(session_id, text)
        return {
            self.plot: chart.map_figure(corpus_map, colouring.colouring(corpus_map, colouring.QUERY)),
            self.colour: gr.Dropdown(choices=colouring.choices(corpus_map), value=colouring.QUERY),
            self.shown_colour: colouring.QUERY,
            **self.answers.show_query(corpus_map),
        }

    def _on_all(self, session_id: str, shown: str) -> Updates:
        """Clear the selection and the query."""
        corpus_map = self._service.map(session_id)
        everything = {self.cluster: None, self.clusters: view.cluster_list(corpus_map), self.query: ""}
        return {**self.answers.deselected(), **everything, **self._without_query(session_id, shown)}

    def _without_query(self, session_id: str, shown: str) -> Updates:
        corpus_map = self._service.remove_query(session_id)
        if shown != colouring.QUERY:
            return {self.answers.bridge: message(**highlight(None), **star(None))}
        return {
            self.answers.bridge: message(**highlight(None), **star(None)),
            self.plot: chart.map_figure(corpus_map, colouring.colouring(corpus_map)),
            self.colour: gr.Dropdown(choices=colouring.choices(corpus_map), value=colouring.CLUSTERS),
            self.shown_colour: colouring.CLUSTERS,
        }
