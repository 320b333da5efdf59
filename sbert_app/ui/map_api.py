"""The endpoint on the whole corpus at once."""

from typing import Any

from gradio import events

from sbert_app.errors import UserError
from sbert_app.mapping.clusters import K_MEANS
from sbert_app.services.cluster_map import AUTO, Grouping, MapService
from sbert_app.services.map_result import CorpusMap
from sbert_app.services.workbench import Workbench
from sbert_app.ui.events import ENDED, handler


class MapEndpoints:
    """One method an endpoint. The docstrings are the API page."""

    def __init__(self, bench: Workbench, service: MapService) -> None:
        self._bench, self._service = bench, service

    def cluster_map(
        self, corpus: str, clusters: str = AUTO, method: str = K_MEANS, outliers: float = 10, places: bool = True
    ) -> dict[str, Any]:
        """Draw an indexed corpus in two dimensions, find its clusters and name them.

        Args:
            corpus: The id that /index_corpus returned.
            clusters: Number of clusters, or "auto": as many as the silhouette favours.
            method: "k-means", "agglomerative" or "HDBSCAN".
            outliers: Per cent of the rows that HDBSCAN may leave without a cluster.
            places: Whether to send every row's place and cluster too.

        Returns:
            points (their number), clusters (name, size, keywords, central sentence, silhouette), outliers, how, silhouette,
            accords with label columns (purity, ari, nmi), projection, notes, seconds by stage, and places: row counted from 1,
            x, y, cluster (-1: outlier).
        """
        self._bench.corpus_of(corpus)  # the id of a session without a corpus would draw the example
        grouping = Grouping.read(method, clusters, outliers)
        for step in self._service.draw(corpus, grouping):
            if isinstance(step, CorpusMap):
                return step.summary() | ({"places": step.places()} if places else {})
        raise UserError(ENDED)


def build(bench: Workbench, service: MapService) -> None:
    """Add the endpoint to the page that is being drawn."""
    events.api(handler(MapEndpoints(bench, service).cluster_map), api_name="cluster_map")
