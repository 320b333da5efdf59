"""What a page remembers of where it was."""

import json

import pytest

from sbert_app.ui.arrival import LONGEST, Place


def test_a_place_is_read_and_what_is_not_text_counts_as_absent():
    values = {"tab": "map", "corpus": "a.csv", "query": "q" * (LONGEST + 1), "session": 7, "other": "x"}
    assert Place.read(json.dumps(values)) == Place(tab="map", corpus="a.csv")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"map"', None, 5, ["map"]])
def test_what_is_no_place_is_an_empty_one(text):
    assert Place.read(text) == Place()
