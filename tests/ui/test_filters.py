"""The menus of filters, what they do with what the page sends, and what a page remembers of where it was."""

import json

import gradio as gr
import pytest

from sbert_app.corpus.filters import FilterColumn
from sbert_app.ui.arrival import LONGEST, Place
from sbert_app.ui.corpus.filters import Filtering, Filters, menus

TEAM = FilterColumn("team <b>", ((("Billing", "billing"), 45), (("",), 3)))


@pytest.fixture(scope="module")
def filters():
    with gr.Blocks():
        return Filters()


def changed(filters, sent):
    before = Filtering([TEAM], {}, sampled=100)
    return filters.changed({filters.state: before}, gr.EventData(None, sent))[filters.state]


def test_no_column_is_lost_and_markup_stays_text():
    drawn = menus(Filtering([TEAM, *(FilterColumn(f"column {i}") for i in range(20))], {"column 3": {"contains": "'><i>"}}))
    assert drawn.count("data-column=") == 21 and drawn.count("more columns") == 1
    assert drawn.partition("more columns")[0].count("data-column=") == 8
    asked = menus(Filtering([FilterColumn(f"How satisfied are you with item {i}?") for i in range(20)]))
    assert asked.partition("more columns")[0].count("data-column=") == 4
    assert "team &lt;b&gt;" in drawn and "<i>" not in drawn and "(blank)" in drawn
    assert menus(Filtering()) == ""


def test_what_is_in_force_is_ticked_and_named_once(filters):
    after = changed(filters, {"filters": {"team <b>": ["Billing", "billing"]}})
    assert after.sampled == 100 and menus(after).count(" checked") == 1
    assert filters.active({filters.state: after}) == {"filter team <b>": "team <b>: Billing"}
    without = filters.without({filters.state: after}, "filter team <b>")
    assert without[filters.state].filters == {} and " checked" not in without[filters.menus]


@pytest.mark.parametrize("sent", [None, [], "filters", {"filters": "team"}, {"filters": None}, {}])
def test_what_is_no_object_is_no_filter(filters, sent):
    assert changed(filters, sent).filters == {}


def test_a_place_is_read_and_what_is_not_text_counts_as_absent():
    values = {"tab": "map", "corpus": "a.csv", "query": "q" * (LONGEST + 1), "session": 7, "other": "x"}
    assert Place.read(json.dumps(values)) == Place(tab="map", corpus="a.csv")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"map"', None, 5, ["map"]])
def test_what_is_no_place_is_an_empty_one(text):
    assert Place.read(text) == Place()
