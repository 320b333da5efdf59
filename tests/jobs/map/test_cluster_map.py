"""Maps of real corpora: preview first, stop, two at once, odd corpora, colours, the drift of another model.

Of a collection the sample is drawn. Names given to clusters: kept for the same clustering, on disk with a saved corpus.
"""

import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus_map import projecting
from sbert_app.corpus_map.colouring import CLUSTERS, COLUMN, DRIFT, QUERY, Categories, ColourScale, choices, colouring
from sbert_app.corpus_map.projecting import Points2D
from sbert_app.corpus_map.result import CorpusMap, ModelComparison
from sbert_app.corpus_map.selection import near_query
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.opening import delete_saved, open_example, open_saved, saved_corpora
from sbert_app.jobs.map import kept
from sbert_app.jobs.map.job import MAP, ClusterOptions, compare_model, draw, place_query, regroup, remove_query, rename
from sbert_app.jobs.map.kept import begins, current_map, draws, other_models, preview
from sbert_app.jobs.open_collection import open_address
from sbert_app.mapping.clusters import AGGLOMERATIVE, DENSITY, K_MEANS, cluster
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table
from sbert_app.ui.map import lists
from tests.jobs.collection.made import tickets
from tests.jobs.refusals import refused
from tests.searching import indexed


@pytest.fixture(scope="module")
def example(shared_bench):
    """The map of the example tickets. The best number of clusters is a close call there, another one in fp32 than in bf16."""
    return drawn(shared_bench, shared_bench.sessions.open(), K_MEANS, 8)


def drawn(shared_bench, session, *grouping):
    *_, last = draw(shared_bench, session, ClusterOptions.read(*grouping))
    assert isinstance(last, CorpusMap)
    return last


def opened(bench, session, rows: list[dict[str, str]]):
    """These rows, with a column "text", as the session's corpus."""
    indexed(bench, Table("own.csv", pd.DataFrame(rows, dtype=object), np.arange(1, len(rows) + 1)), session)


def test_the_preview_comes_first_and_the_points_move_until_the_map_is_there(shared_bench, session, monkeypatch):
    monkeypatch.setattr(projecting, "POLL_SECONDS", 0.02)
    first, drawing = preview(shared_bench, session), draw(shared_bench, session, ClusterOptions())
    steps = [next(drawing)]
    shared_bench.examples._kept.clear()  # as other models' examples would
    steps += drawing
    assert isinstance(steps[0], Points2D) and np.array_equal(steps[0].points, first.points)
    assert len({step.done for step in steps[1:-1] if 0 < step.done < step.total}) > 0
    corpus_map = steps[-1]
    assert corpus_map.projection.method.startswith("UMAP, 15 neighbours")
    assert set(corpus_map.seconds) >= {"neighbours", "UMAP", "clusters"}
    assert current_map(session) is corpus_map and preview(shared_bench, session) is None


def test_the_map_names_its_clusters_and_holds_them_against_the_label_columns(example):
    assert 8 == example.clustering.count == len(example.names) == len(set(example.names)) == len(example.central)
    assert {accord.column for accord in example.accords} == {"team", "product", "priority"}
    assert next(a for a in example.accords if a.column == "product").ari > 0.15 > abs(example.accords[-1].ari)
    summary = json.loads(json.dumps(example.summary()))
    assert sum(c["size"] for c in summary["clusters"]) == summary["points"] == 926
    places = example.places()
    assert places[0]["row"] == 1 and len(places) == 926 and {"x", "y", "cluster"} < set(places[0])


def test_two_visitors_at_the_same_moment_both_get_the_map_that_this_corpus_always_has(shared_bench, example):
    ids = [shared_bench.sessions.open() for _ in range(2)]
    start = threading.Barrier(2)

    def run(session):
        start.wait()
        return list(draw(shared_bench, session, ClusterOptions()))

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(run, ids))
    assert all(np.array_equal(steps[-1].projection.points, example.projection.points) for steps in runs)
    assert any("Waiting for your turn: 1 map is before yours" in str(step.stage) for steps in runs for step in steps[:-1])


def test_stopped_the_points_stay_where_they_are(shared_bench, session, monkeypatch):
    monkeypatch.setattr(projecting, "POLL_SECONDS", 0.02)
    for step in draw(shared_bench, session, ClusterOptions()):
        if isinstance(step, Points2D) and step.done:
            session.stop(MAP)
    assert "UMAP stopped after" in step.projection.method and step.clustering.count > 1


def test_another_corpus_meanwhile_gets_no_map_of_the_one_before(shared_bench, session):
    steps = draw(shared_bench, session, ClusterOptions())
    next(steps)
    open_example(shared_bench, session, "field_notes.csv")
    assert not any(isinstance(step, CorpusMap) for step in steps)
    refused("no map of this corpus yet", current_map, session)


def test_a_small_corpus_begins_once_unless_its_page_was_left_and_a_large_one_waits(shared_bench, session, monkeypatch):
    assert not begins(session)  # the example waits for a click
    open_example(shared_bench, session, "field_notes.csv")
    assert begins(session) and draws(session) and not begins(session)
    open_example(shared_bench, session, "support_tickets.csv")
    steps = draw(shared_bench, session, ClusterOptions())
    next(step for step in steps if "UMAP" in step.stage and "Preview" not in step.stage)
    assert not begins(session)  # it is being drawn
    steps.close()
    assert begins(session) and shared_bench.lines.maps.counts() == {"running": 0, "waiting": 0}
    drawn(shared_bench, session)
    assert not begins(session) and not draws(session)
    open_example(shared_bench, session, "field_notes.csv")
    monkeypatch.setattr(kept, "DRAWN_AT_ONCE", 449)
    assert not begins(session)


@pytest.mark.parametrize(
    ("texts", "method"),
    [
        (["alone"], "a spiral: all embeddings are equal"),
        (["one", "two", "three"], "principal components: 3 rows are too few for UMAP"),
        (["the very same"] * 40, "a spiral: all embeddings are equal"),
        ([f"row {i}" for i in range(15)] + [""], "principal components: 15 rows"),
        ([f"row number {i} on topic {i % 3}" for i in range(16)], "UMAP, 15 neighbours"),
    ],
)
@pytest.mark.parametrize("how", [K_MEANS, AGGLOMERATIVE, DENSITY])
def test_odd_corpora_get_a_sensible_map(shared_bench, session, texts, method, how):
    opened(shared_bench, session, [{"text": text} for text in texts])
    corpus_map = drawn(shared_bench, session, how)
    assert corpus_map.projection.method.startswith(method)
    points = corpus_map.projection.points
    assert np.isfinite(points).all() and len(np.unique(points, axis=0)) > 0.9 * len(points)
    assert corpus_map.clustering.count == 1 or "spiral" not in method
    assert corpus_map.accords == [] and corpus_map.summary()["points"] == len(list(filter(None, texts)))


def test_own_coordinates_are_not_projected_again_unless_some_are_missing(shared_bench, session):
    rows = [{"text": f"sentence {i}", "X": str(i), "y": f"{-2 * i}"} for i in range(40)]
    opened(shared_bench, session, rows)
    corpus_map = drawn(shared_bench, session)
    assert corpus_map.projection.method == "the corpus's own columns x and y" and "UMAP" not in corpus_map.seconds
    assert np.allclose(corpus_map.projection.points, [[i / 3.9, 10 - i / 3.9] for i in range(40)], atol=1e-4)
    opened(shared_bench, session, [*rows[:-1], rows[-1] | {"y": ""}])
    assert drawn(shared_bench, session).projection.method.startswith("UMAP")


def test_beyond_the_limit_a_sample_is_projected_and_the_others_are_placed(shared_bench, session, monkeypatch):
    monkeypatch.setattr(projecting, "MOST_FITTED", 300)
    monkeypatch.setattr("sbert_app.mapping.projection.EXACT_ROWS", 200)
    corpus_map = drawn(shared_bench, session, "k-means", 3)
    assert corpus_map.projection.method.endswith("the neighbours approximate")
    assert len(corpus_map.projection.drawn) == 300 and len(corpus_map.clustering.labels) == 926
    assert np.isfinite(corpus_map.projection.points).all()
    assert corpus_map.projection.notes[0].startswith("300 of 926 rows")
    sample = set(corpus_map.projection.drawn.tolist())
    index = corpus_map.projection.indexed
    agree = []
    for row in (row for row in range(0, 926, 20) if row not in sample):
        nearest = next(i for i in np.argsort(-(index.embeddings @ index.embeddings[row])).tolist() if i in sample)
        agree.append(corpus_map.clustering.labels[row] == corpus_map.clustering.labels[nearest])
    assert np.mean(agree) > 0.6


def test_regrouping_leaves_the_points_and_the_outlier_share_only_joins(shared_bench, session, example):
    session.put(example)
    corpus_map = regroup(shared_bench, session, ClusterOptions.read(DENSITY, "auto", 100))
    assert corpus_map.projection is example.projection and corpus_map.clustering.outliers > 20
    fewer = regroup(shared_bench, session, ClusterOptions.read(DENSITY, "auto", 1))
    assert fewer.uncut is corpus_map.uncut and fewer.clustering.outliers <= 9
    assert regroup(shared_bench, session, ClusterOptions.read(K_MEANS, "7", 0)).clustering.count == 7
    assert ClusterOptions.read(K_MEANS, " AUTO ").count is None
    few = cluster(np.array([[0, 0], [0, 1], [1, 0], [1, 0]], np.float32), np.eye(4, dtype=np.float32), count=30)
    assert few.count == 3 and few.how == "as many as there are different points, 30 were asked for"


def test_a_query_lies_among_its_nearest_rows_and_colours_the_map(shared_bench, session, example):
    session.put(example)
    corpus_map = place_query(shared_bench, session, "charged two times for the same thing")
    assert corpus_map.query.nearest is None  # which a collection has
    best = near_query(corpus_map).rows[:5]
    assert any("twice" in corpus_map.projection.indexed.corpus.sentences[row] for row in best)
    spread = np.linalg.norm(corpus_map.projection.points - corpus_map.query.point, axis=1)
    assert np.median(spread[best]) < np.quantile(spread, 0.2)
    colours = colouring(corpus_map, QUERY)
    assert isinstance(colours, ColourScale) and colours.values[best[0]] == colours.values.max()
    assert QUERY not in choices(remove_query(session))
    refused("query is blank", place_query, shared_bench, session, "  ")


def test_colours_by_kind_by_number_by_date_and_with_too_many_kinds(shared_bench, session):
    rows = [
        {"text": f"note {i}", "kind": f"k{i % 500}", "size": "n/a" if i % 7 == 0 else f"{i / 2}", "day": f"2026-01-{i % 28 + 1:02}"}
        for i in range(600)
    ]
    opened(shared_bench, session, [row | {"grade": ("7", "10", "2")[i % 3], "blank": ""} for i, row in enumerate(rows)])
    corpus_map = drawn(shared_bench, session)
    assert choices(corpus_map) == [CLUSTERS, *(f"{COLUMN}{name}" for name in ("kind", "size", "day", "grade", "blank"))]
    kinds = colouring(corpus_map, f"{COLUMN}kind")
    assert isinstance(kinds, Categories) and len(kinds.names) == 19 and kinds.rest == "481 other values"
    counts = kinds.counts.tolist()
    assert sum(counts) == 600 and counts[0] == 2 and len(kinds.members(-1)) == counts[-1] == 562
    assert kinds.codes[kinds.members(3)].tolist() == [3, 3]
    refused("“kind” has no value 19", kinds.members, 19)
    size = colouring(corpus_map, f"{COLUMN}size")
    assert isinstance(size, ColourScale) and np.isnan(size.values[::7]).all() and size.ticks == [(0.0, "0.5"), (299.0, "299.5")]
    assert [text for _, text in colouring(corpus_map, f"{COLUMN}day").ticks] == ["2026-01-01", "2026-01-28"]
    grade = colouring(corpus_map, f"{COLUMN}grade")
    assert isinstance(grade, Categories) and grade.names == ["2", "7", "10"]  # in their order
    assert colouring(corpus_map, f"{COLUMN}blank").names == ["(blank)"]
    refused("cannot be coloured by 'magic'", colouring, corpus_map, "magic")


def test_another_model_moves_the_rows_and_says_how_many_neighbours_stay(shared_bench, session, example, shallow_folder):
    session.put(example)
    steps = list(compare_model(shared_bench, session, "all-MiniLM-L6-v2"))
    assert steps[0].result is None and isinstance(steps[-1].result, ModelComparison)
    assert steps[-1].result.kept.min() == 1.0  # the same model: nothing changes
    *_, last = compare_model(shared_bench, session, str(shallow_folder))
    comparison = last.result
    assert 0.1 < comparison.kept.mean() < 0.9 and comparison.model == str(shallow_folder)
    before, after = comparison.same_label["team"]
    assert 0.4 < after < before < 0.8
    corpus_map = current_map(session)
    assert corpus_map.comparison is comparison and DRIFT in choices(corpus_map)
    assert regroup(shared_bench, session, ClusterOptions.read(K_MEANS, 4)).comparison is comparison
    with pytest.raises(UserError):
        list(compare_model(shared_bench, session, "no-such-model"))


def test_the_models_to_compare_with_are_those_of_now_but_the_maps_own(bench, model_folder):
    session, own = bench.sessions.open(), "all-MiniLM-L6-v2"
    assert other_models(bench, session, own) == [] == other_models(bench, Session(), own)
    shutil.copytree(model_folder, bench.settings.models / "tuned", copy_function=os.link)
    assert other_models(bench, session, own) == ["tuned"]
    assert other_models(bench, session, "tuned") == [own]  # the example would be drawn with the header's model
    opened(bench, session, [{"text": f"note {i}"} for i in range(3)])
    assert other_models(bench, session, "tuned") == ["tuned"]  # the corpus was indexed with its own
    assert other_models(bench, session, "runs/secret") == ["tuned", "runs/secret"]  # in use, though not in the list


def test_hits_outside_the_sample_lie_amid_their_nearest_sampled_rows(shared_bench, session, folder, monkeypatch):
    monkeypatch.setattr("sbert_app.collections.opened.MOST_SAMPLED", 60)
    open_address(shared_bench, session, str(folder))
    drawn(shared_bench, session)
    corpus = session.corpus().corpus
    assert corpus.name == "tickets: sample of 60 of 200 rows"
    inside = set(corpus.rows.tolist())
    row = next(row for row in range(1, 201) if row not in inside)
    corpus_map = place_query(shared_bench, session, tickets(200)[row - 1]["text"])
    nearest = corpus_map.query.nearest
    assert nearest.total == 200 and nearest.corpus.rows[0] == row and not nearest.sampled[0]
    assert nearest.sampled.tolist() == [row in inside for row in nearest.corpus.rows.tolist()]
    points = corpus_map.projection.points
    for number, row in enumerate(nearest.corpus.rows.tolist()):
        if nearest.sampled[number]:
            assert nearest.points[number].tolist() == points[corpus.rows.tolist().index(row)].tolist()
    low, high = points.min(axis=0), points.max(axis=0)
    assert np.all((nearest.points >= low) & (nearest.points <= high))
    page = lists.nearest(corpus_map.query, nearest)
    assert "in all 200 rows" in page and page.count("not in the sample</span>") == int((~nearest.sampled).sum()) > 0


TOPICS = ("The invoice {} was charged twice", "My password {} cannot be reset", "The parcel {} has not arrived")
ROWS = [{"text": topic.format(number)} for number in range(6) for topic in TOPICS]


def renamed(bench, session) -> None:
    """A session with this corpus, its map in three clusters, the second of which has a name of its own."""
    opened(bench, session, ROWS)
    drawn(bench, session, "", 3)
    rename(bench, session, 1, "Money back")


def test_a_saved_corpus_has_its_cluster_names_when_another_session_opens_it(bench):
    renamed(bench, bench.sessions.open())
    later = bench.sessions.open()
    (saved,) = saved_corpora(bench)
    open_saved(bench, later, saved.id)
    assert kept.last_grouping(bench.library, later.corpus()) == ["k-means", 3]
    assert drawn(bench, later, "", 3).names[1] == "Money back"
    assert "Money back" not in drawn(bench, later, "", 2).names  # other clusters
    assert regroup(bench, later, ClusterOptions(count=3)).names[1] == "Money back"
    rename(bench, later, 1, "")
    assert "Money back" not in drawn(bench, later, "", 3).names and kept.last_grouping(bench.library, later.corpus()) == []


def test_a_hosted_app_keeps_cluster_names_in_their_session_alone(bench, tmp_path):
    hosted = Workbench(replace(bench.settings, hosted=True))
    mine, other = hosted.sessions.open(), hosted.sessions.open()
    renamed(hosted, mine)
    opened(hosted, mine, ROWS)
    assert drawn(hosted, mine, "", 3).names[1] == "Money back"
    opened(hosted, other, ROWS)
    assert "Money back" not in drawn(hosted, other, "", 3).names
    assert not list(tmp_path.rglob(kept.FILE))


def test_a_damaged_file_of_cluster_names_is_not_read_and_the_next_name_replaces_it_while_its_corpus_is_there(bench):
    renamed(bench, bench.sessions.open())
    (path,) = bench.settings.home.glob(f"corpora/*/{kept.FILE}")
    for damage in ('{"names": [1]}', '{"names": {"x": 5}}', "[]", "\0"):
        path.write_text(damage, encoding="utf-8")
        later = bench.sessions.open()
        opened(bench, later, ROWS)
        assert "Money back" not in drawn(bench, later, "", 3).names
    rename(bench, later, 1, "Refunds")
    assert "Refunds" in path.read_text(encoding="utf-8")
    delete_saved(bench, saved_corpora(bench)[0].id)
    assert rename(bench, later, 1, "Money").names[1] == "Money" and not path.parent.exists()  # only in the session
