"""The result of a race: measured rates, and the times they imply for any number of sentences."""

from dataclasses import dataclass
from typing import Any, ClassVar

from sbert_app.evaluation.agreement import Agreement
from sbert_app.evaluation.verdict import Verdict
from sbert_app.timing.extrapolation import MOST_SPREAD, Extrapolation, Throughput, pairs_of, power_law
from sbert_app.timing.measurements import QueryTiming, SmallRun

CROSS, SBERT = "cross-encoder", "sbert"
MOST_SENTENCES = 1_000_000  # the largest number to extrapolate to
EXACT, APPROXIMATE = "exact index", "approximate index"


@dataclass(frozen=True)
class Conditions:
    """What was measured, on which machine, and when."""

    corpus: str
    sentences: int
    encoder: str
    cross_encoder: str
    head_trained: bool
    same_backbone: bool
    machine: str  # processor and cores
    hardware: str  # device and precision
    max_tokens: tuple[int, int]  # of a sentence, of a pair
    date: str
    notes: tuple[str, ...] = ()
    trained_for: str = ""  # the cross-encoder: "likeness", "answers" or, if unknown, ""
    sizes: tuple[str, str] = ("", "")  # of the encoder's and the cross-encoder's transformer, such as "6 layers of 384"


@dataclass(frozen=True)
class ClosestPair:
    """Two rows, row1 < row2, and their cosine. `ties`: number of pairs with this cosine, of which this is the first."""

    row1: int
    row2: int
    score: float
    ties: int


@dataclass(frozen=True)
class FoundPair:
    """The most similar pair by SBERT, and the seconds from strings to this answer with warm models."""

    pair: ClosestPair
    sentence1: str
    sentence2: str
    seconds: float


@dataclass(frozen=True)
class Rates:
    """How fast both systems are, here or in the paper, and the times that this implies for any number of sentences."""

    cross: Throughput  # pairs per second
    encode: Throughput  # sentences per second
    product: Throughput  # pairs per second of the all-pairs step
    queries: tuple[QueryTiming, ...] = ()

    def cross_seconds(self, sentences: int) -> Extrapolation:
        """Seconds of the cross-encoder for all pairs of n sentences."""
        return self.cross.seconds_for(pairs_of(sentences))

    def sbert_seconds(self, sentences: int) -> Extrapolation:
        """Seconds of SBERT for n sentences: each encoded once, then the all-pairs step."""
        return self.encode.seconds_for(sentences) + self.product.seconds_for(pairs_of(sentences))

    def query_seconds(self, kind: str, sentences: int) -> float | None:
        """Seconds of one search among n sentences, without encoding the query. kind: EXACT or APPROXIMATE."""
        seconds = [q.exact_seconds if kind == EXACT else q.approximate_seconds for q in self.queries]
        return power_law([q.rows for q in self.queries], seconds, sentences) if seconds else None

    def measured(self, lane: str) -> list[tuple[int, float]]:
        """(sentences, seconds) of the complete runs of a lane, small to large."""
        return []


@dataclass(frozen=True, kw_only=True)
class TimingResult(Rates):
    """All figures of one race; None or empty where it was stopped before."""

    conditions: Conditions
    answer: FoundPair | None = None
    runs: tuple[SmallRun, ...] = ()
    agreement: Agreement | None = None
    encode_one: float | None = None  # seconds to embed one query
    quality: Verdict | None = None  # on the visitor's labelled pairs, SBERT before, cross-encoder after
    waited: float = 0.0  # seconds of waiting for the device; not part of any figure
    stopped: bool = False
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    @property
    def disturbed(self) -> bool:
        """Whether something else used the processor during the race, so that it should be run again."""
        return max(self.cross.unevenness, self.encode.unevenness) > MOST_SPREAD

    def measured(self, lane: str) -> list[tuple[int, float]]:
        points = [(run.sentences, run.cross_seconds if lane == CROSS else run.sbert_seconds) for run in self.runs]
        if lane == SBERT and self.answer:
            points.append((self.conditions.sentences, self.answer.seconds))
        return sorted(dict(points).items())

    def summary(self, sentences: int) -> dict[str, Any]:
        """Plain JSON for scripts: rates with their spread, extrapolated seconds for n sentences, agreement."""
        answer = self.answer
        return {
            "sentences": sentences,
            "pairs": pairs_of(sentences),
            CROSS: _lane(self.cross, "pairs", self.cross_seconds(sentences)),
            SBERT: _lane(self.encode, "sentences", self.sbert_seconds(sentences)) | {"all_pairs_per_second": self.product.rate},
            "measured": {lane: self.measured(lane) for lane in (CROSS, SBERT)},
            "agreement": vars(self.agreement) if self.agreement else None,
            "query": {
                "encode_seconds": self.encode_one,
                "exact_seconds": self.query_seconds(EXACT, sentences),
                "approximate_seconds": self.query_seconds(APPROXIMATE, sentences),
            },
            "answer": answer
            and {  # without the rows: they are positions in the sample, not in the file
                "sentences": [answer.sentence1, answer.sentence2],
                "score": answer.pair.score,
                "seconds": answer.seconds,
            },
            "conditions": vars(self.conditions),
            "stopped": self.stopped,
            "disturbed": self.disturbed,
        }


def _lane(throughput: Throughput, items: str, extrapolated: Extrapolation) -> dict[str, Any]:
    return {
        f"{items}_per_second": throughput.rate,
        "slowest_turn": throughput.spread[0],
        "fastest_turn": throughput.spread[1],
        "turns": len(throughput.turns),
        f"{items}_measured": throughput.items,
        "extrapolated_seconds": extrapolated.seconds,
        "band_95": None if extrapolated.low is None else [extrapolated.low, extrapolated.high],
    }
