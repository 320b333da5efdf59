"""Fill a grid of systems and data sets cell by cell, for a page, an endpoint or the shell; keep it in the visitor's session."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.grid.cell import Cell, CellStore, measure_cell
from sbert_app.grid.data_sets import DataSet, plain_name, read_data_set, read_folder
from sbert_app.grid.loading import Systems
from sbert_app.grid.result import Grid, Place
from sbert_app.grid.systems import Choice, check_names
from sbert_app.grid.tasks.chosen import by_tasks, check_tasks, own_data_sets
from sbert_app.labelled.queries import CorpusRows
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop, StoppedError
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.tables import Table, read_table

if TYPE_CHECKING:
    from sbert_app.models.files.listing import ModelInfo

JOB = "evaluation"  # the session's name for a run
MOST_UPLOADED = 20  # data sets of one visitor
MOST_SYSTEMS = 20


@dataclass(frozen=True)
class Uploaded:
    """The data sets that a visitor has uploaded, oldest first."""

    data_sets: tuple[DataSet, ...] = ()


@dataclass(frozen=True)
class ShownGrid:
    """A visitor's grid, complete or not, and the models it is made with."""

    grid: Grid
    choice: Choice


@dataclass(frozen=True)
class Halted:
    """The visitor pressed Stop: a reload does not go on."""


@dataclass(frozen=True)
class Progress:
    """The grid so far. place: the cell that is being measured; waiting: what for, before the first one."""

    grid: Grid
    place: Place | None = None
    waiting: str = ""


class GridService:
    """All state is in the visitor's session. Hosted, no cell is kept on disk: its speed would tell others what was measured."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._store = CellStore(None if workbench.settings.hosted else workbench.settings.cache / "evaluations")

    def upload(self, session: Session, path: Path, name: str) -> DataSet:
        """Read a file and add it to the visitor's data sets, replacing one of the same name. Raises UserError.

        Judged queries are ranked over the open corpus.
        """
        limits = self._bench.settings.limits
        corpus = session.get(IndexedCorpus)
        rows = CorpusRows(corpus.corpus.name, corpus.corpus.sentences, corpus.corpus.rows) if corpus else None
        data = read_data_set(read_table(path, limits, name), limits, plain_name(name), corpus=rows)

        def added(before: Uploaded | None) -> Uploaded:
            others = [other for other in (before or Uploaded()).data_sets if other.name != data.name]
            if len(others) >= MOST_UPLOADED:
                raise UserError(f"You have {MOST_UPLOADED} data sets, the most that are kept. Reload the page to begin anew.")
            return Uploaded((*others, data))

        session.update(Uploaded, added)
        return data

    def data_sets(self, session: Session) -> dict[str, DataSet]:
        """By name: those that come with the app, and the visitor's own."""
        return self.own() | {data.name: data for data in self._uploaded(session)}

    def choose(self, session: Session, systems: Sequence[str], names: Sequence[str]) -> Grid:
        """An empty grid of these systems and data sets. Raises UserError for unknown ones, for none, and for too many."""
        known, names, systems = self.data_sets(session), *map(validation.names, (names, systems), ("data sets", "systems"))
        if unknown := [name for name in names if name not in known]:
            raise UserError(f"There is no data set {unknown[0]!r}. Must be one of {', '.join(known)}.")
        if not names or not systems:
            raise UserError("Choose at least one system and one data set.")
        if len(systems) > MOST_SYSTEMS:
            raise UserError(f"{len(systems)} systems are chosen, at most {MOST_SYSTEMS} fit a grid.")
        check_names(self._bench, systems)
        return Grid(tuple(dict.fromkeys(systems)), tuple(known[name] for name in dict.fromkeys(names)))

    def of_table(self, table: Table, systems: Sequence[str], tasks: Sequence[str] = (), quick: bool = False) -> Grid:
        """An empty grid of one file's data set, asked for these tasks if there are any. Raises UserError as `of_folder`."""
        check_names(self._bench, systems)
        check_tasks(tasks)
        data = read_data_set(table, self._bench.settings.limits, plain_name(table.name))
        if not (data_sets := by_tasks(data, tasks, quick)):
            raise UserError(f"'{table.name}' is data for the task {data.task}, not for {' or '.join(tasks)}.")
        return Grid(tuple(dict.fromkeys(systems)), tuple(data_sets))

    def of_folder(self, folder: Path, systems: Sequence[str], tasks: Sequence[str] = (), quick: bool = False) -> Grid:
        """An empty grid of a folder's data sets, of those with these tasks if there are any. Raises UserError without any set.

        quick: classes are learnt by the quick form of transfer.
        """
        check_names(self._bench, systems)
        check_tasks(tasks)
        read = list(read_folder(folder, self._bench.settings.limits))
        data_sets = tuple(each for data in read if isinstance(data, DataSet) for each in by_tasks(data, tasks, quick))
        unreadable = tuple(str(error) for error in read if isinstance(error, UserError))
        if not data_sets:
            raise UserError(f"'{folder.name}' has no data set to measure. {' '.join(unreadable)}".strip())
        return Grid(tuple(dict.fromkeys(systems)), data_sets, unreadable=unreadable)

    def fill(self, grid: Grid, choice: Choice, stop: Stop) -> Iterator[Progress]:
        """Fill the empty cells of a grid, after waiting in the queue.

        A cell that was measured before on this machine is taken from the store. A system that cannot be loaded or cannot do a task
        has the reason in its cells. Raises UserError for an unknown system.
        """
        check_names(self._bench, grid.systems)
        with self._bench.lines.corpora.join(stop) as waiting:
            yield from (Progress(grid, waiting=place_in_line(before, "job")) for before in waiting)
            try:
                yield from self._fill(grid, Systems(self._bench, grid, choice, stop))
            finally:
                self._bench.registry.release()

    def _fill(self, grid: Grid, systems: Systems) -> Iterator[Progress]:
        for place in grid.places:
            if systems.stop.is_set():
                return
            if place in grid.cells:
                continue
            stored = self._stored(grid, place, systems)
            if stored is None:
                yield Progress(grid, place)
            grid = grid.with_cell(place, stored) if stored else self._with_cell(grid, place, systems)
        yield Progress(grid)

    def fill_session(self, session: Session, grid: Grid, choice: Choice) -> Iterator[Progress]:
        """Fill a grid for a page; the session keeps it after each cell, so that a reload finds it. See `fill`."""
        stop = session.begin(JOB)
        session.drop(Halted)
        for step in self.fill(grid, choice, stop):
            if not session.put(ShownGrid(step.grid, choice), stop):
                return
            yield step

    def stop(self, session: Session) -> None:
        """Stop filling the grid of this session."""
        session.put(Halted())
        session.stop(JOB)

    def shown(self, session: Session) -> ShownGrid | None:
        """The grid of this session, complete or not; None if there is none."""
        return session.get(ShownGrid)

    def unfinished(self, session: Session) -> ShownGrid | None:
        """The grid to go on with, because the page was left before it was complete; None if the visitor stopped it."""
        current = self.shown(session)
        return current if current and not current.grid.complete and session.get(Halted) is None else None

    @property
    def allowed_models(self) -> list[str]:
        """Those of `models` that the settings name: known before torch is imported."""
        return list(self._bench.settings.allowed_models)

    def models(self) -> "list[ModelInfo]":
        """The trained models that can be a row of their own: the default ones have one already."""
        known = (info for info in self._bench.registry.list() if info.available and info.origin not in ("bundled", "untrained"))
        return [info for info in known if info.kind == "encoder" or info.scores_pairs]

    def own(self) -> dict[str, DataSet]:
        """The data sets that come with the app, by name."""
        return {data.name: data for data in own_data_sets(self._bench.settings.limits)}

    def _stored(self, grid: Grid, place: Place, systems: Systems) -> Cell | None:
        """The figure of this cell if it was measured before; None also if the system is not loaded yet, which takes a while."""
        system = systems.loaded(place[0])
        return self._store.get(system, grid.data_sets[place[1]]) if system else None

    def _with_cell(self, grid: Grid, place: Place, systems: Systems) -> Grid:
        """The grid with a figure in this cell, or with the reason why there is none; as it was if the work was stopped."""
        data = grid.data_sets[place[1]]
        try:
            system = systems.get(place[0])
            cell: Cell | str | None = self._store.get(system, data)
            if cell is None:
                cell = measure_cell(system, data, systems.stop.tick)
                self._store.put(system, data, cell)
        except StoppedError:
            return grid
        except UserError as error:
            cell = str(error)
        return grid.with_cell(place, cell)

    def _uploaded(self, session: Session) -> tuple[DataSet, ...]:
        return (session.get(Uploaded) or Uploaded()).data_sets
