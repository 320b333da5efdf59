"""The endpoint on the whole corpus at once."""

from typing import Any

from gradio import events

from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError
from sbert_app.mapping.clusters import K_MEANS
from sbert_app.services.bundle import Services
from sbert_app.services.cluster_map import AUTO, Grouping
from sbert_app.ui.kit.events import handler


class MapEndpoints:
    """One method an endpoint. The docstrings are the API page."""

    def __init__(self, services: Services) -> None:
        self._sessions, self._service = services.bench.sessions, services.maps

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
        self._sessions.corpus(corpus)  # the id of a session without a corpus would draw the example
        grouping = Grouping.read(method, clusters, outliers)
        for step in self._service.draw(corpus, grouping):
            if isinstance(step, CorpusMap):
                return step.summary() | ({"places": step.places()} if places else {})
        raise UserError("Stopped: this corpus is drawn anew by another request.")


def build(services: Services) -> None:
    """Add the endpoint to the page that is being drawn."""
    events.api(handler(MapEndpoints(services).cluster_map), api_name="cluster_map", concurrency_limit=None)
