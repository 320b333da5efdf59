"""Medians of rounds in which the sides alternate, so that other load falls on all of them; tables in Markdown."""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TypeVar

ROUNDS = 3

Item = TypeVar("Item")
Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")
Setting = TypeVar("Setting", bound=Hashable)


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def milliseconds(work: Callable[[Item], object], items: Iterable[Item]) -> list[float]:
    """Of the work on each item."""
    return [1e3 * seconds_of(lambda item=item: work(item)) for item in items]


def in_turns(sides: Mapping[Name, Callable[[], Result]], rounds: int = ROUNDS) -> dict[Name, list[Result]]:
    """What each side gives in each round."""
    results: dict[Name, list[Result]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, work in sides.items():
            start = time.perf_counter()
            results[name].append(work())
            print(f"  {name}: {time.perf_counter() - start:.2f} s", flush=True)
    return results


def alternate(sides: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each side."""
    timed = {name: partial(seconds_of, work) for name, work in sides.items()}
    return {name: median(seconds) for name, seconds in in_turns(timed, rounds).items()}


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
