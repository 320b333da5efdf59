import csv
import io

import pytest

from sbert_app.errors import UserError
from sbert_app.services.pair_file import PairFileService, ScoredPairs
from sbert_app.services.similarity import SimilarityService
from sbert_app.tables.writing import csv_file

ROWS = 'id,left,right,note\n1,A red car,A crimson automobile,=1+1\n2,,A dog,b\n3,A dog,The moon,"c,d"\n4,A red car,A dog,e\n'


@pytest.fixture
def service(shared_bench):
    return PairFileService(shared_bench)


@pytest.fixture
def session(shared_bench):
    return shared_bench.sessions.open()


def score(service, session, path, columns=None):
    _, guessed = service.open_file(session.id, path)
    events = list(service.score(session.id, *(columns or guessed)))
    return events[-1].scored, guessed, events


def test_the_file_comes_back_with_a_score_column(service, session, write, shared_bench):
    scored, guessed, events = score(service, session, write("pairs.csv", ROWS))
    assert guessed == ("left", "right") and session.get(ScoredPairs) is scored
    typed = SimilarityService(shared_bench).compare("A red car", "A crimson automobile").score
    assert scored.scores[0] == pytest.approx(typed, abs=5e-3)
    assert [event.total for event in events if event.stage == "Encoding"][-1] == 4  # different sentences, each encoded once
    rows = list(csv.reader(io.StringIO(csv_file(scored.records()).removeprefix("\ufeff"))))
    assert rows[0] == ["id", "left", "right", "note", "score"]
    assert rows[1] == ["1", "A red car", "A crimson automobile", "'=1+1", f"{scored.scores[0]:.4f}".rstrip("0")]
    assert rows[2][-1] == "" and rows[3][3] == "c,d" and len(rows) == 5
    assert [(skip.row, skip.reason) for skip in scored.reading.skipped] == [(2, "blank sentence")]
    assert sum(scored.words().values()) == 3


def test_other_columns_can_be_chosen(service, session, write):
    scored, _, _ = score(service, session, write("pairs.csv", ROWS), ("right", "note"))
    assert scored.reading.mapping.sentences == ("right", "note") and len(scored.scores) == 4
    for columns, message in (
        (("left", "nowhere"), "no column 'nowhere'"),
        (("left", "left"), "chosen twice"),
        (("left", None), "need 2 sentence columns"),
    ):
        with pytest.raises(UserError, match=message):
            list(service.score(session.id, *columns))


def test_a_score_column_of_the_file_is_kept(service, session, write):
    scored, _, _ = score(service, session, write("s.csv", "sentence1,sentence2,score\na cat sits,a cat sat,5\n"))
    assert list(scored.records()[0]) == ["sentence1", "sentence2", "score", "cosine"] and scored.records()[0]["score"] == "5"


def test_short_phrases_are_pairs_too(service, session, write):
    assert score(service, session, write("w.tsv", "n\ta\tb\n1\tcat\tdog\n"))[1] == ("a", "b")


def test_a_file_without_two_columns_and_a_session_without_a_file(service, session, write):
    with pytest.raises(UserError, match="needs two columns of text. This file has one: text"):
        service.open_file(session.id, write("one.txt", "a\nb\n"))
    with pytest.raises(UserError, match="There is no file of pairs yet"):
        list(service.score(session.id, "a", "b"))
    with pytest.raises(UserError, match="0 usable rows"):
        score(service, session, write("blank.csv", "a,b\nx,\n,y\n"), ("a", "b"))


def test_stopped_scoring_stores_nothing(service, session):
    service.open_example(session.id)
    steps = service.score(session.id, "sentence1", "sentence2")
    while next(steps).stage != "Encoding":
        pass
    service.stop(session.id)
    assert list(steps)[-1].stopped and session.get(ScoredPairs) is None
