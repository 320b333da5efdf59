"""One cell of the grid: how well a system does on a data set; kept on disk, so that a figure is measured once."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.evaluation.metrics import interval
from sbert_app.grid.data_set import DataSet, Mistake, TaskResult
from sbert_app.grid.systems import System
from sbert_app.storage import replacing

VERSION = 2  # of how cells are measured: another one makes all kept cells unknown
MOST_KEPT = 5_000  # cells, some 20 kB each


@dataclass(frozen=True, kw_only=True)
class Cell(TaskResult):
    """A system on a data set. value, low, high: the main measure and its 95 % interval, as fractions."""

    system: str
    model: str
    data_set: str
    task: str
    value: float
    low: float
    high: float
    day: str
    apart: bool = False  # reads each sentence on its own, not pairs

    @property
    def measure(self) -> str:
        """The name of the main measure."""
        return next(iter(self.measures))

    def facts(self) -> dict[str, Any]:
        """All but the arrays, as plain JSON."""
        return {name: value for name, value in vars(self).items() if name not in ("samples", "predicted")}


def measure_cell(system: System, data: DataSet, tick: Callable[[], None] = lambda: None) -> Cell:
    """Measure a system on a data set. tick: called between steps, may raise. Raises UserError if the system cannot do the task."""
    result = data.run(system, tick)
    as_stored = {name: getattr(result, name).astype(np.float32) for name in ("samples", "predicted")}
    return Cell(
        system=system.name,
        model=system.model,
        data_set=data.name,
        task=data.task,
        day=date.today().isoformat(),
        apart=system.apart,
        **vars(interval(result.measures[data.measure], result.samples.astype(np.float64))),
        **vars(result) | as_stored,
    )


def mistakes(data: DataSet, cell: Cell, most: int, better: Cell | None = None) -> list[Mistake]:
    """The examples that are furthest from their right answer, worst first. better: on which this other system is closer by most."""
    predicted = cell.predicted.astype(np.float64)
    away = data.distances(predicted) - (data.distances(better.predicted.astype(np.float64)) if better else 0.0)
    return [data.example(predicted, int(row)) for row in np.argsort(-away, kind="stable")[:most] if away[row] > 0]


class CellStore:
    """One npz file for each cell. folder: None to keep nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, system: System, data: DataSet) -> Cell | None:
        """The cell if it is known, under the names that system and data set have now. A damaged file counts as unknown."""
        if (path := self._path(system, data)) is None or not path.is_file():
            return None
        try:
            with np.load(path) as arrays:
                cell = Cell(**json.loads(arrays["facts"].tobytes()), samples=arrays["samples"], predicted=arrays["predicted"])
        except Exception:  # numpy, zipfile and json raise a dozen types for a damaged file
            with suppress(OSError):
                path.unlink()
            return None
        return replace(cell, system=system.name, model=system.model, data_set=data.name)

    def put(self, system: System, data: DataSet, cell: Cell) -> None:
        """Keep a cell. A failed write is left out: the cell is measured again next time."""
        if (path := self._path(system, data)) is None:
            return
        facts = np.frombuffer(json.dumps(cell.facts()).encode(), np.uint8)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary, temporary.open("wb") as file:
                np.savez(file, facts=facts, samples=cell.samples, predicted=cell.predicted)
            self._trim(path.parent)

    def _path(self, system: System, data: DataSet) -> Path | None:
        if self._folder is None:
            return None
        key = f"{VERSION} {system.identity} {data.digest}"
        return self._folder / f"{hashlib.blake2b(key.encode(), digest_size=12).hexdigest()}.npz"

    def _trim(self, folder: Path) -> None:
        files = list(folder.glob(f"{'[0-9a-f]' * 24}.npz"))
        if len(files) > MOST_KEPT:
            for path in sorted(files, key=lambda path: path.stat().st_mtime)[: MOST_KEPT // 10]:
                path.unlink(missing_ok=True)
