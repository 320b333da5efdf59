"""The map of a collection is of its sample; a query shows the nearest rows of all, in the sample or not."""

import numpy as np
import pytest

from sbert_app.jobs.map.job import ClusterOptions, draw, place_query
from sbert_app.jobs.map.kept import mapped_corpus
from sbert_app.jobs.open_collection import open_address
from sbert_app.ui.map import lists
from tests.jobs.collection.made import tickets
from tests.searching import indexed


@pytest.fixture
def mapped(shared_bench, session, folder, monkeypatch):
    """A session with a map of 60 of 200 rows."""
    monkeypatch.setattr("sbert_app.collections.opened.MOST_SAMPLED", 60)
    open_address(shared_bench, session, str(folder))
    list(draw(shared_bench, session, ClusterOptions.read()))
    return session


def test_hits_outside_the_sample_lie_amid_their_nearest_sampled_rows(shared_bench, mapped):
    indexed = mapped_corpus(shared_bench, mapped)
    assert indexed.corpus.name == "tickets: sample of 60 of 200 rows"
    inside = set(indexed.corpus.rows.tolist())
    row = next(row for row in range(1, 201) if row not in inside)
    corpus_map = place_query(shared_bench, mapped, tickets(200)[row - 1]["text"])
    nearest = corpus_map.query.nearest
    assert nearest.total == 200 and nearest.corpus.rows[0] == row and not nearest.sampled[0]
    assert nearest.sampled.tolist() == [row in inside for row in nearest.corpus.rows.tolist()]
    points = corpus_map.projection.points
    for number, row in enumerate(nearest.corpus.rows.tolist()):
        if nearest.sampled[number]:
            assert nearest.points[number].tolist() == points[indexed.corpus.rows.tolist().index(row)].tolist()
    low, high = points.min(axis=0), points.max(axis=0)
    assert np.all((nearest.points >= low) & (nearest.points <= high))
    page = lists.nearest(corpus_map.query, nearest)
    assert "in all 200 rows" in page and page.count("not in the sample</span>") == int((~nearest.sampled).sum()) > 0


def test_of_an_ordinary_corpus_the_map_lists_its_own_rows(shared_bench):
    session = indexed(shared_bench, "\n".join(row["text"] for row in tickets(40)))
    list(draw(shared_bench, session, ClusterOptions.read()))
    assert place_query(shared_bench, session, "login").query.nearest is None
