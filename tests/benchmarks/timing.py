"""Medians of rounds in which the sides alternate, so that whatever else the machine does falls on all of them."""

import time
from collections.abc import Callable, Mapping
from statistics import median

ROUNDS = 3


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternate(sides: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each side."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, work in sides.items():
            taken[name].append(seconds_of(work))
            print(f"  {name}: {taken[name][-1]:.2f} s", flush=True)
    return {name: median(values) for name, values in taken.items()}
