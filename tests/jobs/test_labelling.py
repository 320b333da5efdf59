"""Labelling pairs of a corpus: saved at once, taken back, as training data; and the job label, as JSON and as a file."""

import csv
import json
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.jobs import labelling
from sbert_app.jobs.declaring.job import Call, outcome_of
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.label import LABEL, LEAST, LabelOptions, adapt, train_on
from sbert_app.jobs.labelling import add, answer, as_csv, begin, change, grade, undo
from sbert_app.labelling.answers import AGAIN, LEARN, MEASURE, UNSURE, Log
from sbert_app.labelling.estimates import AtThreshold, Estimate
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.tables import Table, csv_file, read_table
from sbert_app.ui.fine_tune.label_panel import _so_far, view
from sbert_app.vectors import unit_rows
from tests.jobs.refusals import refused
from tests.searching import of_example


def opened(bench):
    return of_example(bench, "support_tickets.csv")


@pytest.fixture
def session(bench):
    """A session in which the pairs of the example tickets are being labelled."""
    session = opened(bench)
    begin(bench, session)
    return session


def label(session, count, of=lambda current: "yes" if current.pairs.scores[current.question.place] > 0.6 else "no"):
    """Answer so many questions."""
    current = labelling.labelling(session)
    for _ in range(count):
        current = answer(session, of(current), len(current.answers), 1.0)
    return current


def test_candidates_are_near_pairs_of_different_texts(session):
    pairs, texts = labelling.labelling(session).pairs, session.corpus().corpus.sentences
    assert 2_000 < len(pairs) < 20_000 and (pairs.rows1 < pairs.rows2).all()
    assert len({*zip(pairs.rows1.tolist(), pairs.rows2.tolist(), strict=True)}) == len(pairs)
    assert all(texts[one].casefold() != texts[two].casefold() for one, two in zip(pairs.rows1, pairs.rows2, strict=True))
    indexed = session.corpus()
    assert pairs.scores[0] == pytest.approx(indexed.embeddings[pairs.rows1[0]] @ indexed.embeddings[pairs.rows2[0]], abs=1e-5)
    random = (indexed.embeddings[:400] * indexed.embeddings[400:800]).sum(axis=1).mean()
    assert pairs.scores.mean() > random + 0.2 and abs(pairs.measured.mean() - 0.5) < 0.01


def test_an_answer_is_on_disk_before_the_next_question_and_another_session_goes_on(bench, session):
    label(session, 5)
    again = begin(bench, opened(bench))
    assert again.answers == labelling.labelling(session).answers and again.question == labelling.labelling(session).question
    hosted = copy(bench)
    hosted.settings = replace(bench.settings, hosted=True)
    stranger = opened(bench)
    assert begin(hosted, stranger).answers == () and label(stranger, 1).log.read() == []
    stranger.open(stranger.corpus(), None, labelling.former_labels(stranger))  # as by another model
    assert len(begin(hosted, stranger).answers) == 1


def test_labels_come_along_to_a_longer_state_of_the_file_and_to_no_other(bench, session):
    answers, all_of_it = label(session, 6).answers, session.corpus()
    longer, other = opened(bench), opened(bench)
    for new, texts in ((longer, ["One more row", *all_of_it.corpus.sentences]), (other, all_of_it.corpus.sentences[::3])):
        corpus = replace(all_of_it.corpus, sentences=texts, rows=np.arange(1, len(texts) + 1))
        vectors = np.vstack([all_of_it.embeddings[:1], all_of_it.embeddings])[: len(texts)]
        new.open(IndexedCorpus.build(corpus, all_of_it.model, all_of_it.fingerprint, vectors))
    begun = begin(bench, longer)
    rows = {text: row for row, text in enumerate(longer.corpus().corpus.sentences, 1)}
    assert [(given.texts, given.label) for given in begun.answers] == [(given.texts, given.label) for given in answers]
    assert all((given.row1, given.row2) == (rows[given.sentence1], rows[given.sentence2]) for given in begun.answers)
    assert begun.log.read() and begun.remarks[0].startswith("6 labels came along")
    assert begin(bench, other).answers == ()


def test_labels_of_another_window_are_there_and_none_takes_anothers_place(bench, session):
    """Two windows on one corpus: what is answered, changed or taken back in one is seen in the other before it does anything."""
    label(session, 4, lambda _: "yes")
    other = opened(bench)
    begin(bench, other)
    label(other, 2, lambda _: "no")
    stale = answer(session, "yes", 4)
    assert [given.label for given in stale.answers] == ["yes"] * 4 + ["no"] * 2  # shown, not answered: that pair was another
    assert stale.question == labelling.labelling(other).question
    change(other, 0, "no")
    undo(session)
    for window in (other, opened(bench)):
        assert [given.label for given in begin(bench, window).answers] == ["no", "yes", "yes", "yes", "no"]


def test_before_a_model_is_made_the_page_counts_the_labels_to_learn_from(session):
    counted = view(label(session, 6))
    learnt = sum(given.why == LEARN for given in labelling.labelling(session).answers)
    told = f"{learnt} labels to learn from, {6 - learnt} to measure by. They make a model after about {2 * (LEAST - learnt)} more."
    assert 0 < learnt < 6 and told in counted and "adapt" not in counted
    while learnt < LEAST:
        learnt += label(session, 1).answers[-1].why == LEARN
    learning = view(labelling.labelling(session))
    assert f"{LEAST} labels to learn from" in learning and 'data-act="adapt"' in learning
    hosted = view(replace(labelling.labelling(session), log=Log()))
    assert f"{LEAST} labels to learn from" in hosted and 'data-act="adapt"' not in hosted


def test_the_page_offers_no_threshold_that_duplicates_lacks():
    point = AtThreshold(0.3, 0.9, 0.9, (0.8, 1.0), (0.8, 1.0))
    for threshold, button in ((0.3, "Use 0.50, the lowest there is, in Duplicates<"), (0.62, "Use 0.62 in Duplicates<")):
        best = replace(point, threshold=threshold)
        assert button in _so_far(Estimate([best], best, 30, 30))


def test_under_another_model_answers_are_found_by_their_texts(bench, session):
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
        assert given.why == next(before.why for before in answers if before.texts == given.texts)
    assert {bool(again.pairs.measured[given.place]) for given in there if given.why == MEASURE} == {True, False}
    assert all(given.place >= 0 for given in again.answers if given.why == MEASURE)


def test_two_keys_for_one_question_count_once_and_each_answer_can_be_taken_back(session):
    first = labelling.labelling(session).question
    once = answer(session, "yes", 0, 1.0)
    assert answer(session, "no", 0, 1.0) is once and [given.label for given in once.answers] == ["yes"]
    label(session, 2)
    for _ in range(5):
        undo(session)
    current = labelling.labelling(session)
    assert current.answers == () and current.question == first and current.log.read() == []


def test_a_full_disk_is_told_and_the_question_stays(session, monkeypatch):
    before = labelling.labelling(session)

    def full(*_):
        raise UserError("The disk is full.")

    monkeypatch.setattr(type(before.log), "add", full)
    refused("disk is full", answer, session, "yes", 0, 1.0)
    assert labelling.labelling(session) is before


def test_what_is_no_label_is_refused_and_so_is_any_without_a_corpus_or_labels(bench, session):
    for wrong in ("maybe", "", None, 3.0, 6, True):
        refused("label|answer", answer, session, wrong, 0)
    assert labelling.labelling(session).answers == ()
    other = bench.sessions.open()
    for ask in (lambda: begin(bench, other), lambda: undo(other), lambda: as_csv(other)):
        refused("no corpus yet|No pairs are being labelled", ask)


def test_labels_are_training_data_and_those_to_measure_by_are_held_out(bench, session):
    label(session, 15)
    refused(r"There are \d+ labels to learn from, at least 20 are needed", train_on, bench, session)
    current = label(session, 75)
    data = train_on(bench, session)
    reasons = {given.texts: given.why for given in reversed(current.answers)}
    kinds = [
        {reasons[frozenset(pair)] for pair in zip(*part.sentences, strict=True)}
        for part in (data.split.train, data.split.dev, data.split.held_out)
    ]
    assert kinds == [{LEARN}, {LEARN}, {MEASURE}]


def test_a_file_of_labels_comes_back_by_its_texts_and_changes_nothing_twice(bench, session, tmp_path):
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


def test_a_few_different_grades_are_scores_too_though_the_held_out_ones_have_another(bench, session):
    grade(session, True)
    label(session, 60, lambda current: "053"[len(current.answers) // 2 % 3])
    by_measure = next(n for n, given in enumerate(labelling.labelling(session).answers) if given.why == MEASURE)
    change(session, by_measure, "1")
    split = train_on(bench, session).split
    assert split.train.kind == "scored" and split.train.score_range == split.held_out.score_range == (0, 5)
    assert {*split.train.targets} <= {0.0, 0.6, 1.0} and 0.2 in split.held_out.targets


def test_answers_of_one_kind_are_remarked_on(session):
    (remark,) = label(session, 30, lambda _: "no").remarks
    assert remark.startswith("Hardly any pair is the same so far")
    assert not label(session, 20, lambda _: "yes").remarks
    assert label(session, 1, lambda _: UNSURE).answers[-1].same is None


def test_answers_by_chance_are_remarked_on_and_the_training_data_made_of_them_say_so(bench, session):
    random = np.random.default_rng(0)
    label(session, 120, lambda _: "yes" if random.random() < 0.5 else "no")
    notes = train_on(bench, session).reading.notes
    assert any(note.startswith("Pairs that you call the same are hardly nearer") for note in notes)


def test_a_changed_label_counts_at_once_and_after_a_restart(bench, session):
    label(session, 6)
    undo(session)
    changed = change(session, 2, UNSURE)
    assert changed.answers[2].same is None and len(changed.answers) == 5
    for number, wrong in ((5, "yes"), (-1, "yes"), (0, "maybe"), (0, None), ("x", "yes")):
        with pytest.raises(UserError):
            change(session, number, wrong)
    assert begin(bench, opened(bench)).answers == changed.answers


def test_a_model_from_labels_is_a_folder_that_sentence_transformers_loads(bench, session):
    from sentence_transformers import SentenceTransformer

    refused("at least 20 labels to learn from, of both kinds", adapt, bench, session)
    label(session, 60, lambda current: "yes")
    refused(r"All \d\d are yes: label some more", adapt, bench, session)
    for _ in range(60):
        undo(session)
    texts, vectors = session.corpus().corpus.sentences, session.corpus().embeddings
    centred = vectors - vectors.mean(axis=0)
    along = unit_rows(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)  # the directions in which it differs most

    def on_one_side(current):
        products = (along[current.pairs.rows1] * along[current.pairs.rows2]).sum(axis=1)
        return "yes" if products[current.question.place] > np.median(products) else "no"

    label(session, 180, on_one_side)
    made = adapt(bench, session)
    assert made.model == f"{DEFAULT_ENCODER}-adapted" and made.tried[0] < max(made.tried.values())
    assert made.verdict.changes[0].difference.value > 0 and made.verdict.examples > 60
    encoder = bench.registry.encoder(made.model)
    theirs = SentenceTransformer(str(bench.settings.models / made.model), device="cpu").encode(texts[:20])
    assert np.abs(unit_rows(encoder.encode(texts[:20])) - unit_rows(theirs)).max() < 0.02  # bf16 where the processor has it
    assert np.abs(unit_rows(theirs) - vectors[:20]).max() > 0.02
    assert adapt(bench, session) is made  # pressed twice: one model
    bench.registry.delete(made.model)
    assert made.model not in bench.registry.encoders() and not bench.registry.loaded("encoder", made.model)
    refused("not on this machine", bench.registry.encoder, made.model)
    label(session, 1, on_one_side)
    again = adapt(bench, session)
    assert again is not made and again.model in bench.registry.encoders()
    for name in (DEFAULT_ENCODER, "", "..", "../cache", "no such model"):
        refused("no longer exists", bench.registry.delete, name)


@pytest.fixture
def ask(bench):
    """Call the job on the example tickets, in one session."""
    session = opened(bench)

    def call(**values):
        return outcome_of(LABEL.steps(Call(bench, session=session), read(LabelOptions, values, bench.settings.limits)))

    return call


def judged(pair):
    """By the first word: enough for both kinds."""
    return "yes" if pair["sentence1"].split()[0] == pair["sentence2"].split()[0] else "no"


def test_pairs_are_answered_by_their_ids_and_half_of_them_measure(ask):
    asked = ask(count=40).summary["pairs"]
    assert len(asked) == 40 == len({pair["id"] for pair in asked})
    assert {pair["why"] for pair in asked} == {LEARN, MEASURE}
    assert asked == ask(count=40).summary["pairs"]  # until they are answered
    after = ask(answers={str(pair["id"]): judged(pair) for pair in asked[:30]}).summary
    assert after["labels"] == 30 == after["same"] + after["different"]
    answered = {pair["id"] for pair in asked[:30]}
    assert {pair["why"] for pair in after["pairs"] if pair["id"] in answered} <= {AGAIN}
    assert 0 < after["threshold"]["precision_within"][0] <= after["threshold"]["precision"] <= 1
    assert after["threshold"]["missing"] > 0 and json.dumps(after)


def test_an_answer_that_is_sent_again_changes_nothing_and_another_corrects_it(ask):
    first, second = (str(pair["id"]) for pair in ask(count=2).summary["pairs"])
    ask(answers={first: "yes"})
    for label, same in (("yes", 1), ("no", 0)):
        after = ask(answers={first: label, second: "no"}).summary
        assert (after["labels"], after["same"], after["different"]) == (2, same, 2 - same)
    assert ask().summary["same"] == 0  # kept so


def test_a_pair_that_was_asked_twice_is_corrected_where_it_counts(ask):
    answered: dict[str, str] = {}
    while not (again := [pair for pair in ask(count=40).summary["pairs"] if pair["why"] == AGAIN]):
        answered |= (new := {str(pair["id"]): "no" for pair in ask(count=40).summary["pairs"]})
        ask(answers=new)
    twice = str(again[0]["id"])
    assert answered[twice] == "no"
    ask(answers={twice: "no"})
    assert ask(answers={twice: "yes"}).summary["same"] == 1 and ask(answers={twice: "no"}).summary["same"] == 0


def test_what_is_wrong_with_answers_is_said_and_none_of_them_is_kept(ask):
    pair = ask(count=1).summary["pairs"][0]
    refused("Pair '-7' is neither asked now nor labelled", ask, answers={str(pair["id"]): "yes", "-7": "no"})
    refused("Unknown label 'maybe'", ask, answers={str(pair["id"]): "maybe"})
    refused("A model needs at least 20 labels", ask, adapt=True)
    assert ask().summary["labels"] == 0


def test_a_spreadsheet_of_pairs_goes_out_and_comes_back_with_labels(ask, tmp_path):
    sheet, everything = tmp_path / "next.csv", tmp_path / "labels.csv"
    ask(count=100, out=sheet)
    rows = list(csv.DictReader(sheet.open(encoding="utf-8-sig")))
    for row in rows[:90]:
        row["label"] = judged(row).capitalize()
    contrary = rows[0] | {"label": "no" if rows[0]["label"] == "Yes" else "yes"}
    sheet.write_text(csv_file([*rows, contrary]), encoding="utf-8", newline="")
    refused("holds 90 labels not sent yet", ask, count=5, out=sheet)
    after = ask(labels=sheet, save=everything)
    assert after.summary["labels"] == 90 and after.lines[0].startswith("90 labels: ")
    assert "1 row of the file left out" in after.lines[1] and "1 pair has two different labels" in after.lines[2]
    saved = list(csv.DictReader(everything.open(encoding="utf-8-sig")))
    same = ("sentence1", "row1", "row2", "why", "probability")
    assert [[row[name] for name in same] for row in saved] == [[row[name] for name in same] for row in rows[:90]]
    adapted = ask(adapt=True).summary["adapted"]
    assert adapted["tried"].keys() == {0, 10, 20, 30} and isinstance(adapted["model"], str)
    sheet.write_text("sentence1,sentence2,label\na,b,0\nc,d,1\n")
    refused("only the labels 0 and 1. Write yes and no", ask, labels=sheet)
