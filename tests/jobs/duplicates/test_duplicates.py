"""Duplicates of a visitor's corpus: found once, grouped at any threshold, dropped with the corpus; another file beside it."""

import pytest

from sbert_app.corpus import mining
from sbert_app.corpus.findings import Mined
from sbert_app.jobs.corpus.job import index
from sbert_app.jobs.corpus.opening import open_example, open_saved
from sbert_app.jobs.duplicates import job as module
from sbert_app.jobs.duplicates.job import DUPLICATES, MINING, SecondOpinion, findings_of, keep_group, mine, score_borderline
from sbert_app.jobs.duplicates.overlap import FileOverlap, compare_file, matches_of
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.ui.duplicates import view
from sbert_app.ui.kit.take_home import input_of, python, shell
from tests.jobs.refusals import refused
from tests.searching import indexed, of_example

LIMITS = Limits()


@pytest.fixture
def session(shared_bench):
    return of_example(shared_bench, "support_tickets.csv")


@pytest.fixture(scope="module")
def tickets(shared_bench):
    """What is mined in the support tickets."""
    return list(mine(shared_bench, of_example(shared_bench, "support_tickets.csv")))[-1].result


@pytest.fixture
def mined(session, tickets):
    """A session in which the support tickets are mined."""
    session.put(tickets)
    return session


def mined_file(bench, path):
    """A session in which this file is indexed and mined."""
    session = indexed(bench, read_table(path, LIMITS))
    list(mine(bench, session))
    return session


def test_found_once_and_grouped_at_any_threshold(shared_bench, session, monkeypatch):
    *_, last = mine(shared_bench, session)
    assert last.done == last.total and session.get(Mined) is last.result
    monkeypatch.setattr(module, "find_duplicates", None)  # another threshold compares nothing again
    strict, loose = findings_of(session, 0.95), findings_of(session, 0.85)
    assert 0 < strict.grouping.redundant < loose.grouping.redundant == 26
    group = loose.groups(1)[0].members
    assert group[0].score == 1 and group[1].score >= 0.85 and group[1].sentence == loose.corpus.sentences[group[1].row - 1]
    assert {"compare", "group"} == set(loose.seconds) and loose.recall == 1


def test_rows_are_those_of_the_file_and_the_cleaned_corpus_keeps_all_columns(bench, write):
    path = write("a.csv", "team,text\nA,the cat sleeps\nB,\nC,a parcel is late\nD,the cat sleeps\nE,the cat is sleeping\n")
    findings = findings_of(mined_file(bench, path), 0.9)
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
    session = mined_file(bench, write("cats.csv", "\n".join(["id,text,label", *rows]) + "\n"))
    return lambda remove: findings_of(session, 0.9, remove), lambda *group: keep_group(session, 0.9, *group)


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
        refused("not in the list any more", keep_group, *group)
    refused("Unknown rows to remove", findings, "all")
    assert staying(findings("similar")) == [1, 2, 6]


def test_the_cleaned_file_has_the_columns_of_the_file_also_when_its_index_was_saved(cats, bench, write):
    findings, _ = cats
    assert [list(record) for record in findings("copies").cleaned()] == [["id", "text", "label"]] * 4
    again, (saved,) = bench.sessions.open(), bench.library.list()
    open_saved(bench, again, saved.id)
    list(mine(bench, again))
    assert list(findings_of(again, 0.85).cleaned()[0]) == ["id", "text", "label"]
    moved = "\n".join(["id,label,text", *(f"{i},{i % 2},{text}" for i, text in enumerate(CATS, 1))]) + "\n"
    session = mined_file(bench, write("cats.csv", moved))  # the same corpus but for the order of its columns
    assert list(findings_of(session, 0.85).cleaned()[0]) == ["id", "label", "text"]


def test_groups_of_different_labels_are_counted_and_the_list_keeps_all_columns(bench, write):
    """A column that differs in most groups, such as `id`, is no label."""
    texts = ["the cat sleeps", "a parcel is late", "my phone rings", "it rains again"]
    values = [(text, f"topic {i}", "low" if i + copy else "high", str(copy)) for copy in (0, 1) for i, text in enumerate(texts)]
    rows = [",".join(row) for row in values]
    findings = findings_of(mined_file(bench, write("b.csv", "\n".join(["text,topic,row,id", *rows]) + "\n")), 0.95)
    assert findings.mixed() == {"topic": 0, "row": 1} == findings.summary(0)["groups_of_different_labels"]
    assert next(findings.verdicts())["topic"] == "topic 0" and next(findings.verdicts())["row_"] == "high"


def test_a_corpus_opened_meanwhile_is_not_given_the_old_findings(shared_bench, session):
    work = mine(shared_bench, session)
    next(work)
    open_example(shared_bench, session, "field_notes.csv")
    list(work)
    assert session.get(Mined) is None


def test_stopping_ends_the_mining(shared_bench, session, monkeypatch):
    monkeypatch.setattr(mining, "TILE", 100)
    work = mine(shared_bench, session)
    assert next(work).done == 0 and 0 < (step := next(work)).done < step.total
    session.stop(MINING)
    assert next(work).stopped and list(work) == [] and session.get(Mined) is None


def test_a_floor_that_rose_is_the_lowest_threshold(shared_bench, session, monkeypatch):
    monkeypatch.setattr(mining, "MOST_PAIRS", 10)
    list(mine(shared_bench, session))
    findings = findings_of(session, 0.6)
    assert findings.threshold == findings.mined.duplicates.pairs.floor > 0.9 and len(findings.pairs()) == 10


def test_the_cross_encoder_reads_the_borderline_pairs_and_its_scores_stay_when_the_threshold_moves(shared_bench, mined):
    pairs, opinion = score_borderline(shared_bench, mined, 0.85, 10)
    assert pairs == findings_of(mined, 0.85).borderline(10) and opinion.seconds > 0
    assert all(0 <= pair.cross_score <= 1 for pair in pairs)
    assert (opinion.model, opinion.trained_for, opinion.bounds) == (DEFAULT_CROSS_ENCODER, "likeness", (0, 1))
    known = {(pair.row1, pair.row2): pair.cross_score for pair in pairs}
    both = [pair for pair in findings_of(mined, 0.86).borderline(10) if (pair.row1, pair.row2) in known]
    assert both and all(pair.cross_score == known[pair.row1, pair.row2] for pair in both)


def test_another_model_may_read_them_and_scores_of_two_models_never_mix(shared_bench, mined, cross_folder, tmp_path):
    identity = {"sentence_transformers": {"activation_fn": "torch.nn.Identity"}}
    other = str(cross_folder(tmp_path / "ms-marco-mine", **identity))
    score_borderline(shared_bench, mined, 0.85, 20)
    pairs, opinion = score_borderline(shared_bench, mined, 0.85, 5, other)
    assert (opinion.model, opinion.trained_for, opinion.bounds) == (other, "answers", None)
    assert len(opinion.scores) == 5 and max(abs(pair.cross_score) for pair in pairs) > 1  # logits
    borderline = findings_of(mined, 0.85).borderline(20)
    assert borderline[:5] == pairs and all(pair.cross_score is None for pair in borderline[5:])
    again, opinion = score_borderline(shared_bench, mined, 0.85, 8, other)
    assert again[:5] == pairs and len(opinion.scores) == 8
    summary = opinion.summary(again)
    assert summary["trained_for"] == "answers" and summary["pairs"][0]["cross_encoder_score"] == again[0].cross_score
    assert "how well one text answers the other, not how alike they are: a logit" in summary["how_to_read"]
    text = view.borderline(borderline, 0.85, opinion)
    assert "0 is unrelated" not in text and "trained for answers, scored 5 of them in" in text and "<small>logit</small>" in text
    refused("gives 3 labels, not a score", score_borderline, shared_bench, mined, 0.85, 5, str(cross_folder(tmp_path / "three", 3)))
    open_example(shared_bench, mined, "field_notes.csv")
    assert mined.get(SecondOpinion) is None and mined.get(Mined) is None
    refused("Find them first", findings_of, mined, 0.85)


def test_another_file_is_looked_up_in_the_corpus(shared_bench, session, write, sentences):
    path = write("test.csv", f'id,text\n1,"{sentences[4]}"\n2,a train to the moon\n3,"{sentences[9]} Thanks!"\n')
    *_, last = compare_file(shared_bench, session, read_table(path, LIMITS))
    assert last.result is session.get(FileOverlap) and last.result.other.columns == ("text",)
    _, matches = matches_of(session, 0.85)
    assert [(match.row, match.corpus_row, match.same) for match in matches] == [(1, 5, True), (3, 10, False)]
    assert matches[0].score == 1 and matches[1].corpus_sentence == sentences[9]
    open_example(shared_bench, session, "field_notes.csv")
    refused("no other file", matches_of, session, 0.85)


def test_another_file_is_mended_as_the_corpus_was_and_so_say_its_commands(bench, write):
    table = read_table(write("pans.csv", "id,text\n1,<p>a pan<br/>of steel</p>\n2,<b>a lid</b>\n3,a spoon\n"), LIMITS)
    session = bench.sessions.open()
    session.put(table)
    *_, last = index(bench, session, ["text"], mends=["html"])
    for opened in (last.result, open_saved(bench, session, last.result.saved_id)):
        assert opened.corpus.sentences[1] == "a lid" and "Mended: Take out HTML." in opened.corpus.notes
        *_, compared = compare_file(bench, session, table)
        assert compared.result.same.all() and bench.library.list()[0].text == "text, mended"
        taken = input_of(opened)
        assert "--mend html" in shell(DUPLICATES, {}, taken) and "mends=['html']" in python(DUPLICATES, {}, taken)
