"""Names given to clusters: kept for the same clustering of the same corpus, on disk with a saved one, else in the session."""

from pathlib import Path

import pytest

from sbert_app.jobs.corpus.opening import delete_saved, open_saved, saved_corpora
from sbert_app.jobs.map.job import ClusterOptions, regroup, rename
from sbert_app.jobs.map.kept import FILE, last_grouping
from sbert_app.runtime.workbench import Workbench, close
from sbert_app.settings import Settings
from tests.jobs.map.test_cluster_map import drawn, opened

TOPICS = ("The invoice {} was charged twice", "My password {} cannot be reset", "The parcel {} has not arrived")
ROWS = [{"text": topic.format(number)} for number in range(6) for topic in TOPICS]


@pytest.fixture
def bench(tmp_path, request):
    bench = Workbench(Settings(home=tmp_path, device="cpu", hosted=getattr(request, "param", False)))
    yield bench
    close(bench)


def renamed(bench, session) -> None:
    """A session with this corpus, its map in three clusters, the second of which has a name of its own."""
    opened(bench, session, ROWS)
    drawn(bench, session, "", 3)
    rename(bench, session, 1, "Money back")


def names_file(home: Path) -> Path:
    (path,) = home.glob(f"corpora/*/{FILE}")
    return path


def test_a_saved_corpus_has_its_cluster_names_when_another_session_opens_it(bench):
    renamed(bench, bench.sessions.open())
    later = bench.sessions.open()
    (saved,) = saved_corpora(bench)
    open_saved(bench, later, saved.id)
    assert last_grouping(bench.library, later.corpus()) == ["k-means", 3]
    assert drawn(bench, later, "", 3).names[1] == "Money back"
    assert "Money back" not in drawn(bench, later, "", 2).names  # other clusters
    assert regroup(bench, later, ClusterOptions(count=3)).names[1] == "Money back"
    rename(bench, later, 1, "")
    assert "Money back" not in drawn(bench, later, "", 3).names and last_grouping(bench.library, later.corpus()) == []


@pytest.mark.parametrize("bench", [True], indirect=True)
def test_a_hosted_app_keeps_cluster_names_in_their_session_alone(bench, tmp_path):
    mine, other = bench.sessions.open(), bench.sessions.open()
    renamed(bench, mine)
    opened(bench, mine, ROWS)
    assert drawn(bench, mine, "", 3).names[1] == "Money back"
    opened(bench, other, ROWS)
    assert "Money back" not in drawn(bench, other, "", 3).names
    assert not list(tmp_path.rglob(FILE))


def test_a_damaged_file_of_cluster_names_is_not_read_and_the_next_name_replaces_it(bench, tmp_path):
    renamed(bench, bench.sessions.open())
    path = names_file(tmp_path)
    for damage in ('{"names": [1]}', '{"names": {"x": 5}}', "[]", "\0"):
        path.write_text(damage, encoding="utf-8")
        later = bench.sessions.open()
        opened(bench, later, ROWS)
        assert "Money back" not in drawn(bench, later, "", 3).names
    rename(bench, later, 1, "Refunds")
    assert "Refunds" in path.read_text(encoding="utf-8")


def test_a_name_is_given_though_its_corpus_was_deleted_meanwhile(bench, tmp_path):
    session = bench.sessions.open()
    renamed(bench, session)
    (saved,) = saved_corpora(bench)
    delete_saved(bench, saved.id)
    assert rename(bench, session, 1, "Refunds").names[1] == "Refunds"
    assert not list((tmp_path / "corpora").glob("*"))
