"""Medians of rounds in which the sides alternate, so that other load falls on all of them; tables in Markdown."""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import TypeVar

ROUNDS = 3

Item = TypeVar("Item")
Setting = TypeVar("Setting", bound=Hashable)


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def milliseconds(work: Callable[[Item], object], items: Iterable[Item]) -> list[float]:
    """Of the work on each item."""
    return [1e3 * seconds_of(lambda item=item: work(item)) for item in items]


def alternate(sides: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each side."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, work in sides.items():
            taken[name].append(seconds_of(work))
            print(f"  {name}: {taken[name][-1]:.2f} s", flush=True)
    return {name: median(values) for name, values in taken.items()}


def fastest(settings: Iterable[Setting], work: Callable[[Setting], object]) -> Setting:
    """The setting in which the work takes least, the second run of each counting."""
    seconds = {}
    for setting in settings:
        work(setting)
        seconds[setting] = seconds_of(lambda setting=setting: work(setting))
    print(f"  sweep: {seconds}", flush=True)
    return min(seconds, key=lambda setting: seconds[setting])


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a table, as its rows come; all columns but the first are figures."""
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def show(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table."""
    print()
    for line in markdown(head, rows):
        print(line, flush=True)
