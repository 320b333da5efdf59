"""The map's handlers without a browser: a new name goes everywhere, a filter selects rows."""

import base64
import json

import gradio as gr
import numpy as np
import pytest

from sbert_app.corpus_map.colouring import CLUSTERS
from sbert_app.jobs.map.kept import current_map, own_model
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.ui.corpus.filters import Filtering
from sbert_app.ui.map import lists
from sbert_app.ui.map.chart import map_figure
from sbert_app.ui.map.tab import MapTab
from tests.corpus_map.maps import small_map


@pytest.fixture
def session(shared_bench):
    session = shared_bench.sessions.open()
    session.put(small_map())
    return session


@pytest.fixture(scope="module")
def tab(shared_bench):
    with gr.Blocks():
        return MapTab(shared_bench, gr.State(), gr.State())


def sent(**data):
    return gr.EventData(None, data)


def bright(updates, tab):
    """The rows that the page is told to keep bright."""
    return np.frombuffer(base64.b64decode(json.loads(updates[tab.panel.bridge])["highlight"]), np.int32).tolist()


def values(tab, session, **filters):
    """What handlers get, with these filters in force."""
    return {tab._session: session, tab.bar.filter.state: Filtering(filters=filters)}


def filtered(tab, session, **filters):
    """The answer to these filters."""
    return tab.panel._on_filter(values(tab, session), sent(filters=filters))


def test_a_new_name_is_in_the_list_on_the_map_in_the_selection_and_in_the_files(tab, session):
    panel, attack = tab.panel, "<i>Log in</i> & out, of all the accounts there are"
    before = panel._on_listed(values(tab, session), sent(group=2))
    assert "password" in before[panel.selection] and 'aria-pressed="true"' in before[panel.groups]
    after = panel._on_renamed(session, sent(group=2, name=attack))
    names, given = (json.loads(after[panel.bridge])[key] for key in ("names", "given"))
    assert given == [2] == map_figure(current_map(session)).layout.meta["given"]
    assert names[2] == "&lt;i&gt;Log in&lt;/i&gt; &amp; out, of<br>all the accounts there<br>are" and len(names) == 3
    escaped = "&lt;i&gt;Log in&lt;/i&gt; &amp; out, of all the accounts there are"
    for component in (panel.groups, panel.numbers, panel.status, panel.selection):
        assert escaped in after[component] and "<i>Log" not in after[component]
    assert 'data-group="2" aria-pressed="true"' in after[panel.groups]  # still chosen
    assert tab.plot not in after and panel.tabs not in after  # nothing is drawn again, and the list stays in view
    assert attack in tab.bar.export._csv(session) and escaped in tab.bar.export._page(session, CLUSTERS)
    clusters = tab.bar.export._clusters(session).splitlines()
    assert clusters[0].endswith("cluster,rows,team: Technical,team: Billing,team: Shipping,team: (blank)") and len(clusters) == 5
    back = panel._on_renamed(session, sent(group=2, name=""))
    assert "password" in back[panel.status] and "password" in json.loads(back[panel.bridge])["names"][2]


def test_only_clusters_can_be_renamed_in_the_list_and_where_one_is_selected(tab, session):
    panel = tab.panel
    assert panel._on_listed(values(tab, session), sent(group=2))[panel.selection].count('data-rename="2"') == 1
    outliers = panel._on_listed(values(tab, session), sent(group=-1))
    lasso = panel._on_picked(values(tab, session), sent(kind="lasso", rows=[1]))
    assert "data-rename" not in outliers[panel.selection] + lasso[panel.selection]
    listed = panel._on_picked(values(tab, session), sent(kind="all", rows=[]))[panel.groups]
    assert listed.count("data-rename=") == 3 and listed.count("data-group=") == 4  # the outliers are no cluster
    assert "data-rename" not in lists.colour_list(small_map(), "Column: team")


def test_a_filter_is_a_selection_and_stays_when_a_cluster_or_a_lasso_is_chosen_within_it(tab, session):
    panel, box = tab.panel, tab.bar.filter.box
    billing = filtered(tab, session, team=["Billing"])
    assert bright(billing, tab) == [0, 1, 2, 3, 7] and "5 sentences with team: Billing" in billing[tab.panel.status]
    assert "Distinctive words" in billing[panel.selection] and "selection.csv" in billing[panel.selection]
    assert billing[box].label == "Filter: 1" and tab.bar.filter.menus not in billing  # the page shows the choice already
    nobody = filtered(tab, session, amount={"from": "500"})
    assert bright(nobody, tab) == [-1]  # all fade
    assert "No sentences with amount from 500" in nobody[tab.panel.status] and "Remove a filter" in nobody[panel.selection]
    everything = filtered(tab, session)
    assert bright(everything, tab) == [] and "Click a point" in everything[panel.selection] and everything[box].label == "Filter"
    inside = values(tab, session, team=["Billing"])
    cluster = panel._on_listed(inside, sent(group=1))
    assert bright(cluster, tab) == [7] and box not in cluster and tab.bar.filter.menus not in cluster
    assert "1 sentence in “" in cluster[panel.status] and "”, with team: Billing" in cluster[panel.status]
    assert bright(panel._on_picked(inside, sent(kind="lasso", rows=[3, 4])), tab) == [3]
    near = panel._on_picked(inside, sent(kind="click", rows=[3]))  # its neighbours are of any team
    assert near[box].label == "Filter" and " checked" not in near[tab.bar.filter.menus]


def test_the_filter_is_offered_for_the_columns_of_the_map(tab, session):
    corpus_map = current_map(session)
    offered = tab.bar.filter.offered(corpus_map)
    team, amount, text = offered[tab.bar.filter.state].columns
    assert [(*forms, rows) for forms, rows in team.values] == [("Technical", 6), ("Billing", 5), ("Shipping", 2), ("", 1)]
    assert "<b>(blank)</b> <span>1</span>" in offered[tab.bar.filter.menus]
    assert offered[tab.bar.filter.box].visible and amount.ends and not text.values and not text.ends
    corpus = corpus_map.projection.indexed.corpus
    corpus.metadata.drop(columns=["team", "amount"], inplace=True)
    vars(corpus).pop("filter_columns")
    assert tab.bar.filter.offered(corpus_map)[tab.bar.filter.box].visible is False


def test_a_model_typed_while_the_list_is_fetched_stays(tab, session):
    """What the page sent is older than what stands in the field when the answer comes."""
    compare = tab.panel.compare
    for sent_before in (None, "models/another"):
        assert "value" not in compare._on_models(session, DEFAULT_ENCODER, sent_before)._constructor_args[0]
    own = own_model(session, DEFAULT_ENCODER)
    assert compare._on_models(session, DEFAULT_ENCODER, own)._constructor_args[0]["value"] is None
