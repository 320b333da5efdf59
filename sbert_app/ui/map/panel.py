"""The panel beside the map: its clusters, what is selected on it, another model's map. One tab each."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.corpus_map import colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError
from sbert_app.jobs.map.job import MAP, compare_model
from sbert_app.jobs.map.kept import current_map, other_models, own_model
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import ASSETS
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.long_job import LongJob
from sbert_app.ui.map import view
from sbert_app.ui.map.chart import message, move

ABOUT = "Its map of the same rows, for instance to see what a training changed."
NO_OTHER = "No other model is available yet. Save one in the Fine-tune tab, or type the name of one."
LIST_SCRIPT = (ASSETS / "map_clusters.js").read_text(encoding="utf-8")
CLUSTERS, SELECTION, COMPARE = "map-clusters-tab", "map-selection-tab", "map-compare-tab"
# "inside" is a custom event: the corpus is to be searched inside the selection, in the Search tab.
INSIDE = "element.addEventListener('click', event => { if (event.target.closest('[data-inside]')) trigger('inside'); })"
MORPH = "share => window.studioMapMorph(share)"


class ComparePanel:
    """Compare the map with another model's map of the same rows, with a slider between the two. `bridge`: to the map's script."""

    def __init__(self, bench: Workbench, session: gr.State, bridge: gr.HTML, tab: gr.Tab) -> None:
        self._bench, self._session, self._bridge, self._tab = bench, session, bridge, tab
        self.model = gr.Dropdown(
            [], value=None, label="The other model", allow_custom_value=True, min_width=0, elem_id="map-other", info=ABOUT,
        )  # fmt: skip
        with gr.Row(elem_id="map-compare-buttons"):
            self.start = gr.Button("Compare", size="sm", min_width=0, elem_id="map-compare-start")
            self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, min_width=0, elem_id="map-compare-stop")
        self.stage = gr.HTML(elem_id="map-compare-stage", js_on_load=None)
        self.job = LongJob(self.stop, self.stage, self.start)
        self.share = gr.Slider(
            0, 1, 0, step=0.01, label="From the first model (left) to the other (right)", visible=False,
            elem_id="map-share", elem_classes="log-slider",
        )  # fmt: skip
        self.summary = gr.HTML(elem_id="map-moved", js_on_load=None)
        self.reset = [self.share, self.summary, self.stage]  # what `hidden` updates

    def hidden(self) -> Updates:
        """Hide the comparison with the previous map."""
        return {self.share: gr.Slider(value=0, visible=False), self.summary: "", self.stage: ""}

    def shown(self, corpus_map: CorpusMap, share: float) -> Updates:
        """Show the map's comparison, with the points at `share` of the way to the other model's map; hidden if it has none."""
        if corpus_map.comparison is None:
            return self.hidden()
        return {
            self._bridge: message(**move(corpus_map, share)),
            self.share: gr.Slider(value=share, visible=True),
            self.summary: view.model_comparison(corpus_map),
            self.stage: "",
        }

    def listen(self, colour: gr.Dropdown, model: gr.State, changes: list[Any]) -> None:
        """Connect events. changes: the events, besides this panel's, after which other models may be available."""
        self._colour, session = colour, [self._session]
        gr.on(
            [*changes, self._tab.select], handler(self._on_models, early=True), [*session, model, self.model], self.model, **PRIVATE
        )
        changed = [self.share, self.summary, self._bridge, colour]
        self.job.listen(self.start.click, self._on_compare, [*session, self.model], changed, lambda session: session.stop(MAP))
        self.share.change(None, self.share, None, js=MORPH, **PRIVATE)

    def _on_models(self, session: Session, model: str, chosen: str | None) -> Any:
        """List the models that are available now; one that is chosen or typed, also meanwhile, stays unless it is the map's own."""
        others, own = other_models(self._bench, session, model), own_model(session, model)
        emptied: dict[str, Any] = {"value": None} if chosen and chosen == own else {}
        return gr.Dropdown(choices=others, info=ABOUT if others else NO_OTHER, **emptied)

    def _on_compare(self, session: Session, model: str | None) -> Iterator[Updates]:
        """Show progress, then morph the map to the other model's layout."""
        if not model:
            raise UserError("Choose the other model first.")
        yield {**self.job.busy(Markup()), self.share: gr.Slider(value=0, visible=False), self.summary: ""}
        for step in compare_model(self._bench, session, model):
            if step.result is None:
                yield {self.stage: html.progress(step.done, step.total, f"{step.stage} …", "Comparing")}
        corpus_map, updates = current_map(session), self.job.idle()
        if corpus_map.comparison is not None:
            updates |= {**self.shown(corpus_map, 1.0), self._colour: gr.Dropdown(choices=colouring.choices(corpus_map))}
        yield updates


class MapPanel:
    """The components. `compare`: the other model's map."""

    def __init__(self, bench: Workbench, session: gr.State, bridge: gr.HTML) -> None:
        with gr.Tabs(elem_id="map-panel") as self.tabs:
            with gr.Tab("Clusters", id=CLUSTERS):
                self.summary = gr.HTML(html.empty(view.NO_MAP), elem_id="map-summary", js_on_load=None)
                self.groups = gr.HTML(elem_id="map-clusters", js_on_load=LIST_SCRIPT)
                with gr.Accordion("How good are the clusters?", open=False, elem_id="map-numbers-box"):  # hidden as the toolbar
                    self.numbers = gr.HTML(elem_id="map-numbers", js_on_load=None)
            with gr.Tab("Selection", id=SELECTION):
                self.selection = gr.HTML(html.empty(view.NOTHING_CHOSEN), elem_id="map-selection", js_on_load=INSIDE)
            with gr.Tab("Compare", id=COMPARE) as compare:
                self.compare = ComparePanel(bench, session, bridge, compare)
