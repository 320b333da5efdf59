"""The times that the paper gives for one search of the most similar pair, extrapolated to other numbers of sentences."""

from sbert_app.evaluation import paper
from sbert_app.timing.extrapolation import Extrapolation, pairs_of
from sbert_app.timing.queries import QueryTiming
from sbert_app.timing.result import CROSS, SBERT

PAIRS = pairs_of(paper.CLOSEST_PAIR_SENTENCES)


class Published:
    """What the page shows before anything is measured; it has no measured runs."""

    queries: tuple[QueryTiming, ...] = ()

    def cross_seconds(self, sentences: int) -> Extrapolation:
        """Seconds of BERT for all pairs: in proportion to the pairs."""
        return Extrapolation(paper.CLOSEST_PAIR_SECONDS[CROSS] * pairs_of(sentences) / PAIRS)

    def sbert_seconds(self, sentences: int) -> Extrapolation:
        """Seconds of SBERT: encoding in proportion to the sentences, cosines in proportion to the pairs."""
        encoding = paper.CLOSEST_PAIR_SECONDS[SBERT] * sentences / paper.CLOSEST_PAIR_SENTENCES
        return Extrapolation(encoding + paper.CLOSEST_PAIR_COSINES * pairs_of(sentences) / PAIRS)

    def measured(self, lane: str) -> list[tuple[int, float]]:
        return []

    def query_seconds(self, kind: str, sentences: int) -> float | None:
        return None
