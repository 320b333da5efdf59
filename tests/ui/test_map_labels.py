"""Labels of clusters on the map: two terms, in two lines unless both are short, or a given name; markup stays text."""

import numpy as np

from sbert_app.corpus_map.colouring import colouring
from sbert_app.corpus_map.result import GROUPS
from sbert_app.ui.kit.html import GREY
from sbert_app.ui.map.chart import TERM_LENGTH, _label, labels, layout_figure, map_figure
from tests.corpus_map.maps import grouped_map, small_map


def test_a_label_holds_two_terms_in_one_or_two_lines():
    assert _label("ship · port · sail") == "ship · port"
    assert _label("exchange rate · foreign · wrong") == "exchange rate<br>foreign"
    assert _label("cluster 2") == "cluster 2" and _label("password reset mail") == "password reset mail"
    first, second = _label(f"{'long' * 20} · <i>x</i>").split("<br>")
    assert len(first) == TERM_LENGTH and first.endswith("…") and second == "&lt;i&gt;x&lt;/i&gt;"


def given(name):
    """A name that a visitor gave, as it is on the map."""
    return labels(small_map().renamed(0, name))[0]


def test_a_given_name_is_whole_on_the_map_in_lines():
    assert given("Refunds") == "Refunds" and given("a · b · c") == "a · b · c"
    assert given("Charged twice for the same subscription plan, and then again") == (
        "Charged twice for the<br>same subscription plan,<br>and then again"
    )
    assert [len(line) for line in given("x" * 60).split("<br>")] == [24, 24, 12] and given("<b>") == "&lt;b&gt;"


def test_many_clusters_are_also_named_in_groups_after_their_own_names():
    """By their largest cluster, at its points: the words of all, at the middle of all, would be of no cluster."""
    made = grouped_map(35, 700)
    clusters, groups = made.levels
    assert groups.count == GROUPS
    assert all(len(np.unique(groups.labels[clusters.members(number)])) == 1 for number in range(35))
    figure = map_figure(made.renamed(3, "Refunds")).layout
    assert len(figure.annotations) == 35 + GROUPS and figure.meta["clusters"] == 35
    assert figure.annotations[3].text == "Refunds" and figure.annotations[3].font.size < figure.annotations[35].font.size
    for group, (cluster, more) in enumerate(made.leads):
        held = np.unique(clusters.labels[groups.members(group)])
        assert (cluster, more) == (held.min(), len(held) - 1)
    assert {more for _, more in made.leads} > {0}
    joined, more = next(lead for lead in made.leads if lead[1])
    text, place = figure.annotations[35 + made.leads.index((joined, more))], figure.annotations[joined]
    assert text.text.endswith(f"<br>and {more} more") and [text.x, text.y] == [place.x, place.y]
    few = map_figure(small_map()).layout
    assert len(few.annotations) == few.meta["clusters"] == 3


def test_a_cluster_that_a_person_named_stands_for_itself_beside_its_group():
    made = grouped_map(35, 700)
    group, (lead, more) = next((number, lead) for number, lead in enumerate(made.leads) if lead[1] > 1)
    alone, (single, _) = next((number, lead) for number, lead in enumerate(made.leads) if not lead[1])
    renamed = made.renamed(lead, "Refunds").renamed(single, "Returns")
    figure = map_figure(renamed).layout
    other, left = renamed.leads[group]
    assert other != lead and left == more - 1 and list(figure.meta["given"]) == [lead]
    assert figure.annotations[35 + group].text.startswith(figure.annotations[other].text)
    assert figure.annotations[35 + alone].text == figure.annotations[single].text == "Returns"  # once from afar


def test_points_that_are_not_selected_are_grey_but_seen():
    traces = map_figure(small_map()).data[:-2]
    assert {trace.unselected.marker.color for trace in traces} == {GREY}
    assert all(0.25 <= trace.unselected.marker.opacity < 0.5 for trace in traces)


def test_the_largest_category_lies_below_those_that_it_would_cover_and_the_legend_keeps_their_order():
    traces = map_figure(small_map(), "Column: team").data[:-2]
    named = [trace for trace in traces if trace.legendrank >= 0]
    assert len(named) > 1 and [len(trace.x) for trace in named] == sorted((len(trace.x) for trace in named), reverse=True)
    order = [trace.name for trace in sorted(named, key=lambda trace: trace.legendrank)]
    assert order == colouring(small_map(), "Column: team").names


def test_many_points_are_faint_so_that_they_show_their_density():
    points = np.zeros((60_000, 2), np.float32)
    opacity = {n: layout_figure(points[:n], np.arange(n)).data[0].marker.opacity for n in (1_000, 20_000, 60_000)}
    assert opacity[1_000] > opacity[20_000] == 0.7 > opacity[60_000] >= 0.2
