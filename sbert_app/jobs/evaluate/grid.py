"""Fill a grid of systems and data sets cell by cell, for every caller; and what a visitor of the page has of one."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.grid.cell import Cell, CellStore, measure_cell
from sbert_app.grid.data_set import DataSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.reading import OWN, own_data_sets, plain_name, read_data_set
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import Choice, System, check_names
from sbert_app.jobs import validation
from sbert_app.runtime import Session, Stop, StoppedError, Workbench, place_in_line
from sbert_app.step import Step
from sbert_app.tables import read_table

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
    """The visitor pressed Stop: a reload does not continue."""


def fill(bench: Workbench, grid: Grid, choice: Choice, stop: Stop) -> Iterator[Step[Grid]]:
    """Fill the empty cells of a grid, after waiting in the queue.

    A step's result is the grid so far; one with a total precedes the first empty cell of that. A cell that was measured before on
    this machine is taken from the store; hosted there is none, as its speed would tell others what was measured. A system that
    cannot be loaded or cannot do a task has the reason in its cells. The names of the systems are checked.
    """
    store = CellStore(None if bench.settings.hosted else bench.settings.cache / "evaluations")
    texts = [column for data in grid.data_sets for column in data.columns]
    loaded: dict[str, System | UserError] = {}  # one that cannot be loaded is not tried again

    def measured(name: str, data: DataSet) -> Cell | str:
        """A figure, or the reason why there is none."""
        try:
            if name not in loaded:
                loaded[name] = load_system(bench, name, choice, texts, stop.tick)
            if isinstance(system := loaded[name], UserError):
                return str(system)
            if (cell := store.get(system, data)) is None:
                cell = measure_cell(system, data, stop.tick)
                store.put(system, data, cell)
        except UserError as error:
            loaded.setdefault(name, error)
            return str(error)
        return cell

    with bench.lines.corpora.join(stop) as waiting:
        yield from (Step(place_in_line(before, "job"), result=grid) for before in waiting)
        try:
            for place in grid.empty:
                if stop.is_set():
                    return
                name, data = place[0], grid.data_sets[place[1]]
                known = store.get(system, data) if isinstance(system := loaded.get(name), System) else None
                if known is None:  # loading and measuring take a while
                    yield Step(f"{name} on {data.name}", len(grid.cells), len(grid.places), result=grid)
                with suppress(StoppedError):
                    grid = replace(grid, cells={**grid.cells, place: known or measured(name, data)})
            yield Step("", result=grid)
        finally:
            bench.registry.release()


def upload(bench: Workbench, session: Session, path: Path, name: str) -> DataSet:
    """Read a file and add it to the visitor's data sets, replacing one of the same name. Raises UserError."""
    limits, indexed = bench.settings.limits, session.get(IndexedCorpus)
    corpus = indexed.corpus if indexed else None  # over which judged queries are ranked
    data = read_data_set(read_table(path, limits, name), limits, plain_name(name), corpus=corpus)

    def added(before: Uploaded | None) -> Uploaded:
        others = [other for other in (before or Uploaded()).data_sets if other.name != data.name]
        if len(others) >= MOST_UPLOADED:
            raise UserError(f"You have {MOST_UPLOADED} data sets, the most that are kept. Reload the page to begin anew.")
        return Uploaded((*others, data))

    session.update(Uploaded, added)
    return data


def data_sets(bench: Workbench, session: Session) -> dict[str, DataSet]:
    """By name: those that come with the app, and the visitor's own."""
    return {data.name: data for data in (*own_data_sets(bench.settings.limits), *(session.get(Uploaded) or Uploaded()).data_sets)}


def names_of_sets(session: Session) -> list[str]:
    """The names of those, without reading any: that is a tenth of the time to build the page."""
    return list(dict.fromkeys([*OWN, *(data.name for data in (session.get(Uploaded) or Uploaded()).data_sets)]))


def choose(bench: Workbench, session: Session, systems: Sequence[str], names: Sequence[str]) -> Grid:
    """An empty grid of these systems and data sets. Raises UserError for unknown ones, for none, and for too many."""
    known = data_sets(bench, session)
    names, systems = validation.names(names, "data sets"), validation.names(systems, "systems")
    if unknown := [name for name in names if name not in known]:
        raise UserError(f"There is no data set {unknown[0]!r}. Must be one of {', '.join(known)}.")
    if not names or not systems:
        raise UserError("Choose at least one system and one data set.")
    if len(systems) > MOST_SYSTEMS:
        raise UserError(f"{len(systems)} systems are chosen, at most {MOST_SYSTEMS} fit a grid.")
    check_names(bench, systems)
    return Grid(tuple(dict.fromkeys(systems)), tuple(known[name] for name in dict.fromkeys(names)))


def fill_session(bench: Workbench, session: Session, grid: Grid, choice: Choice) -> Iterator[Step[Grid]]:
    """Fill a grid for a page; the session keeps it after each cell, so that a reload finds it. See `fill`."""
    stop = session.begin(JOB)
    session.drop(Halted)
    for step in fill(bench, grid, choice, stop):
        if not session.put(ShownGrid(step.result or grid, choice), stop):
            return
        yield step


def halt(session: Session) -> None:
    """Stop filling the grid of this session."""
    session.put(Halted())
    session.stop(JOB)


def unfinished(session: Session) -> ShownGrid | None:
    """The grid to continue, because the page was left before it was complete; None if the visitor stopped it."""
    current = session.get(ShownGrid)
    return current if current and not current.grid.complete and session.get(Halted) is None else None
