"""Tell from the turns of a race whether something else used the processor.

Compared are batches per second, not sentences: batches of long sentences hold fewer, so that all batches take about as long.
"""

import numpy as np
from numpy.typing import ArrayLike

from sbert_app.timing.throughput import Throughput

MOST_SPREAD = 2.0  # fastest turn ÷ slowest turn; undisturbed turns stay below 1.9, even of one batch each
LEAST_SHARE = 0.5  # of the median turn's seconds: a shorter turn, such as one cut off at the end, is left out
DISTURBED = "Something else used the processor during this race: close other programs and race again."


def spread(batches: ArrayLike, seconds: ArrayLike) -> float:
    """Batches per second of the fastest turn divided by those of the slowest; 1 for a single turn.

    batches, seconds: of each turn, (n,). Turns shorter than half the median turn are left out.
    """
    lengths = np.asarray(seconds, dtype=float)
    comparable = lengths >= LEAST_SHARE * np.median(lengths)
    rates = np.asarray(batches, dtype=float)[comparable] / lengths[comparable]
    return float(rates.max() / rates.min())


def turn_spread(throughput: Throughput) -> float:
    """The `spread` of a system's turns but the first, which also computes the batches that the second one fetches."""
    turns = throughput.turns[1:] or throughput.turns
    return spread([turn.batches for turn in turns], [turn.seconds for turn in turns])


def disturbed(*systems: Throughput) -> bool:
    """Whether the turns of one system differ in speed by more than a factor of MOST_SPREAD."""
    return any(turn_spread(system) > MOST_SPREAD for system in systems)
