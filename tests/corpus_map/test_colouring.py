"""What a map is coloured by: values in their order and one way of writing, and how many rows of each cluster have them."""

import pytest

from sbert_app.corpus_map.colouring import COLUMN, ColourScale, by_cluster, colouring
from sbert_app.ui.kit.html import GREY
from sbert_app.ui.map.chart import ORDERED, PALETTE, colour_of
from tests.corpus_map.maps import small_map


def with_column(name, cells):
    """The small map of 14 rows with another column."""
    corpus_map = small_map()
    corpus_map.projection.indexed.corpus.metadata[name] = cells
    return corpus_map


@pytest.mark.parametrize(
    ("cells", "names", "numbers"),
    [
        (["10", "9", "", "1"] * 3 + ["9", "9"], ["1", "9", "10", "(blank)"], 3),
        (["no", "Yes", "yes ", "no"] * 3 + ["Yes", "no"], ["no", "Yes"], 0),
        (["2025", "2026"] * 7, ["2025", "2026"], 2),
    ],
)
def test_numbers_are_in_their_order_blanks_last_and_values_that_differ_in_case_are_one(cells, names, numbers):
    colours = colouring(with_column("x", cells), f"{COLUMN}x")
    assert (colours.names, colours.numbers, colours.title) == (names, numbers, "x") and (colours.codes >= 0).all()


def test_three_numbers_and_more_have_colours_from_low_to_high_and_blanks_are_grey():
    assert [colour_of(code, 3) for code in (0, 1, 2, 3, -1)] == [ORDERED[0], ORDERED[6], ORDERED[-1], GREY, GREY]
    assert [colour_of(code, 2) for code in (0, 1, -1)] == [*PALETTE[:2], GREY]
    scale = colouring(with_column("x", [f"{i}.5" for i in range(14)]), f"{COLUMN}x")
    assert isinstance(scale, ColourScale) and scale.of_column


def test_rows_of_each_cluster_are_counted_by_value_and_numbers_averaged():
    corpus_map = with_column("stars", ["1", "2", "", "3"] + [""] * 4 + ["5"] * 4 + ["4", "1"])
    records = by_cluster(corpus_map)
    amounts = by_cluster(with_column("amount", [f"{i}.5" for i in range(14)]))
    assert all("amount, mean" in record for record in amounts)  # no row has another's, yet they are no numbers of rows
    assert len(records) == 4 and all(key.startswith(("team", "stars")) for key in records[0])  # no column of different values
    assert [record["team: Billing"] for record in records] == [4, 1, 0, 0]
    assert [record["team: (blank)"] for record in records] == [0, 1, 0, 0]
    assert [record["stars, mean"] for record in records] == [2.0, None, 5.0, 2.5]
    rows = sum(value for record in records for key, value in record.items() if key.startswith("team: "))
    assert rows == len(corpus_map.projection.points)
