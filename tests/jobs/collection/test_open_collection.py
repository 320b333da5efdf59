"""The job open_collection: its id is one that search, duplicates and cluster_map take; in the shell --store does the same."""

import inspect
import json

import gradio as gr
import pytest

from sbert_app.ui.app import build_app
from tests.jobs.collection.made import make, tickets


@pytest.fixture(scope="module")
def store(tmp_path_factory, shared_bench):
    folder = tmp_path_factory.mktemp("stores") / "tickets"
    make(folder, shared_bench.registry.encoder(), 120)
    return folder


@pytest.fixture(scope="module")
def endpoints(shared_bench):
    return {function.api_name: function.fn for function in build_app(shared_bench).fns.values()}


def send(endpoint, **values):
    """Call an endpoint with these arguments, and its defaults for the others."""
    parameters = inspect.signature(endpoint).parameters
    return endpoint(gr.Request(), *(values.get(name, parameters[name].default) for name in parameters if name != "request"))


def test_the_id_is_one_that_other_jobs_take(endpoints, store):
    opened = endpoints["open_collection"](gr.Request(), str(store))
    assert (opened["name"], opened["rows"], opened["sampled"], opened["index"]) == ("tickets", 120, 120, "exact")
    assert opened["columns"] == [column for column in tickets(1)[0] if column != "text"] and opened["recall_queries"] == 0
    request = {"query": tickets(120)[7]["text"], "filters": {"team": "Billing"}, "ranking": "dense"}
    answer = send(endpoints["search"], corpus=opened["corpus"], **request)
    assert {hit["metadata"]["team"] for hit in answer["hits"]} == {"Billing"} and "store" in answer["milliseconds"]
    assert answer["collection"] == {"name": "tickets", "kind": "exact", "recall": 1.0, "queries": 0, "filtered": True}
    assert send(endpoints["duplicates"], corpus=opened["corpus"])["collection"]["compared"] == 120


def test_a_bad_address_gets_one_sentence(endpoints, tmp_path):
    with pytest.raises(gr.Error, match="There is no collection in"):
        endpoints["open_collection"](gr.Request(), str(tmp_path / "nowhere"))


def test_the_shell_searches_a_collection_instead_of_a_file(shell, store):
    text = tickets(120)[100]["text"]
    out, err = shell("search", "--store", store, "--query", text, "--json")
    hit = json.loads(out)["hits"][0]
    assert (hit["row"], hit["sentence"]) == (101, text) and "Collection 'tickets': 120 rows, exact index" in err
    _, error = shell("search", "--store", store, "--query", text, "--ranking", "words", status=2)
    assert "A collection is ranked by meaning (dense) or by meaning and then word by word (maxsim)" in error


def test_a_file_or_a_collection_but_not_both(shell, store):
    for subject in ([], [store / "collection.json", "--store", store]):
        _, error = shell("search", *subject, "--query", "x", status=2)
        assert error.splitlines()[-1] == "Error: Name a file or, with --store, a collection: one of the two."
