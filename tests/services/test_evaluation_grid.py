"""The grid of a visitor: chosen, filled, stopped, gone on with, answered from the store; never another visitor's."""

import pytest

from sbert_app.errors import UserError
from sbert_app.grid.cell import Cell
from sbert_app.grid.systems import OVERLAP, SBERT, TF_IDF, WORD_VECTORS, Choice
from sbert_app.runtime.stop import Stop
from sbert_app.services.evaluation_grid import GridService, Halted, Uploaded

PAIRS = "sentence1,sentence2,score\na cat sleeps,a cat rests,5\nit rains,the sun shines,1\na dog,a puppy,4\na tree,my debts,0\n"


@pytest.fixture(scope="module")
def service(shared_bench):
    return GridService(shared_bench)


@pytest.fixture
def visitor(service):
    return service._bench.sessions.open()


@pytest.fixture
def own(service, visitor, write):
    return service.upload(visitor, write("mine.csv", PAIRS), "mine.csv")


def filled(service, visitor, systems, names=("mine",), choice=None):
    grid = service.choose(visitor, systems, list(names))
    return [step.grid for step in service.fill_session(visitor, grid, choice or Choice())][-1]


def test_cells_fill_one_by_one_and_stay_in_the_session(service, visitor, own):
    grid = service.choose(visitor, [SBERT, TF_IDF, WORD_VECTORS], ["mine"])
    counts = [len(step.grid.cells) for step in service.fill_session(visitor, grid, Choice())]
    assert counts == [0, 1, 2, 3] and service.shown(visitor).grid.complete
    assert service.unfinished(visitor) is None and all(
        isinstance(cell, Cell) for cell in service.shown(visitor).grid.cells.values()
    )


def test_of_two_uploads_at_once_none_is_lost(service, visitor, write, monkeypatch):
    session, first, second = visitor, write("first.csv", PAIRS), write("second.csv", PAIRS)
    get = session.get

    def get_and_be_overtaken(kind):
        value = get(kind)
        if kind is Uploaded:
            monkeypatch.undo()
            service.upload(visitor, second, "second.csv")
        return value

    monkeypatch.setattr(session, "get", get_and_be_overtaken)
    service.upload(visitor, first, "first.csv")
    assert {"first", "second"} <= service.data_sets(visitor).keys()


def test_a_system_that_cannot_be_had_says_so_in_its_cells_and_the_others_go_on(service, visitor, own):
    grid = filled(service, visitor, ["./nowhere", OVERLAP], ("mine", "Tickets by team"))
    assert "There is no model folder" in grid.cells["./nowhere", 0] and "There is no model folder" in grid.cells["./nowhere", 1]
    assert isinstance(grid.cells[OVERLAP, 0], Cell) and "Scores pairs only" in grid.cells[OVERLAP, 1]


def test_any_model_is_a_row_under_its_own_name(service, visitor, own, model_folder):
    grid = filled(service, visitor, [SBERT, str(model_folder), "cross-MiniLM-L6-stsb"])
    rows = [grid.cells[name, 0] for name in grid.systems]
    assert [cell.system for cell in rows] == list(grid.systems) and rows[0].value == rows[1].value
    assert rows[2].model == "cross-MiniLM-L6-stsb"


def test_a_grid_that_was_interrupted_goes_on_and_one_that_was_stopped_does_not(service, visitor, own):
    grid = service.choose(visitor, [SBERT, TF_IDF, OVERLAP], ["mine"])
    steps = service.fill_session(visitor, grid, Choice())
    next(step for step in steps if step.grid.cells)
    visitor.stop_all()  # as when the page is closed
    list(steps)
    current = service.unfinished(visitor)
    assert current is not None and 1 <= len(current.grid.cells) < 3
    (*_, last) = service.fill_session(visitor, current.grid, current.choice)
    assert last.grid.complete
    steps = service.fill_session(visitor, grid, Choice())
    next(step for step in steps if step.grid.cells)
    service.stop(visitor)
    list(steps)
    assert service.unfinished(visitor) is None and visitor.get(Halted) is not None


def test_a_second_grid_is_answered_from_the_store(service, visitor, own, monkeypatch):
    first = filled(service, visitor, [SBERT, WORD_VECTORS])
    monkeypatch.setattr("sbert_app.services.evaluation_grid.measure_cell", None)
    again = filled(service, visitor, [WORD_VECTORS, SBERT])
    assert again.cells[SBERT, 0] == first.cells[SBERT, 0]


def test_another_visitor_has_neither_data_sets_nor_grid(service, visitor, own):
    filled(service, visitor, [OVERLAP])
    other = service._bench.sessions.open()
    assert "mine" not in service.data_sets(other) and service.shown(other) is None
    with pytest.raises(UserError, match="There is no data set 'mine'"):
        service.choose(other, [OVERLAP], ["mine"])


@pytest.mark.parametrize(
    ("systems", "names", "message"),
    [
        ([], ["mine"], "Choose at least one system"),
        ([SBERT], [], "Choose at least one system"),
        (["glove"], ["mine"], "Unknown system 'glove'"),
        ([SBERT] * 21, ["mine"], "21 systems are chosen"),
    ],
)
def test_a_choice_that_makes_no_grid_is_a_sentence(service, visitor, own, systems, names, message):
    with pytest.raises(UserError, match=message):
        service.choose(visitor, systems, names)


def test_a_folder_is_filtered_by_task(service, tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "bad.csv").write_text("sentence1,sentence2,score\na,b,1\nc,d,1\n")
    grid = service.of_folder(tmp_path, [OVERLAP])
    assert [data.name for data in grid.data_sets] == ["pairs"] and grid.unreadable[0].startswith("bad.csv: Every score")
    (*_, last) = service.fill(grid, Choice(), Stop())
    assert last.grid.complete
    with pytest.raises(UserError, match="has no data set to measure"):
        service.of_folder(tmp_path, [OVERLAP], ["classes"])
    with pytest.raises(UserError, match="Unknown task 'sts'"):
        service.of_folder(tmp_path, [OVERLAP], ["sts"])
