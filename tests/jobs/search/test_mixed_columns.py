"""Ranges over columns that are written in several forms: a file, a collection in a folder, the endpoint's answer, the map."""

import numpy as np
import pandas as pd
import pytest

from sbert_app.collections.collection import Facts
from sbert_app.corpus.indexed import DENSE
from sbert_app.corpus_map.colouring import ColourScale, _column
from sbert_app.errors import UserError
from sbert_app.jobs.open_collection import open_address
from sbert_app.tables import Table
from tests.jobs.collection.made import store
from tests.mixed_columns import COLUMNS, EXPECTED
from tests.searching import indexed, search

WEATHER = "rain snow wind sun fog hail storm frost dew ice heat cold"
TEXTS = [f"Note {number} about {word}" for number, word in enumerate(WEATHER.split())]


@pytest.fixture(scope="module")
def in_memory(shared_bench):
    """The session of a file."""
    return indexed(shared_bench, Table("notes.csv", pd.DataFrame({"text": TEXTS} | COLUMNS, dtype=str), np.arange(1, 13)))


@pytest.fixture(scope="module")
def in_folder(shared_bench, app_encoder, in_memory, tmp_path_factory):
    """The session of a collection, of whose first rows nobody has decided how columns are written."""
    folder = tmp_path_factory.mktemp("stores") / "notes"
    facts = Facts(app_encoder.name, app_encoder.fingerprint, app_encoder.dim, "text", tuple(COLUMNS), {}, ("notes.csv",))
    store(folder, facts, range(1, 13), TEXTS, COLUMNS, in_memory.corpus().embeddings)
    session = shared_bench.sessions.open()
    open_address(shared_bench, session, str(folder))
    return session


@pytest.mark.parametrize("where", ["in_memory", "in_folder"])
def test_a_search_finds_the_rows_that_a_person_counts_and_tells_the_others(shared_bench, request, where):
    session = request.getfixturevalue(where)
    for column, bounds, rows, unreadable, unclear in EXPECTED:
        result = search(shared_bench, session, "weather", 12, {column: bounds}, DENSE)
        assert sorted(hit.row - 1 for hit in result.hits) == rows, (column, bounds)
        counts = [unreadable, unclear]
        assert [int(caution.split()[0]) for caution in result.cautions] == [count for count in counts if count], column
        assert all(f"of column '{column}', such as “" in caution for caution in result.cautions)
        assert all("not in the result." in caution for caution in result.cautions)
    with pytest.raises(UserError, match="'nothing' holds neither numbers nor dates"):
        search(shared_bench, session, "weather", 12, {"nothing": {"from": "1"}}, DENSE)
    assert search(shared_bench, session, "weather", 12, {"two forms": "soon"}, DENSE).cautions == ()


def test_a_map_coloured_by_such_a_column_tells_which_rows_are_grey():
    cells = pd.Series([*COLUMNS["day or month"], "2025-07-01", "2025-07-02", "2025-07-03"], name="day or month", dtype=str)
    colours = _column("day or month", cells)
    assert isinstance(colours, ColourScale)
    assert np.flatnonzero(np.isnan(colours.values)).tolist() == [2, 4, 6, 7, 11]
    assert colours.notes[0].startswith("1 row of column 'day or month', such as “whenever”, could not be read as a date")
    assert colours.notes[1].startswith("3 rows of") and colours.notes[1].endswith("they are grey on the map.")
    assert [text for _, text in colours.ticks] == ["13/04/2025", "2025-07-03"]
