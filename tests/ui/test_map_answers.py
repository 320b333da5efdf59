"""The map's figure, and its handlers without a browser: a new name goes everywhere, a filter selects rows."""

import base64
import json

import gradio as gr
import numpy as np
import pytest

from sbert_app.corpus_map.colouring import CLUSTERS, colouring
from sbert_app.corpus_map.result import GROUPS
from sbert_app.jobs.map.kept import current_map, own_model
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.ui.corpus.filters import Filtering
from sbert_app.ui.kit.html import GREY
from sbert_app.ui.map import lists
from sbert_app.ui.map.chart import TERM_LENGTH, _label, labels, layout_figure, map_figure
from sbert_app.ui.map.tab import MapTab
from tests.corpus_map.maps import grouped_map, small_map


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
    billing = panel._on_filter(values(tab, session), sent(filters={"team": ["Billing"]}))
    assert bright(billing, tab) == [0, 1, 2, 3, 7] and "5 sentences with team: Billing" in billing[panel.status]
    assert "Distinctive words" in billing[panel.selection] and "selection.csv" in billing[panel.selection]
    assert billing[box].label == "Filter: 1" and tab.bar.filter.menus not in billing  # the page shows the choice already
    everything = panel._on_filter(values(tab, session), sent(filters={}))
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


def test_a_label_holds_two_terms_in_one_or_two_lines():
    assert _label("ship · port · sail") == "ship · port"
    assert _label("exchange rate · foreign · wrong") == "exchange rate<br>foreign"
    assert _label("cluster 2") == "cluster 2" and _label("password reset mail") == "password reset mail"
    first, second = _label(f"{'long' * 20} · <i>x</i>").split("<br>")
    assert len(first) == TERM_LENGTH and first.endswith("…") and second == "&lt;i&gt;x&lt;/i&gt;"


def test_a_given_name_is_whole_on_the_map_in_lines():
    def given(name):
        return labels(small_map().renamed(0, name))[0]

    assert given("Refunds") == "Refunds" and given("a · b · c") == "a · b · c"
    assert given("Charged twice for the same subscription plan, and then again") == (
        "Charged twice for the<br>same subscription plan,<br>and then again"
    )
    assert [len(line) for line in given("x" * 60).split("<br>")] == [24, 24, 12] and given("<b>") == "&lt;b&gt;"


def test_many_clusters_are_also_named_in_groups_after_their_own_names():
    """By their largest cluster, at its points: the words of all, at the middle of all, would be of no cluster."""
    made = grouped_map(35, 700)
    clusters, groups = made.levels
    held = [np.unique(clusters.labels[groups.members(group)]) for group in range(groups.count)]
    assert groups.count == GROUPS and sum(map(len, held)) == 35  # each cluster is of one group
    assert made.leads == [(inside.min(), len(inside) - 1) for inside in held]
    figure = map_figure(made.renamed(3, "Refunds")).layout
    assert len(figure.annotations) == 35 + GROUPS and figure.meta["clusters"] == 35
    assert figure.annotations[3].text == "Refunds" and figure.annotations[3].font.size < figure.annotations[35].font.size
    group, (lead, more) = next((number, lead) for number, lead in enumerate(made.leads) if lead[1] > 1)
    text, place = figure.annotations[35 + group], figure.annotations[lead]
    assert text.text.endswith(f"<br>and {more} more") and [text.x, text.y] == [place.x, place.y]
    few = map_figure(small_map()).layout
    assert len(few.annotations) == few.meta["clusters"] == 3

    # A cluster that a person named stands for itself beside its group.
    alone, (single, _) = next((number, lead) for number, lead in enumerate(made.leads) if not lead[1])
    renamed = made.renamed(lead, "Refunds").renamed(single, "Returns")
    figure = map_figure(renamed).layout
    other, left = renamed.leads[group]
    assert other != lead and left == more - 1 and list(figure.meta["given"]) == [lead]
    assert figure.annotations[35 + group].text.startswith(figure.annotations[other].text)
    assert figure.annotations[35 + alone].text == figure.annotations[single].text == "Returns"  # once from afar


def test_the_largest_category_lies_below_those_that_it_would_cover_and_the_legend_keeps_their_order():
    traces = map_figure(small_map(), "Column: team").data[:-2]
    named = [trace for trace in traces if trace.legendrank >= 0]
    assert len(named) > 1 and [len(trace.x) for trace in named] == sorted((len(trace.x) for trace in named), reverse=True)
    order = [trace.name for trace in sorted(named, key=lambda trace: trace.legendrank)]
    assert order == colouring(small_map(), "Column: team").names


def test_many_points_are_faint_so_that_they_show_their_density_and_those_not_selected_grey_but_seen():
    points = np.zeros((60_000, 2), np.float32)
    opacity = {n: layout_figure(points[:n], np.arange(n)).data[0].marker.opacity for n in (1_000, 20_000, 60_000)}
    assert opacity[1_000] > opacity[20_000] == 0.7 > opacity[60_000] >= 0.2
    for trace in map_figure(small_map()).data[:-2]:
        assert trace.unselected.marker.color == GREY and 0.25 <= trace.unselected.marker.opacity < 0.5
