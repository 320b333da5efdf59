"""Keep cells on disk by the content of system and data set, so that a figure is measured once."""

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from sbert_app.grid.cell import Cell
from sbert_app.grid.data_sets import DataSet
from sbert_app.grid.systems import System
from sbert_app.storage import replacing

VERSION = 2  # of how cells are measured: another one makes all kept cells unknown
MOST_KEPT = 5_000  # cells, some 20 kB each


class CellStore:
    """One npz file for each cell. folder: None to keep nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, system: System, data: DataSet) -> Cell | None:
        """The cell if it is known, under the names that system and data set have now. A damaged file counts as unknown."""
        path = self._path(system, data)
        if path is None or not path.is_file():
            return None
        try:
            with np.load(path) as arrays:
                facts = json.loads(arrays["facts"].tobytes())
                cell = Cell(**facts, samples=arrays["samples"], predicted=arrays["predicted"])
        except Exception:  # numpy, zipfile and json raise a dozen types for a damaged file
            path.unlink(missing_ok=True)
            return None
        return replace(cell, system=system.name, model=system.model, data_set=data.name)

    def put(self, system: System, data: DataSet, cell: Cell) -> None:
        """Keep a cell. A failed write is left out: the cell is measured again next time."""
        path = self._path(system, data)
        if path is None:
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
