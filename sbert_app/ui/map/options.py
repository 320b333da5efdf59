"""How the map is grouped: method, number of clusters, outliers that are accepted."""

from typing import Any

import gradio as gr

from sbert_app.mapping.clusters import METHODS
from sbert_app.services.cluster_map import AUTO, DEFAULT_OUTLIERS


class MapOptions:
    """The components; `values` go to Grouping.read in this order."""

    def __init__(self) -> None:
        with gr.Accordion("Options", open=False, elem_id="map-options"):
            self.method = gr.Radio(
                list(METHODS), value=next(iter(METHODS)), label="Clusters by",
                info="HDBSCAN finds dense regions, as many as there are, and leaves the rest as outliers.", elem_id="map-method",
            )  # fmt: skip
            self.count = gr.Textbox(
                AUTO, label="Number of clusters", info="“auto” takes what the silhouette favours. Enter applies a number.",
                max_lines=1, elem_id="map-count",
            )  # fmt: skip
            self.outliers = gr.Slider(
                0, 100, DEFAULT_OUTLIERS, step=1, label="Outliers, at most % of the rows (HDBSCAN)",
                info="What is more joins the cluster of the nearest row, nearest first.", elem_id="map-outliers",
            )  # fmt: skip

    @property
    def values(self) -> list[Any]:
        return [self.method, self.count, self.outliers]

    @property
    def changes(self) -> list[Any]:
        """The events after which the map is grouped anew."""
        return [self.method.input, self.count.submit, self.outliers.change]
