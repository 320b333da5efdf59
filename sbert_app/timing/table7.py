"""The paper's Table 7 on this machine: sentences a second of average word vectors and of SBERT, without and with smart batching."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sbert_app.models.baselines import AverageWordVectors, plain_stream
from sbert_app.models.encoder import Encoder
from sbert_app.timing.lane import Device, Lane
from sbert_app.timing.throughput import Throughput

PLAIN_BATCH = 32  # sentences; what most code takes
TURNS, TURN_SECONDS = 5, 0.5
WORDS, PLAIN, SMART = "Average word vectors", "SBERT", "SBERT, smart batching"


@dataclass(frozen=True)
class SystemSpeed:
    """One row: a system on a device, sentences a second."""

    system: str
    device: str
    throughput: Throughput


def measure_systems(encoder: Encoder, sentences: Sequence[str], device: Device) -> Iterator[list[SystemSpeed]]:
    """Let the systems take turns over the same sentences; yields the rows as they stand after each round."""
    words = AverageWordVectors(encoder)
    lanes = {
        WORDS: _lane(sentences, lambda: words.stream(sentences), device),
        PLAIN: _lane(sentences, lambda: plain_stream(encoder, sentences, PLAIN_BATCH), device),
        SMART: _lane(sentences, lambda: encoder.stream(sentences), device),
    }
    for lane in lanes.values():
        lane.advance()  # warm-up
        lane.reset()
    for _ in range(TURNS):
        rows = []
        for system, lane in lanes.items():
            for _ in lane.turn(TURN_SECONDS):
                pass
            if (throughput := lane.throughput()) is not None:
                rows.append(SystemSpeed(system, str(encoder.hardware), throughput))
        yield rows


def _lane(sentences: Sequence[str], stream: Callable[[], Iterator[tuple[Any, Any]]], device: Device) -> Lane:
    return Lane(len(sentences), lambda: (len(rows) for rows, _ in stream()), device)
