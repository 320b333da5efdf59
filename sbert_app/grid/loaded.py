"""The systems of one run over a grid: each is loaded at its first use, and stops where the run is stopped."""

from sbert_app.errors import UserError
from sbert_app.grid.loading import load_system
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import Choice, System
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench


class Systems:
    """By name; one that cannot be loaded is not tried again."""

    def __init__(self, bench: Workbench, grid: Grid, choice: Choice, stop: Stop) -> None:
        self._bench, self._grid, self._choice, self.stop = bench, grid, choice, stop
        self._loaded: dict[str, System | UserError] = {}

    def get(self, name: str) -> System:
        """The system of that name. Raises UserError if it cannot be loaded."""
        if name not in self._loaded:
            texts = [column for data in self._grid.data_sets for column in data.columns]
            try:
                self._loaded[name] = load_system(self._bench, name, self._choice, texts, self.stop.tick)
            except UserError as error:
                self._loaded[name] = error
        system = self._loaded[name]
        if isinstance(system, UserError):
            raise system
        return system

    def loaded(self, name: str) -> System | None:
        """The system of that name if it was loaded before."""
        system = self._loaded.get(name)
        return system if isinstance(system, System) else None
