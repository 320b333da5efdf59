"""Duplicates of a visitor's corpus: found once, grouped at any threshold, dropped with the corpus; another file beside it."""

import math

import pytest

from sbert_app.corpus import mining
from sbert_app.corpus.findings import Mined
from sbert_app.corpus.overlap import FileOverlap
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.opening import CorpusService
from sbert_app.jobs.duplicates import mining as module
from sbert_app.jobs.duplicates.mining import DuplicatesService
from sbert_app.jobs.duplicates.overlap import OverlapService
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.ui.duplicates import view

LIMITS = Limits()


@pytest.fixture
def session(shared_bench):
    session = shared_bench.sessions.open()
    CorpusService(shared_bench).open_example(session, "support_tickets.csv")
    return session


@pytest.fixture
def service(shared_bench):
    return DuplicatesService(shared_bench)


def indexed(bench, path):
    session, corpora = bench.sessions.open(), CorpusService(bench)
    guess = corpora.put_table(session, corpora.read_file(path))
    assert list(corpora.index(session, [guess]))[-1].corpus
    return session


def test_found_once_and_grouped_at_any_threshold(service, session, monkeypatch):
    *_, last = service.find(session)
    assert last.share == 1 and session.get(Mined) is last.mined
    monkeypatch.setattr(module, "find_duplicates", None)  # another threshold compares nothing again
    strict, loose = service.findings(session, 0.95), service.findings(session, 0.85)
    assert 0 < strict.grouping.redundant < loose.grouping.redundant == 26
    group = loose.groups(1)[0].members
    assert group[0].score == 1 and group[1].score >= 0.85 and group[1].sentence == loose.corpus.sentences[group[1].row - 1]
    assert {"compare", "group"} == set(loose.seconds) and loose.recall == 1


def test_rows_are_those_of_the_file_and_the_cleaned_corpus_keeps_all_columns(bench, write):
    path = write("a.csv", "team,text\nA,the cat sleeps\nB,\nC,a parcel is late\nD,the cat sleeps\nE,the cat is sleeping\n")
    session, service = indexed(bench, path), DuplicatesService(bench)
    list(service.find(session))
    findings = service.findings(session, 0.9)
    assert [[member.row for member in group.members] for group in findings.groups()] == [[1, 4, 5]] and findings.copies == 1
    assert findings.cleaned() == [{"team": "A", "text": "the cat sleeps"}, {"team": "C", "text": "a parcel is late"}]
    verdicts = {record["row"]: (record["verdict"], record["representative"]) for record in findings.verdicts()}
    assert verdicts == {1: ("keep", 1), 3: ("keep", 3), 4: ("drop", 1), 5: ("drop", 1)}
    assert [(pair.row1, pair.row2) for pair in findings.pairs()] == [(1, 4), (1, 5)]


CATS = ["the cat sleeps", "a parcel is late", "the cat is sleeping", "the cat sleeps", "the cat is sleeping", "it rains"]


@pytest.fixture
def cats(bench, write):
    """A visitor whose rows 1, 3, 4, 5 are one group: 1 and 4 the same text, 3 and 5 the same text."""
    rows = [f"{i},{text},{i % 2}" for i, text in enumerate(CATS, 1)]
    session, service = indexed(bench, write("cats.csv", "\n".join(["id,text,label", *rows]) + "\n")), DuplicatesService(bench)
    list(service.find(session))
    return lambda remove: service.findings(session, 0.9, remove), lambda *group: service.keep_group(session, 0.9, *group)


def staying(findings):
    """The rows that stay; all that is exported agrees on them, and each row that goes has a row that stays in its place."""
    verdicts = {record["row"]: record for record in findings.verdicts()}
    kept = [row for row, record in verdicts.items() if record["verdict"] == "keep"]
    assert [record["id"] for record in findings.cleaned()] == [str(row) for row in kept] and findings.staying == len(kept)
    assert all(record["representative"] in kept for record in verdicts.values() if record["verdict"] == "drop")
    members = [member for group in findings.groups() for member in group.members]
    assert all(member.keep == (member.row in kept) for member in members)
    return kept


def test_copies_alone_leave_one_row_of_each_text_and_similar_rows_too_one_of_each_group(cats):
    findings, _ = cats
    copies, similar = findings("copies"), findings("similar")
    assert staying(copies) == [1, 2, 3, 6] and staying(similar) == [1, 2, 6]
    assert (copies.copies, copies.similar, copies.grouping.redundant) == (2, 1, 3)
    placed = {record["row"]: (record["representative"], record["score"]) for record in copies.verdicts()}
    assert placed[4] == (1, 1) and placed[5] == (3, 1) and placed[3][0] == 1 and 0.9 <= placed[3][1] < 1
    assert {member.row: member.copy_of for member in copies.groups()[0].members} == {1: None, 4: 1, 3: None, 5: 3}


@pytest.mark.parametrize("remove", ["copies", "similar"])
def test_a_group_that_is_kept_whole_loses_no_row(cats, remove):
    findings, keep_group = cats
    before = staying(findings(remove))
    keep_group(1, True)
    whole = findings(remove)
    assert staying(whole) == [1, 2, 3, 4, 5, 6] and whole.groups()[0].whole and whole.spared == 6 - len(before)
    keep_group(1, False)
    assert staying(findings(remove)) == before and findings(remove).spared == 0


def test_only_a_group_of_the_list_can_be_kept(cats):
    findings, keep_group = cats
    for group in [(2, True), (4, True), (0, True), (10**30, True), ("1", True), (None, True), (1, 1), (1, None)]:
        with pytest.raises(UserError, match="not in the list any more"):
            keep_group(*group)
    with pytest.raises(UserError, match="Unknown rows to remove"):
        findings("all")
    assert staying(findings("similar")) == [1, 2, 6]


def test_the_cleaned_file_has_the_columns_of_the_file_also_when_its_index_was_saved(cats, bench, write):
    findings, _ = cats
    assert [list(record) for record in findings("copies").cleaned()] == [["id", "text", "label"]] * 4
    service, corpora = DuplicatesService(bench), CorpusService(bench)
    again, (saved,) = bench.sessions.open(), bench.library.list()
    corpora.open_saved(again, saved.id)
    list(service.find(again))
    assert list(service.findings(again).cleaned()[0]) == ["id", "text", "label"]
    moved = "\n".join(["id,label,text", *(f"{i},{i % 2},{text}" for i, text in enumerate(CATS, 1))]) + "\n"
    session = indexed(bench, write("cats.csv", moved))  # the same corpus but for the order of its columns
    list(service.find(session))
    assert list(service.findings(session).cleaned()[0]) == ["id", "label", "text"]


def test_groups_of_different_labels_are_counted_and_the_list_keeps_all_columns(bench, write):
    """A column that differs in most groups, such as `id`, is no label."""
    texts = ["the cat sleeps", "a parcel is late", "my phone rings", "it rains again"]
    values = [(text, f"topic {i}", "low" if i + copy else "high", str(copy)) for copy in (0, 1) for i, text in enumerate(texts)]
    rows = [",".join(row) for row in values]
    session, service = indexed(bench, write("b.csv", "\n".join(["text,topic,row,id", *rows]) + "\n")), DuplicatesService(bench)
    list(service.find(session))
    findings = service.findings(session, 0.95)
    assert findings.mixed() == {"topic": 0, "row": 1} == findings.summary(0)["groups_of_different_labels"]
    assert next(findings.verdicts())["topic"] == "topic 0" and next(findings.verdicts())["row_"] == "high"


def test_what_the_cross_encoder_said_stays_when_the_threshold_moves(service, session):
    list(service.find(session))
    first, _ = service.score_borderline(session, 0.9, 10)
    moved = service.findings(session, 0.91).borderline(10)
    known = {(pair.row1, pair.row2): pair.cross_score for pair in first}
    both = [pair for pair in moved if (pair.row1, pair.row2) in known]
    assert both and all(pair.cross_score == known[pair.row1, pair.row2] for pair in both)


def test_another_corpus_drops_what_was_found(shared_bench, service, session):
    list(service.find(session))
    CorpusService(shared_bench).open_example(session, "field_notes.csv")
    with pytest.raises(UserError, match="Find them first"):
        service.findings(session)
    assert session.get(Mined) is None


def test_a_corpus_opened_meanwhile_is_not_given_the_old_findings(shared_bench, service, session):
    work = service.find(session)
    next(work)
    CorpusService(shared_bench).open_example(session, "field_notes.csv")
    list(work)
    assert session.get(Mined) is None


def test_stopping_ends_the_mining(service, session, monkeypatch):
    monkeypatch.setattr(mining, "TILE", 100)
    work = service.find(session)
    assert next(work).share == 0 and 0 < next(work).share < 1
    service.stop(session)
    assert next(work).stopped and list(work) == [] and session.get(Mined) is None


def test_a_floor_that_rose_is_the_lowest_threshold(service, session, monkeypatch):
    monkeypatch.setattr(module, "find_duplicates", lambda *args: mining_with_few(*args))
    from sbert_app.corpus.duplicates import find_duplicates

    def mining_with_few(*args):
        return find_duplicates(*args, most=10)

    list(service.find(session))
    findings = service.findings(session, 0.6)
    assert findings.threshold == findings.mined.duplicates.pairs.floor > 0.9 and len(findings.pairs()) == 10


def test_the_cross_encoder_reads_the_borderline_pairs(service, session):
    list(service.find(session))
    pairs, opinion = service.score_borderline(session, 0.85, 5)
    borderline = service.findings(session, 0.85).borderline(5)
    assert [(p.row1, p.row2) for p in pairs] == [(p.row1, p.row2) for p in borderline] and opinion.seconds > 0
    assert all(0 <= pair.cross_score <= 1 for pair in pairs) and pairs == borderline
    assert (opinion.model, opinion.trained_for, opinion.bounds) == (DEFAULT_CROSS_ENCODER, "likeness", (0, 1))


def test_another_model_may_read_them_and_scores_of_two_models_never_mix(service, session, cross_folder, tmp_path):
    identity = {"sentence_transformers": {"activation_fn": "torch.nn.Identity"}}
    other = str(cross_folder(tmp_path / "ms-marco-mine", **identity))
    list(service.find(session))
    service.score_borderline(session, 0.85, 20)
    pairs, opinion = service.score_borderline(session, 0.85, 5, other)
    assert (opinion.model, opinion.trained_for, opinion.bounds) == (other, "answers", None)
    assert len(opinion.scores) == 5 and max(abs(pair.cross_score) for pair in pairs) > 1  # logits
    borderline = service.findings(session, 0.85).borderline(20)
    assert borderline[:5] == pairs and all(pair.cross_score is None for pair in borderline[5:])
    again, opinion = service.score_borderline(session, 0.85, 8, other)
    assert again[:5] == pairs and len(opinion.scores) == 8
    summary = opinion.summary(again)
    assert summary["trained_for"] == "answers" and summary["pairs"][0]["cross_encoder_score"] == again[0].cross_score
    assert "how well one text answers the other, not how alike they are: a logit" in summary["how_to_read"]
    text = view.borderline(borderline, 0.85, opinion)
    assert "0 is unrelated" not in text and "trained for answers, scored 5 of them in" in text and "<small>logit</small>" in text
    CorpusService(service._bench).open_example(session, "field_notes.csv")
    assert service.opinion(session) is None


def test_a_model_of_three_labels_and_a_folder_without_one_are_a_sentence(service, session, cross_folder, tmp_path):
    list(service.find(session))
    with pytest.raises(UserError, match="gives 3 labels, not a score"):
        service.score_borderline(session, 0.85, 5, str(cross_folder(tmp_path / "three", 3)))
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match="holds no model"):
        service.score_borderline(session, 0.85, 5, str(tmp_path / "none"))
    assert service.opinion(session) is None


@pytest.mark.parametrize("threshold", ["0.9", None, True, 0.2, 1.1, math.nan, [0.9]])
def test_bad_thresholds_are_refused(service, session, threshold):
    list(service.find(session))
    with pytest.raises(UserError, match="threshold must be a number in 0.5..1"):
        service.findings(session, threshold)
    with pytest.raises(UserError, match="number of pairs"):
        service.score_borderline(session, 0.9, 101)


def test_nothing_to_compare_is_said(shared_bench, service, write):
    session = shared_bench.sessions.open()
    with pytest.raises(UserError, match="There is no corpus yet"):
        list(service.find(session))
    with pytest.raises(UserError, match="There is no corpus yet"):
        list(OverlapService(shared_bench).compare(session, read_table(write("b.csv", "text\na\n"), LIMITS)))


def test_another_file_is_looked_up_in_the_corpus(shared_bench, session, write, sentences):
    path = write("test.csv", f'id,text\n1,"{sentences[4]}"\n2,a train to the moon\n3,"{sentences[9]} Thanks!"\n')
    service = OverlapService(shared_bench)
    *_, last = service.compare(session, read_table(path, LIMITS))
    assert last.compared is session.get(FileOverlap) and last.compared.other.columns == ("text",)
    _, matches = service.matches(session, 0.85)
    assert [(match.row, match.corpus_row, match.same) for match in matches] == [(1, 5, True), (3, 10, False)]
    assert matches[0].score == 1 and matches[1].corpus_sentence == sentences[9]
    CorpusService(shared_bench).open_example(session, "field_notes.csv")
    with pytest.raises(UserError, match="no other file"):
        service.matches(session, 0.85)


def test_a_comparison_can_be_stopped(shared_bench, session, write):
    service = OverlapService(shared_bench)
    path = write("c.csv", "text\n" + "\n".join(f"sentence number {i}" for i in range(200)))
    work = service.compare(session, read_table(path, LIMITS))
    next(work)
    service.stop(session)
    *_, last = work
    assert last.stopped and last.done < 200 and session.get(FileOverlap) is None
