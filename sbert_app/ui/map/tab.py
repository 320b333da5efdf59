"""The Map tab: draw the corpus in two dimensions, with named clusters and selectable points."""

import math
import time
from collections.abc import Iterator
from typing import Any

import gradio as gr

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map import colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.jobs.map import kept
from sbert_app.jobs.map.job import MAP, ClusterOptions, draw, place_query, regroup, remove_query
from sbert_app.jobs.search.open_corpus import cautions
from sbert_app.runtime import Session, Workbench
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, handler
from sbert_app.ui.map import chart, lists, view
from sbert_app.ui.map.panel import MapPanel
from sbert_app.ui.map.toolbar import PLOT, Toolbar

REFRESH_SECONDS, REFRESH_POINTS = 0.5, 40_000  # seconds between redraws: at least 0.5, and 1 per 40,000 points
AGAIN: dict[str, Any] = {"value": "Draw again", "variant": "secondary", "interactive": True}  # the button, which shows the toolbar
# Whether the visitor asks for less motion: then the points are not shown while they move. And whether the map is on the screen.
OPENED_TAB = "() => [matchMedia('(prefers-reduced-motion: reduce)').matches, true]"
OPENED_CORPUS = "() => [matchMedia('(prefers-reduced-motion: reduce)').matches, document.body.dataset.tab === 'map']"


class MapTab:
    """Components and event handlers; the map is in the visitor's session. `model` changes with the header's model."""

    def __init__(self, bench: Workbench, session: gr.State, model: gr.State) -> None:
        self._bench, self._session, self._model = bench, session, model
        self.bar = Toolbar(session)
        with gr.Row(elem_id="map-and-list"):
            with gr.Column(min_width=0, elem_id="map-canvas"):
                self.plot = gr.Plot(label="Map of the corpus", show_label=False, elem_id="map-plot")
                self.stage = gr.HTML(elem_id="map-stage", js_on_load=None)
                self.status = gr.HTML(elem_id="map-told", js_on_load=None)
                self.panel = MapPanel(bench, session, self.status, self.bar.filter)
            with gr.Column(min_width=0, elem_id="map-side"):
                self.panel.draw()
        self.job = LongJob(self.bar.stop, self.stage, self.bar.start)
        self.reduced_motion = gr.Checkbox(visible="hidden", elem_id="map-reduced-motion")
        self.in_view = gr.Checkbox(visible="hidden", elem_id="map-in-view")

    def listen(self, opened: gr.State, tab: gr.Tab) -> None:
        """Connect events. `opened` changes with the session's corpus."""
        bar, panel = self.bar, self.panel
        session = [self._session]
        coloured = [self.plot, bar.colour]
        grouped = [*coloured, panel.summary, panel.groups, panel.numbers, *panel.deselecting, *bar.export.links]
        outputs = [*grouped, *panel.compare.reset, bar.corpus_line, bar.query]
        everything = [*outputs, *self.job.outputs, panel.bridge, panel.tabs, *bar.options.values]
        shown = opened.change(handler(self._on_opened), [*session, self._model], everything, **PRIVATE)
        inputs = [self._model, self.reduced_motion, *bar.options.values]
        self.job.listen(bar.start.click, self._on_draw, [*session, *inputs], outputs, lambda session: session.stop(MAP))
        for event, js in ((tab.select, OPENED_TAB), (shown.then, OPENED_CORPUS)):
            seen = event(None, None, [self.reduced_motion, self.in_view], js=js, **PRIVATE)
            self.job.listen(seen.then, self._on_in_view, [*session, self.in_view, *inputs], outputs, None)
        chosen, regrouped = [*session, *bar.options.values], [*grouped, panel.bridge]
        gr.on(bar.options.changes, handler(self._on_regroup), chosen, regrouped, trigger_mode="always_last", **PRIVATE)
        recoloured = bar.colour.input(
            handler(self._on_colour), [*session, bar.colour], [self.plot, panel.groups], trigger_mode="always_last", **PRIVATE
        )
        recoloured.failure(handler(self._colour_shown), session, bar.colour, **PRIVATE)
        queried = [*coloured, *panel.deselecting, panel.bridge, panel.groups, panel.tabs]
        bar.query.submit(handler(self._on_query), [*session, bar.query], queried, **PRIVATE)
        bar.all.click(handler(self._on_all), session, [*queried, bar.query], **PRIVATE)
        panel.compare.listen(bar.colour, self._model, [tab.select, opened.change, self._model.change])

    def _on_opened(self, session: Session, model: str) -> Updates:
        """Show what the session holds: its corpus, and the map of it if one was drawn before the page was reloaded."""
        updates: Updates = {self.bar.corpus_line: view.corpus_line(kept.mapped_corpus(self._bench, session, model))}
        if kept.draws(session):
            return updates  # the tab was opened at the same time
        updates |= {**self._cleared(), **self.job.idle()}
        if (corpus_map := session.get(CorpusMap)) is None:
            indexed = session.get(IndexedCorpus)
            start = gr.Button(view.draw_label(indexed), variant="primary", interactive=True)
            grouping = ClusterOptions.read(*(kept.last_grouping(self._bench.library, indexed) if indexed else ()))
            return {**updates, self.plot: None, self.bar.start: start, **self.bar.options.set(grouping.method, grouping.count)}
        query = corpus_map.query.query if corpus_map.query else ""
        colour, selected = kept.colour(session), kept.current_selection(session)
        shown = {**self._grouped(session, corpus_map, colour), self.bar.start: gr.Button(**AGAIN), self.bar.query: query}
        shown |= {**self.bar.options.set(*corpus_map.grouping), **self.panel.compare.shown(corpus_map, 0.0)}
        return {**updates, **shown, **self.panel.selected_again(session, corpus_map, selected)}

    def _cleared(self) -> Updates:
        """Clear everything about the previous map except the plot."""
        cleared = (self.panel.groups, self.panel.pointed, self.bar.query, self.status, *self.bar.export.links)
        hints = {self.panel.selection: html.empty(view.NOTHING_CHOSEN), self.panel.summary: html.empty(view.NO_MAP)}
        return {**dict.fromkeys(cleared, ""), **hints, **self.panel.compare.hidden()}

    def _on_in_view(self, session: Session, in_view: bool, model: str, still: bool, *grouping: Any) -> Iterator[Updates]:
        """The tab is opened, or a corpus while the tab is open: draw a corpus that is not large; of others show a preview,
        which also initialises plotly and WebGL."""
        if in_view is True and kept.begins(session):
            yield from self._on_draw(session, model, still, *grouping)
        elif in_view is True and not kept.draws(session) and (shown := kept.preview(self._bench, session, model)):
            stage = view.SKETCH if shown.stage == kept.SKETCH else view.PREVIEW
            yield {self.plot: chart.layout_figure(shown.points, shown.drawn), self.stage: stage}
        else:
            yield {self.plot: gr.skip()}  # Gradio clears the outputs of a generator that yields nothing

    def _on_draw(self, session: Session, model: str, still: bool, *grouping: Any) -> Iterator[Updates]:
        """Show the preview, the moving points (not if `still`), then the map."""
        options = ClusterOptions.read(*grouping)
        yield self.job.busy(html.progress(0, 1, "Starting …", ""))
        shown, seconds = 0.0, math.inf if still else REFRESH_SECONDS
        for step in draw(self._bench, session, options, model):
            if isinstance(step, CorpusMap):  # with all beside it: of two updates within a frame, Gradio's page may lose the first
                yield {**self.job.idle(), **self._grouped(session, step), self.bar.start: gr.Button(**AGAIN)}
                return
            stage = {self.stage: html.progress(step.done, step.total, f"{step.stage} …", "Drawing the map")}
            if not shown or time.monotonic() - shown > max(seconds, len(step.points) / REFRESH_POINTS):
                figure = chart.layout_figure(step.points, step.drawn)
                yield {**({} if shown else self._cleared()), **stage, self.plot: figure}
                shown = time.monotonic()
            else:
                yield stage
        if not kept.draws(session):  # else another corpus was opened, which is being drawn
            yield self.job.idle()

    def _grouped(self, session: Session, corpus_map: CorpusMap, colour: str = colouring.CLUSTERS) -> Updates:
        return {
            **self._coloured(session, corpus_map, colour),
            self.panel.summary: html.cautions(cautions(self._bench, corpus_map.projection.indexed), PLOT)
            + view.summary(corpus_map),
            self.panel.groups: lists.colour_list(corpus_map, colour),
            self.panel.numbers: view.numbers(corpus_map),
            **self.panel.deselected(session),
            **self.bar.export.shown(corpus_map),
        }

    def _coloured(self, session: Session, corpus_map: CorpusMap, colour: str) -> Updates:
        """The map in a colouring, which is chosen in the toolbar and kept."""
        figure, choice = chart.map_figure(corpus_map, colour), gr.Dropdown(choices=colouring.choices(corpus_map), value=colour)
        session.put(kept.MapColour(colour))
        return {self.plot: figure, self.bar.colour: choice}

    def _on_regroup(self, session: Session, *grouping: Any) -> Updates:
        options = ClusterOptions.read(*grouping)
        if session.get(CorpusMap) is None:
            return {self.plot: gr.skip()}  # the options are for the map that will be drawn
        return {**self._grouped(session, regroup(self._bench, session, options)), self.panel.bridge: chart.highlight(None)}

    def _on_colour(self, session: Session, column: str) -> Updates:
        """Recolour the map. Gradio sends each choice twice; the second is ignored, because the points are megabytes."""
        if column == kept.colour(session):
            return {self.plot: gr.skip()}
        corpus_map = kept.current_map(session)
        plot = self._coloured(session, corpus_map, column)[self.plot]
        return {self.plot: plot, self.panel.groups: lists.colour_list(corpus_map, column)}

    def _colour_shown(self, session: Session) -> str:
        """What the menu of colours says again when another one was refused."""
        return kept.colour(session)

    def _on_query(self, session: Session, text: str) -> Updates:
        """Place the query and select the rows near it; an empty query removes the star."""
        if isinstance(text, str) and not text.strip():
            return self._nothing_chosen(session)
        corpus_map = place_query(self._bench, session, text)
        return {**self._coloured(session, corpus_map, colouring.QUERY), **self.panel.show_query(session, corpus_map)}

    def _on_all(self, session: Session) -> Updates:
        """Clear the selection and the query."""
        return {**self._nothing_chosen(session), self.bar.query: ""}

    def _nothing_chosen(self, session: Session) -> Updates:
        """The map without a selection and without a query."""
        shown = kept.colour(session)
        listed = lists.colour_list(kept.current_map(session), shown)
        corpus_map = remove_query(session)
        clusters = self._coloured(session, corpus_map, colouring.CLUSTERS) if shown == colouring.QUERY else {}
        bridge = {self.panel.bridge: chart.highlight(None, query=[])}
        return {**self.panel.deselected(session), self.panel.groups: listed, **bridge, **clusters}
