"""Clustering options: method, number of clusters, accepted outliers."""

from typing import Any

import gradio as gr

from sbert_app.mapping.clusters import METHODS
from sbert_app.services.corpus.cluster_map import AUTO, DEFAULT_OUTLIERS
from sbert_app.ui.kit.events import Updates


class MapOptions:
    """The components. `values` has the order of Grouping.read's arguments."""

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

    @property
    def values(self) -> list[Any]:
        return [self.method, self.count, self.outliers]

    def set(self, method: str, count: int | None) -> Updates:
        """Show how a map was clustered. Not its outliers: setting their slider would cluster it again."""
        return {self.method: method, self.count: AUTO if count is None else str(count)}

    @property
    def changes(self) -> list[Any]:
        """The events after which the map is clustered again."""
        return [self.method.input, self.count.submit, self.outliers.change]
