"""How much of its speed does an engine keep beside other programs? Processes that compute without pause, on every machine alike."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np

from sbert_app.models.encoder import Encoder
from tests.benchmarks.timing import ROUNDS, milliseconds, seconds_of

OTHERS = (0, 1, 2)  # processes at full load
QUERIES = 50  # a round
QUERY = "How do I change the address of my order?"  # ten tokens and the two special ones


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many other processes at full load."""
    children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def beside_others(ours: Mapping[str, Encoder], sentences: Sequence[str]) -> dict[str, Any]:
    """By side and number of other processes: sentences/s, the share of the undisturbed rate, milliseconds of one query."""
    seconds: dict[str, dict[int, list[float]]] = {name: {count: [] for count in OTHERS} for name in ours}
    queries: dict[str, dict[int, list[float]]] = {name: {count: [] for count in OTHERS} for name in ours}
    for _ in range(ROUNDS):
        for count in OTHERS:
            with busy(count):
                for name, encoder in ours.items():
                    encoder.encode([QUERY])
                    queries[name][count] += milliseconds(encoder.encode, [[QUERY]] * QUERIES)
                    seconds[name][count].append(seconds_of(lambda e=encoder: e.encode(sentences)))
                    print(f"  {name} beside {count}: {seconds[name][count][-1]:.2f} s", flush=True)
    return {name: _summary(len(sentences), seconds[name], queries[name]) for name in ours}


def _summary(count: int, seconds: dict[int, list[float]], queries: dict[int, list[float]]) -> dict[str, Any]:
    undisturbed = median(seconds[0])
    return {
        f"beside {others}": {
            "sentences_per_second": count / median(seconds[others]),
            "share_of_undisturbed": undisturbed / median(seconds[others]),
            "query_milliseconds_p50_p99": np.percentile(queries[others], (50, 99)).tolist(),
        }
        for others in OTHERS
    }
