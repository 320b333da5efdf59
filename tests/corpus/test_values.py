"""Columns written in several forms: what is not read is counted and told. What ranges leave: jobs/search/test_mixed_columns."""

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.filters import matching_rows
from sbert_app.corpus.values import BLANK, CONTRARY, UNREADABLE, read, values_on
from sbert_app.errors import UserError
from tests.mixed_columns import COLUMNS

TABLE = pd.DataFrame(COLUMNS, dtype=str)


def test_what_is_not_read_is_told_with_its_number_and_an_example():
    assert matching_rows(TABLE, {"two forms": {"from": "2026"}}).notes == (
        "1 row of column 'two forms', such as “soon”, could not be read as a date: it is not in the result.",
    )
    either = read(TABLE["day or month"]).unread.in_words("grey on the map")
    assert either == [
        "1 row of column 'day or month', such as “whenever”, could not be read as a date: it is grey on the map.",
        "3 rows of column 'day or month', such as “03/04/2025”, could be day and month in either order, and the other rows do not "
        "tell: they are grey on the map.",
    ]
    numbers = matching_rows(TABLE, {"decimals or thousands": {"from": "2"}}).notes
    assert len(numbers) == 1 and "3 rows" in numbers[0] and "“1.234”, could be decimals or thousands" in numbers[0]
    assert matching_rows(TABLE, {"points": {"from": "2"}}).notes == ()


def test_blanks_are_no_unread_cells():
    states = read(TABLE["points"]).states
    assert np.flatnonzero(states == BLANK).tolist() == [5, 7]
    assert read(TABLE["nothing"]) is None and read(pd.Series(["one", "two", "3"])) is None


def test_a_bound_that_could_be_two_values_is_asked_back():
    with pytest.raises(UserError, match="'03/04/2025' could be two values.*Write it like 2026-03-31"):
        matching_rows(TABLE, {"two forms": {"from": "03/04/2025"}})
    with pytest.raises(UserError, match="'1.234' could be two values.*1234 or 1.2340"):
        matching_rows(TABLE, {"commas and points": {"to": "1.234"}})


def test_an_upper_bound_ends_with_the_year_month_or_day_that_it_names_and_a_moment_is_its_own_end():
    days = pd.DataFrame({"day": ["2026-02-28T23:59:59", "2026-03-01T00:00:00", "2026-12-31 23:00", "2027-01-01", "9999-12-31"]})
    for bound, rows in {"2026-02": 1, "28.02.2026": 1, "2026-03-01 00:00": 2, "2026": 3, "2026-12-31T22:59": 2, "9999": 5}.items():
        assert matching_rows(days, {"day": {"to": bound}}).mask.sum() == rows, bound


def test_cells_of_a_stream_keep_the_convention_of_its_first_rows_and_contradictions_are_counted():
    scale = read(pd.Series(["04/13/2025", "03/04/2025"])).scale
    later = values_on(scale, pd.Series(["03/05/2025", "13/04/2025", "n/a", "soon"], name="day"))
    assert later.values[:2].tolist() == read(pd.Series(["2025-03-05", "2025-04-13"])).values.tolist()
    assert later.unread.counts == {0: 1, CONTRARY: 1, BLANK: 1, UNREADABLE: 1}
    assert "“13/04/2025”, is not written as the first rows" in " ".join(later.unread.in_words())


def test_cells_that_are_no_dates_of_the_calendar_are_not_read():
    cells = ["2025-01-01", "2025-13-01", "30.02.2025", "0000-01-01", "24:00", "2025-01-01 25:00", *["2025-01-02"] * 9]
    values = read(pd.Series(cells))
    assert np.flatnonzero(values.states == UNREADABLE).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "cells",
    [
        ["2025/03/01 8:05:33 AM GMT+1", "2025/03/02 9:05:33 PM GMT+1"],
        ["Sat Mar 01 07:05:33 +0000 2025", "Sun Mar 02 20:05:33 +0000 2025"],
        ["Sat, 01 Mar 2025 07:05:33 UTC", "02 March 2025 20:05:33 +0000"],
        ["Mar 1, 2025, 7:05:33 AM", "March 2, 2025 at 8:05:33 PM"],
        ["01/Mar/25 7:05:33 AM", "02-mar-2025 20:05:33"],
        ["1740812733", "1740945933"],
        ["1740812733000", "1740945933000"],
    ],
)
def test_moments_are_read_as_tools_write_them(cells):
    values = read(pd.Series(cells))
    assert values.scale == "date" and (values.values - 1740812733).tolist() == [0, 133_200]


def test_other_numbers_and_words_stay_what_they_are():
    assert read(pd.Series(["20250301", "20250402"])).scale == "date" and read(pd.Series(["20250301", "20251402"])).scale == "number"
    assert read(pd.Series(["7\u202f553,52 €", "12\u00a0000,00 €"])).values.tolist() == [7553.52, 12000.0]
    assert read(pd.Series(["CHF 1'204.50"])).values.tolist() == [1204.5]
    assert read(pd.Series(["Marigold 5, 2020", "in May 2020", "0043401234567890123"])) is None


def test_days_and_months_of_one_digit_are_dates_where_nearly_all_cells_are():
    days = ["1.3.24", "10.6.25", "01.10.25", "2.12.24", ""]
    frame = pd.DataFrame({"day": days, "version": ["1.2.10", "1.2.9", "1.13.10", "2.0.1", "1.2.11"]})
    assert read(frame["day"]).scale == "date" and read(frame["version"]) is None
    assert matching_rows(frame, {"day": {"from": "1.6.25", "to": "1.10.25"}}).mask.tolist() == [False, True, True, False, False]
    mixed = read(pd.Series(["2026-03-05"] * 6 + ["1.2.10"] * 2 + ["soon"] * 2))
    assert mixed.scale == "date" and mixed.unread.counts[UNREADABLE] == 4  # they may be versions
