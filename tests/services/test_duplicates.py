"""Duplicates of a visitor's corpus: found once, grouped at any threshold, dropped with the corpus; another file beside it."""

import math

import pytest

from sbert_app.corpus import mining
from sbert_app.corpus.findings import FileOverlap, Mined
from sbert_app.errors import UserError
from sbert_app.services import duplicates as module
from sbert_app.services.corpora import CorpusService
from sbert_app.services.duplicates import DuplicatesService
from sbert_app.services.overlap import OverlapService
from sbert_app.settings import Limits
from sbert_app.tables import read_table

LIMITS = Limits()


@pytest.fixture
def session(shared_bench):
    session = shared_bench.sessions.open()
    CorpusService(shared_bench).open_example(session.id, "support_tickets.csv")
    return session


@pytest.fixture
def service(shared_bench):
    return DuplicatesService(shared_bench)


def indexed(bench, path):
    session, corpora = bench.sessions.open(), CorpusService(bench)
    guess = corpora.put_table(session.id, corpora.read_file(path))
    assert list(corpora.index(session.id, [guess]))[-1].corpus
    return session


def test_found_once_and_grouped_at_any_threshold(service, session, monkeypatch):
    *_, last = service.find(session.id)
    assert last.share == 1 and session.get(Mined) is last.mined
    monkeypatch.setattr(module, "find_duplicates", None)  # another threshold compares nothing again
    strict, loose = service.findings(session.id, 0.95), service.findings(session.id, 0.85)
    assert 0 < strict.grouping.redundant < loose.grouping.redundant == 26
    group = loose.groups(1)[0]
    assert group[0].score == 1 and group[1].score >= 0.85 and group[1].sentence == loose.corpus.sentences[group[1].row - 1]
    assert {"compare", "group"} == set(loose.seconds) and loose.recall == 1


def test_rows_are_those_of_the_file_and_the_cleaned_corpus_keeps_all_columns(bench, write):
    path = write("a.csv", "team,text\nA,the cat sleeps\nB,\nC,a parcel is late\nD,the cat sleeps\nE,the cat is sleeping\n")
    session, service = indexed(bench, path), DuplicatesService(bench)
    list(service.find(session.id))
    findings = service.findings(session.id, 0.9)
    assert [[member.row for member in group] for group in findings.groups()] == [[1, 4, 5]] and findings.copies == 1
    assert findings.cleaned() == [{"text": "the cat sleeps", "team": "A"}, {"text": "a parcel is late", "team": "C"}]
    verdicts = {record["row"]: (record["verdict"], record["representative"]) for record in findings.verdicts()}
    assert verdicts == {1: ("keep", 1), 3: ("keep", 3), 4: ("drop", 1), 5: ("drop", 1)}
    assert [(pair.row1, pair.row2) for pair in findings.pairs()] == [(1, 4), (1, 5)]


def test_groups_of_different_labels_are_counted_and_the_list_keeps_all_columns(bench, write):
    """A column that differs in most groups, such as `id`, is no label."""
    texts = ["the cat sleeps", "a parcel is late", "my phone rings", "it rains again"]
    values = [(text, f"topic {i}", "low" if i + copy else "high", str(copy)) for copy in (0, 1) for i, text in enumerate(texts)]
    rows = [",".join(row) for row in values]
    session, service = indexed(bench, write("b.csv", "\n".join(["text,topic,row,id", *rows]) + "\n")), DuplicatesService(bench)
    list(service.find(session.id))
    findings = service.findings(session.id, 0.95)
    assert findings.mixed() == {"topic": 0, "row": 1} == findings.summary(0)["groups_of_different_labels"]
    assert next(findings.verdicts())["topic"] == "topic 0" and next(findings.verdicts())["row_"] == "high"


def test_what_the_cross_encoder_said_stays_when_the_threshold_moves(service, session):
    list(service.find(session.id))
    first, _ = service.score_borderline(session.id, 0.9, 10)
    moved = service.findings(session.id, 0.91).borderline(10)
    known = {(pair.row1, pair.row2): pair.cross_score for pair in first}
    both = [pair for pair in moved if (pair.row1, pair.row2) in known]
    assert both and all(pair.cross_score == known[pair.row1, pair.row2] for pair in both)


def test_another_corpus_drops_what_was_found(shared_bench, service, session):
    list(service.find(session.id))
    CorpusService(shared_bench).open_example(session.id, "field_notes.csv")
    with pytest.raises(UserError, match="Find them first"):
        service.findings(session.id)
    assert session.get(Mined) is None


def test_a_corpus_opened_meanwhile_is_not_given_the_old_findings(shared_bench, service, session):
    work = service.find(session.id)
    next(work)
    CorpusService(shared_bench).open_example(session.id, "field_notes.csv")
    list(work)
    assert session.get(Mined) is None


def test_stopping_ends_the_mining(service, session, monkeypatch):
    monkeypatch.setattr(mining, "TILE", 100)
    work = service.find(session.id)
    assert next(work).share == 0 and 0 < next(work).share < 1
    service.stop(session.id)
    assert next(work).stopped and list(work) == [] and session.get(Mined) is None


def test_a_floor_that_rose_is_the_lowest_threshold(service, session, monkeypatch):
    monkeypatch.setattr(module, "find_duplicates", lambda *args: mining_with_few(*args))
    from sbert_app.corpus.duplicates import find_duplicates

    def mining_with_few(*args):
        return find_duplicates(*args, most=10)

    list(service.find(session.id))
    findings = service.findings(session.id, 0.6)
    assert findings.threshold == findings.mined.duplicates.pairs.floor > 0.9 and len(findings.pairs()) == 10


def test_the_cross_encoder_reads_the_borderline_pairs(service, session):
    list(service.find(session.id))
    pairs, seconds = service.score_borderline(session.id, 0.85, 5)
    shown = service.findings(session.id, 0.85).borderline(5)
    assert [(p.row1, p.row2) for p in pairs] == [(p.row1, p.row2) for p in shown] and seconds > 0
    assert all(0 <= pair.cross_score <= 1 for pair in pairs)


@pytest.mark.parametrize("threshold", ["0.9", None, True, 0.2, 1.1, math.nan, [0.9]])
def test_bad_thresholds_are_refused(service, session, threshold):
    list(service.find(session.id))
    with pytest.raises(UserError, match="threshold must be a number in 0.5..1"):
        service.findings(session.id, threshold)
    with pytest.raises(UserError, match="number of pairs"):
        service.score_borderline(session.id, 0.9, 101)


def test_nothing_to_compare_is_said(shared_bench, service, write):
    session = shared_bench.sessions.open()
    with pytest.raises(UserError, match="There is no corpus yet"):
        list(service.find(session.id))
    with pytest.raises(UserError, match="There is no corpus yet"):
        list(OverlapService(shared_bench).compare(session.id, read_table(write("b.csv", "text\na\n"), LIMITS)))


def test_another_file_is_looked_up_in_the_corpus(shared_bench, session, write, sentences):
    path = write("test.csv", f'id,text\n1,"{sentences[4]}"\n2,a train to the moon\n3,"{sentences[9]} Thanks!"\n')
    service = OverlapService(shared_bench)
    *_, last = service.compare(session.id, read_table(path, LIMITS))
    assert last.compared is session.get(FileOverlap) and last.compared.other.columns == ("text",)
    _, matches = service.matches(session.id, 0.85)
    assert [(match.row, match.corpus_row, match.same) for match in matches] == [(1, 5, True), (3, 10, False)]
    assert matches[0].score == 1 and matches[1].corpus_sentence == sentences[9]
    CorpusService(shared_bench).open_example(session.id, "field_notes.csv")
    with pytest.raises(UserError, match="no other file"):
        service.matches(session.id, 0.85)


def test_a_comparison_can_be_stopped(shared_bench, session, write):
    service = OverlapService(shared_bench)
    path = write("c.csv", "text\n" + "\n".join(f"sentence number {i}" for i in range(200)))
    work = service.compare(session.id, read_table(path, LIMITS))
    next(work)
    service.stop(session.id)
    *_, last = work
    assert last.stopped and last.done < 200 and session.get(FileOverlap) is None
