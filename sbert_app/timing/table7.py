"""The paper's Table 7 on this machine: sentences per second of average word vectors, of SBERT, and with smart batching."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sbert_app.timing.lane import Device, Lane
from sbert_app.timing.throughput import Throughput

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

PLAIN_BATCH = 32  # sentences, a usual batch size
TURNS, TURN_SECONDS = 5, 0.5
WORDS, PLAIN, SMART = "Average word vectors", "SBERT", "SBERT, smart batching"


@dataclass(frozen=True)
class SystemSpeed:
    """One row: sentences per second of a system on a device."""

    system: str
    device: str
    throughput: Throughput


def measure_systems(encoder: "Encoder", sentences: Sequence[str], device: Device) -> Iterator[list[SystemSpeed]]:
    """Measure the systems in turns on the same sentences; yields the rows so far after each round."""
    from sbert_app.models.baselines import AverageWordVectors, plain_stream

    words = AverageWordVectors(encoder)
    lanes = {
        WORDS: _lane(sentences, lambda: words.stream(sentences), device, encoder),
        PLAIN: _lane(sentences, lambda: plain_stream(encoder, sentences, PLAIN_BATCH), device, encoder),
        SMART: _lane(sentences, lambda: encoder.stream(sentences), device, encoder),
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
                rows.append(SystemSpeed(system, encoder.runs_on, throughput))
        yield rows


def _lane(sentences: Sequence[str], stream: Callable[[], Iterator[tuple[Any, Any]]], device: Device, encoder: "Encoder") -> Lane:
    return Lane(len(sentences), lambda: (len(rows) for rows, _ in stream()), device, encoder.engine.settle)
