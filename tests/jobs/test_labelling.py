"""Labelling pairs of a corpus: saved at once, taken back, read from a file, and as training data."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import WORSE
from sbert_app.jobs import labelling
from sbert_app.jobs.corpus.opening import open_example
from sbert_app.jobs.label import adapt, train_on
from sbert_app.jobs.labelling import add, answer, as_csv, begin, change, grade, undo
from sbert_app.labelling.answers import LEARN, MEASURE, UNSURE
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.tables import Table, read_table
from sbert_app.vectors import unit_rows


@pytest.fixture
def session(bench):
    """A session with the example tickets."""
    session = bench.sessions.open()
    open_example(bench, session, "support_tickets.csv")
    return session


def label(session, count, of=lambda current: "yes" if current.pairs.scores[current.question.place] > 0.6 else "no"):
    """Answer so many questions."""
    current = labelling.labelling(session)
    for _ in range(count):
        current = answer(session, of(current), len(current.answers), 1.0)
    return current


def test_candidates_are_near_pairs_of_different_texts(bench, session):
    pairs = begin(bench, session).pairs
    texts = session.corpus().corpus.sentences
    assert 2_000 < len(pairs) < 20_000 and (pairs.rows1 < pairs.rows2).all()
    assert len({*zip(pairs.rows1.tolist(), pairs.rows2.tolist(), strict=True)}) == len(pairs)
    assert all(texts[one].casefold() != texts[two].casefold() for one, two in zip(pairs.rows1, pairs.rows2, strict=True))
    indexed = session.corpus()
    assert pairs.scores[0] == pytest.approx(indexed.embeddings[pairs.rows1[0]] @ indexed.embeddings[pairs.rows2[0]], abs=1e-5)
    random = (indexed.embeddings[:400] * indexed.embeddings[400:800]).sum(axis=1).mean()
    assert pairs.scores.mean() > random + 0.2 and abs(pairs.measured.mean() - 0.5) < 0.01


def test_an_answer_is_on_disk_before_the_next_question_and_another_session_goes_on(bench, session):
    begin(bench, session)
    label(session, 5)
    other = bench.sessions.open()
    open_example(bench, other, "support_tickets.csv")
    again = begin(bench, other)
    assert again.answers == labelling.labelling(session).answers and again.question == labelling.labelling(session).question
    hosted = copy(bench)
    hosted.settings = replace(bench.settings, hosted=True)
    stranger = bench.sessions.open()
    open_example(bench, stranger, "support_tickets.csv")
    assert begin(hosted, stranger).answers == () and label(stranger, 1).log.read() == []


def test_under_another_model_answers_are_found_by_their_texts(bench, session):
    begin(bench, session)
    answers = label(session, 60).answers
    corpus = session.corpus().corpus
    random = np.random.default_rng(0).normal(size=session.corpus().embeddings.shape).astype(np.float32)
    session.open(IndexedCorpus.build(corpus, "another-model", "", random))
    again = begin(bench, session)
    assert [given.texts for given in again.answers] == [given.texts for given in answers]
    there = [given for given in again.answers if given.place >= 0]
    assert 0 < len(there) < 60  # near by words under both
    for given in there:
        ends = again.pairs.rows1[given.place], again.pairs.rows2[given.place]
        assert given.texts == {corpus.sentences[row] for row in ends}
        assert given.why != MEASURE or again.pairs.measured[given.place]
    assert all(given.place >= 0 for given in again.answers if given.why == MEASURE)


def test_two_keys_for_one_question_count_once_and_each_answer_can_be_taken_back(bench, session):
    first = begin(bench, session).question
    once = answer(session, "yes", 0, 1.0)
    assert answer(session, "no", 0, 1.0) is once and [given.label for given in once.answers] == ["yes"]
    label(session, 2)
    for _ in range(5):
        undo(session)
    current = labelling.labelling(session)
    assert current.answers == () and current.question == first and current.log.read() == []


def test_a_full_disk_is_told_and_the_question_stays(bench, session, monkeypatch):
    before = begin(bench, session)

    def full(*_):
        raise UserError("The disk is full.")

    monkeypatch.setattr(type(before.log), "add", full)
    with pytest.raises(UserError, match="disk is full"):
        answer(session, "yes", 0, 1.0)
    assert labelling.labelling(session) is before


@pytest.mark.parametrize("wrong", ["maybe", "", None, 3, "6"])
def test_what_is_no_label_is_refused(bench, session, wrong):
    begin(bench, session)
    with pytest.raises(UserError, match="label|answer"):
        answer(session, wrong, 0)
    assert labelling.labelling(session).answers == ()


def test_labels_are_training_data_and_those_to_measure_by_are_held_out(bench, session):
    begin(bench, session)
    label(session, 15)
    with pytest.raises(UserError, match=r"There are \d+ labels to learn from, at least 20 are needed"):
        train_on(bench, session)
    current = label(session, 75)
    data = train_on(bench, session)
    reasons = {given.texts: given.why for given in reversed(current.answers)}
    kinds = [
        {reasons[frozenset(pair)] for pair in zip(*part.sentences, strict=True)}
        for part in (data.split.train, data.split.dev, data.split.held_out)
    ]
    assert kinds == [{LEARN}, {LEARN}, {MEASURE}]


def test_grades_are_scored_pairs(bench, session):
    begin(bench, session)
    grade(session, True)
    label(session, 60, lambda current: str(round(5 * max(0, float(current.pairs.scores[current.question.place])))))
    assert train_on(bench, session).mapping.kind == "scored"


def test_a_file_of_labels_comes_back_by_its_texts_and_changes_nothing_twice(bench, session, tmp_path):
    begin(bench, session)
    label(session, 45)
    path = tmp_path / "labels.csv"
    path.write_text(as_csv(session), encoding="utf-8")
    table = read_table(path, bench.settings.limits)
    assert len(add(session, table).answers) == 45
    while labelling.labelling(session).answers:
        undo(session)
    back = add(session, table)
    assert len(back.answers) == 44  # one pair was asked twice
    assert all(given.place >= 0 for given in back.answers)
    unknown = pd.DataFrame([{"sentence1": "of another corpus", "sentence2": "not here", "label": "no"}], dtype=str)
    assert add(session, Table("other.csv", unknown, unknown.index.to_numpy())).answers[-1].place == -1


def test_answers_of_one_kind_are_remarked_on(bench, session):
    begin(bench, session)
    (remark,) = label(session, 30, lambda _: "no").remarks
    assert remark.startswith("Hardly any pair is the same so far")
    assert not label(session, 20, lambda _: "yes").remarks
    assert label(session, 1, lambda _: UNSURE).answers[-1].same is None


def test_answers_by_chance_and_against_each_other_are_remarked_on(bench, session):
    random = np.random.default_rng(0)
    begin(bench, session)
    by_chance = label(session, 120, lambda _: "yes" if random.random() < 0.5 else "no")
    assert any(remark.startswith("Pairs that you call the same are hardly nearer") for remark in by_chance.remarks)


def test_a_changed_label_counts_at_once_and_after_a_restart(bench, session):
    begin(bench, session)
    label(session, 6)
    undo(session)
    changed = change(session, 2, UNSURE)
    assert changed.answers[2].same is None and len(changed.answers) == 5
    for number, wrong in ((5, "yes"), (-1, "yes"), (0, "maybe"), (0, None), ("x", "yes")):
        with pytest.raises(UserError):
            change(session, number, wrong)
    other = bench.sessions.open()
    open_example(bench, other, "support_tickets.csv")
    assert begin(bench, other).answers == changed.answers


def test_a_corpus_of_few_pairs_and_none_at_all_are_refused(bench):
    session = bench.sessions.open()
    for ask in (lambda: begin(bench, session), lambda: undo(session), lambda: as_csv(session)):
        with pytest.raises(UserError, match="no corpus yet|No pairs are being labelled"):
            ask()


def test_a_model_from_labels_is_a_folder_that_sentence_transformers_loads(bench, session):
    from sentence_transformers import SentenceTransformer

    begin(bench, session)
    with pytest.raises(UserError, match="at least 20 labels to learn from, of both kinds"):
        adapt(bench, session)
    texts = session.corpus().corpus.sentences
    teams = session.corpus().corpus.metadata["team"].tolist()

    def of_one_team(current):
        place = current.question.place
        return "yes" if teams[current.pairs.rows1[place]] == teams[current.pairs.rows2[place]] else "no"

    label(session, 240, of_one_team)
    made = adapt(bench, session)
    assert made.model == f"{DEFAULT_ENCODER}-adapted" and made.tried[0] < max(made.tried.values())
    assert made.verdict.word != WORSE and made.verdict.examples > 60
    encoder = bench.registry.encoder(made.model)
    theirs = SentenceTransformer(str(bench.settings.models / made.model), device="cpu").encode(texts[:20])
    assert np.abs(unit_rows(encoder.encode(texts[:20])) - unit_rows(theirs)).max() < 0.02  # bf16 where the processor has it
    assert np.abs(unit_rows(theirs) - session.corpus().embeddings[:20]).max() > 0.02
