"""The grid so far: its systems and data sets, and of each cell the figure, why there is none, or nothing yet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sbert_app.evaluation.metrics import MetricEstimate, interval
from sbert_app.evaluation.verdict import LEAST_HELD_OUT
from sbert_app.grid.cell import Cell
from sbert_app.grid.data_set import RETRIEVAL, UNITS, DataSet

SEEN = "{} was trained on {:,} of the {:,} pairs of {}: its figure there says nothing about new pairs."
SEEN_SHARE = 0.01  # of a data set's pairs: fewer hardly change a figure, and even published parts share a few
SEEN_MARK = "†"  # beside such a figure
ALL_PAIRS = 10_000  # sentences, as in the paper
ALL_TEXTS = "queries and documents"  # the time of a ranking is that of reading both
Place = tuple[str, int]  # a system's name and a data set's number


@dataclass(frozen=True)
class Grid:
    """Systems in rows, data sets in columns."""

    systems: tuple[str, ...]  # their names
    data_sets: tuple[DataSet, ...]
    cells: dict[Place, Cell | str] = field(default_factory=dict)  # figures, or the reason why a system has none
    unreadable: tuple[str, ...] = ()  # names of data sets that could not be read, and why

    @property
    def places(self) -> list[Place]:
        """All cells in the order in which they are filled: a data set after the other."""
        return [(system, number) for number in range(len(self.data_sets)) for system in self.systems]

    @property
    def empty(self) -> list[Place]:
        """The cells that are still to be filled, in that order."""
        return [place for place in self.places if place not in self.cells]

    @property
    def complete(self) -> bool:
        return not self.empty

    @cached_property
    def measured(self) -> dict[Place, Cell]:
        """The cells with a figure."""
        return {place: cell for place in self.places if isinstance(cell := self.cells.get(place), Cell)}

    def missing(self, system: str) -> str:
        """Why a system has no figure at all, where it is one reason for every data set; "" otherwise."""
        cells = [self.cells.get((system, number)) for number in range(len(self.data_sets))]
        return cells[0] if isinstance(cells[0], str) and len(set(map(str, cells))) == 1 else ""

    def figures(self, number: int) -> dict[str, Cell]:
        """The figures of one data set by system, best first."""
        column = [(system, cell) for (system, n), cell in self.measured.items() if n == number]
        return dict(sorted(column, key=lambda item: -item[1].value))

    def level(self, number: int) -> list[str]:
        """The best system of a data set, and those whose difference from it may be chance, best first; all of too few examples."""
        few = self.is_small(number)
        figures = {name: cell for name, cell in self.figures(number).items() if not self.was_seen(cell, number)}
        best = next(iter(figures.values()), None)
        return [name for name, cell in figures.items() if best and (few or cell is best or difference(best, cell).low <= 0)]

    def is_small(self, number: int) -> bool:
        """Whether a data set has too few examples to tell systems apart: resamples of one query are all alike."""
        return self.data_sets[number].size < LEAST_HELD_OUT

    def was_seen(self, cell: Cell, number: int) -> bool:
        """Whether the system was trained on more than a few of the data set's pairs."""
        return cell.seen > SEEN_SHARE * self.data_sets[number].size

    def seen(self, named: Callable[[str], str] = str) -> list[str]:
        """Which figures say nothing about new sentences, and why. named: how a system is called."""
        return [
            f"{SEEN_MARK} {SEEN.format(named(system), cell.seen, data.size, data.name)}"
            for number, data in enumerate(self.data_sets)
            for system, cell in self.figures(number).items()
            if self.was_seen(cell, number)
        ]

    @property
    def common(self) -> list[int]:
        """The data sets that means are taken over: every system has a figure that has one at all, and none was trained on them."""
        able = {system for system, _ in self.measured}
        columns = {number: self.figures(number) for number in range(len(self.data_sets))}
        whole = [number for number, column in columns.items() if able and able == set(column)]
        return [number for number in whole if not any(self.was_seen(cell, number) for cell in columns[number].values())]

    @property
    def like(self) -> list[int]:
        """Of the data sets in `common` those with the measure that most of them have, the first such measure."""
        measures = {number: self.data_sets[number].measure for number in self.common}
        most = max(measures.values(), key=list(measures.values()).count, default="")
        return [number for number, measure in measures.items() if measure == most]

    def means(self) -> dict[str, float]:
        """Each system's mean of one measure over the data sets in `like`; empty where there are none."""
        columns = [self.figures(number) for number in self.like]
        systems = columns[0] if columns else {}
        return {system: float(np.mean([column[system].value for column in columns])) for system in systems}

    @property
    def _timed(self) -> list[int]:
        """The data sets that speeds are measured on: of one unit, each with a figure of every system that has one in that unit."""
        best: tuple[int, list[int]] = 0, []
        for unit in dict.fromkeys(UNITS.values()):
            columns = {n: set(self.figures(n)) for n, data in enumerate(self.data_sets) if UNITS[data.task] == unit}
            able = set[str]().union(*columns.values())
            whole = [number for number, systems in columns.items() if systems == able]
            if whole and len(able) > best[0]:  # the unit with the most systems, pairs first
                best = len(able), whole
        return best[1]

    @property
    def unit(self) -> str:
        """What `speed` counts, such as "pairs"; "" before there is a figure."""
        task = next((self.data_sets[number].task for number in self._timed), "")
        return ALL_TEXTS if task == RETRIEVAL else UNITS.get(task, "")

    def speed(self, system: str) -> float:
        """Examples a second, the same examples for each system; 0 where it has none, or was too quick to measure."""
        cells = [(cell, self.data_sets[number]) for number in self._timed if (cell := self.measured.get((system, number)))]
        examples = sum(cell.sentences / (1 if data.task == RETRIEVAL else len(data.columns)) for cell, data in cells)
        seconds = sum(cell.seconds for cell, _ in cells)
        return examples / seconds if seconds > 0 else 0.0

    def all_pairs_seconds(self, system: str) -> float | None:
        """Seconds for comparing ALL_PAIRS sentences all with all, extrapolated from `speed`; None where it does not say."""
        speed, columns = self.speed(system), max((len(self.data_sets[number].columns) for number in self._timed), default=0)
        if not speed or self.unit == ALL_TEXTS:
            return None
        if any(cell.apart for (name, number), cell in self.measured.items() if name == system and number in self._timed):
            return ALL_PAIRS / (speed * columns)  # it reads each sentence once; its cosines are left out
        return ALL_PAIRS * (ALL_PAIRS - 1) / 2 / (speed * (columns - 1))

    def seconds_left(self) -> float | None:
        """The time that the empty cells will take, by each system's speed so far; None before every system has been measured."""
        sentences, seconds = dict.fromkeys(self.systems, 0), dict.fromkeys(self.systems, 0.0)
        for (system, _), cell in self.measured.items():
            sentences[system] += cell.sentences
            seconds[system] += cell.seconds
        if any(not sentences[system] for system, _ in self.empty):
            return None
        return sum(
            seconds[system] / sentences[system] * sum(map(len, self.data_sets[number].columns)) for system, number in self.empty
        )


def difference(first: Cell, second: Cell) -> MetricEstimate:
    """How much higher the first cell is than the second, on the same resamples, with its 95 % interval."""
    return interval(first.value - second.value, (first.samples - second.samples).astype(np.float64))
