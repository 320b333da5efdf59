"""Labels of clusters on the map: two terms, in two lines unless both are short, or a given name; markup stays text."""

import numpy as np

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
    made = grouped_map(35, 700)
    clusters, groups = made.levels
    assert groups.count == GROUPS
    assert all(len(np.unique(groups.labels[clusters.members(number)])) == 1 for number in range(35))
    figure = map_figure(made.renamed(3, "Refunds")).layout
    assert len(figure.annotations) == 35 + GROUPS and figure.meta["clusters"] == 35
    assert figure.annotations[3].text == "Refunds" and figure.annotations[3].font.size < figure.annotations[35].font.size
    assert len({name.text for name in figure.annotations[35:]}) == GROUPS
    rows = made.projection.points[groups.members(0)]
    assert [figure.annotations[35].x, figure.annotations[35].y] == np.median(rows, axis=0).tolist()
    few = map_figure(small_map()).layout
    assert len(few.annotations) == few.meta["clusters"] == 3


def test_a_named_cluster_that_is_a_group_of_its_own_has_no_other_name_beside_it():
    made = grouped_map(35, 700)
    group, cluster = next(iter(made.alone.items()))
    assert np.unique(made.clustering.labels[made.levels[1].members(group)]).tolist() == [cluster]
    joined = next(number for number in range(35) if number not in made.alone.values())
    figure = map_figure(made.renamed(cluster, "Refunds").renamed(joined, "Returns")).layout
    assert figure.annotations[35 + group].text == figure.annotations[cluster].text == "Refunds"
    assert list(figure.meta["given"]) == [joined]


def test_points_that_are_not_selected_are_grey_but_seen():
    traces = map_figure(small_map()).data[:-2]
    assert {trace.unselected.marker.color for trace in traces} == {GREY}
    assert all(0.25 <= trace.unselected.marker.opacity < 0.5 for trace in traces)


def test_many_points_are_faint_so_that_they_show_their_density():
    points = np.zeros((60_000, 2), np.float32)
    opacity = {n: layout_figure(points[:n], np.arange(n)).data[0].marker.opacity for n in (1_000, 20_000, 60_000)}
    assert opacity[1_000] > opacity[20_000] == 0.7 > opacity[60_000] >= 0.2
