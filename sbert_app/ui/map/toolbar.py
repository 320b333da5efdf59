"""The line above the map: its corpus, what to find on it, its colours; filters, options and files open below it, over the map."""

from collections.abc import Mapping
from typing import Any

import gradio as gr
import numpy as np

from sbert_app.corpus_map import colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.jobs.map.job import AUTO, CLUSTER_MAP, DEFAULT_OUTLIERS
from sbert_app.jobs.map.kept import current_map
from sbert_app.mapping.clusters import METHODS
from sbert_app.runtime.session import Session
from sbert_app.tables import csv_file
from sbert_app.ui.corpus.filters import Filtering, Filters
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import Updates
from sbert_app.ui.kit.files import FileButton
from sbert_app.ui.kit.take_home import commands, input_of, pictures, present, row
from sbert_app.ui.map import view
from sbert_app.ui.map.chart import map_figure

ENTER = "Press Enter to apply a text, a number or a date. Rows outside the filter fade on the map."
PLOT = "map-plot"  # the element of the map
NONE: Mapping[str, Any] = {}  # no filters


class Toolbar:
    """The components. style.css shows most of them only where there is a map: Gradio loses a quick change of `visible`."""

    def __init__(self, session: gr.State) -> None:
        with gr.Row(elem_id="map-top"):
            self.corpus_line = gr.HTML(view.corpus_line(), elem_id="map-course", js_on_load=None)
            with gr.Row(elem_id="map-controls"):
                self.query = gr.Textbox(
                    label="Find on the map", placeholder="Find on the map: any words", max_lines=1, min_width=0, elem_id="map-query"
                )
                self.colour = gr.Dropdown(
                    [colouring.CLUSTERS], label="Colour by", min_width=0, allow_custom_value=True, elem_id="map-colour"
                )
                self.filter = MapFilters()
                self.all = gr.Button("Show all", size="sm", elem_id="map-all")
                self.export = ExportPanel(session, self.colour)
            self.options = ClusterControls()
            self.start = gr.Button(view.draw_label(None), variant="primary", size="sm", elem_id="map-draw")
            self.stop = gr.Button("Stop here", variant="stop", size="sm", visible=False, elem_id="map-stop")


def label(filters: Mapping[str, Any]) -> str:
    """On the menu of filters, with how many are in force."""
    return f"Filter: {len(filters)}" if filters else "Filter"


class MapFilters(Filters):
    """The menu that selects rows of the map by their metadata; not shown for a corpus that has only sentences."""

    def __init__(self) -> None:
        with gr.Accordion(label(NONE), open=False, visible=False, elem_id="map-filter", elem_classes="popover") as self.box:
            super().__init__("map-")
            gr.HTML(html.hint(ENTER), js_on_load=None)
        self.outputs.append(self.box)

    def offered(self, corpus_map: CorpusMap | None, filters: Mapping[str, Any] = NONE) -> Updates:
        """Offer the columns of the map's corpus, with these filters in force."""
        columns = corpus_map.projection.indexed.corpus.filter_columns if corpus_map else ()
        return {**self.show(Filtering(columns, filters)), self.box: gr.Accordion(label=label(filters), visible=len(columns) > 1)}


class ClusterControls:
    """The components. `values` has the order of ClusterOptions.read's arguments."""

    def __init__(self) -> None:
        with gr.Accordion("Options", open=False, elem_id="map-options", elem_classes="popover"):
            self.method = gr.Radio(
                list(METHODS), value=next(iter(METHODS)), label="Clustering method",
                info="HDBSCAN finds dense regions and their number, and leaves other rows as outliers.", elem_id="map-method",
            )  # fmt: skip
            self.count = gr.Textbox(
                AUTO, label="Number of clusters", info="auto: chosen by silhouette. Press Enter to apply a number.",
                max_lines=1, elem_id="map-count",
            )  # fmt: skip
            self.outliers = gr.Slider(
                0, 100, DEFAULT_OUTLIERS, step=1, label="Most outliers, % of the rows (HDBSCAN)",
                info="Outliers above this share are assigned to the nearest cluster.", elem_id="map-outliers",
            )  # fmt: skip
        self.values: list[Any] = [self.method, self.count, self.outliers]
        self.changes = [self.method.input, self.count.submit, self.outliers.change]  # after which the map is clustered again

    def set(self, method: str, count: int | None) -> Updates:
        """Show how a map was clustered. Not its outliers: setting their slider would cluster it again."""
        return {self.method: method, self.count: AUTO if count is None else str(count)}


class ExportPanel:
    """Files, made when their buttons are clicked, and links. `colour`: the column that colours the page."""

    def __init__(self, session: gr.State, colour: gr.Dropdown) -> None:
        with gr.Accordion("Export", open=False, elem_id="map-export", elem_classes="popover"):
            FileButton("sbert-studio-map.html", "map-page").listen(self._page, [session, colour])
            FileButton("sbert-studio-map.csv", "map-csv").listen(self._csv, [session])
            FileButton("sbert-studio-clusters.csv", "map-clusters-csv").listen(self._clusters, [session])
            in_menu = gr.HTML(elem_id="map-take-home", js_on_load=None)
        # Gradio takes a closed menu off the page: the twin stays there, for keep_session.js. style.css hides it, because
        # Gradio shows a component with visible="hidden" once the row around it was hidden and is shown again.
        self.links = [in_menu, gr.HTML(elem_id="map-kept", js_on_load=None)]

    def shown(self, corpus_map: CorpusMap) -> Updates:
        """Offer what belongs to this map."""
        copies = commands(CLUSTER_MAP, view.options(corpus_map), input_of(corpus_map.projection.indexed))
        links = row(view.caption(corpus_map), [PLOT], present(), pictures(PLOT, "sbert-studio-map"), copies)
        return dict.fromkeys(self.links, links)

    def _page(self, session: Session, column: str) -> str:
        corpus_map = current_map(session)
        return view.page(corpus_map, map_figure(corpus_map, column, texts=True))

    def _csv(self, session: Session) -> str:
        corpus_map = current_map(session)
        records = corpus_map.records(np.arange(len(corpus_map.projection.points)))
        return csv_file(records, corpus_map.projection.indexed.corpus.form.delimiter)

    def _clusters(self, session: Session) -> str:
        """A table of the clusters, with their rows by the values of each column."""
        corpus_map = current_map(session)
        sizes = [*corpus_map.clustering.sizes.tolist(), corpus_map.clustering.outliers]
        named = zip([*corpus_map.names, colouring.OUTLIERS], sizes, colouring.by_cluster(corpus_map), strict=True)
        records = [{"cluster": name, "rows": size, **columns} for name, size, columns in named if size]
        return csv_file(records, corpus_map.projection.indexed.corpus.form.delimiter)
