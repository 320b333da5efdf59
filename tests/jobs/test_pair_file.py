import csv
import io
from dataclasses import replace
from functools import partial
from pathlib import Path

import gradio as gr
import numpy as np
import pytest
from scipy.stats import spearmanr

from sbert_app.errors import UserError
from sbert_app.jobs.score_pairs import SCORING, PairTable, open_pairs, score_opened
from sbert_app.jobs.similarity import SimilarityOptions, compare
from sbert_app.labelled.example_set import remember
from sbert_app.labelled.pair_columns import PairColumns
from sbert_app.labelled.scored_pairs import ScoredPairs
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime.session import Session
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.tables.table import csv_file
from sbert_app.ui.similarity.file_panel import EXAMPLE, FilePanel
from tests.jobs.refusals import refused

ROWS = 'id,left,right,note\n1,A red car,A crimson automobile,=1+1\n2,,A dog,b\n3,A dog,The moon,"c,d"\n4,A red car,A dog,e\n'


@pytest.fixture
def steps_of(shared_bench):
    """The steps of scoring the session's file by these columns."""
    return partial(score_opened, shared_bench, model=DEFAULT_ENCODER)


@pytest.fixture
def score(steps_of):
    def scored(session, path, columns=None):
        guessed = open_pairs(session, read_table(path, Limits()))
        steps = list(steps_of(session, columns or guessed))
        return steps[-1].result, guessed, steps

    return scored


def test_the_file_comes_back_with_a_score_column(score, session, write, shared_bench):
    scored, guessed, events = score(session, write("pairs.csv", ROWS))
    assert guessed == PairColumns("left", "right") and session.get(ScoredPairs) is scored
    typed = compare(shared_bench, Session(), SimilarityOptions("A red car", "A crimson automobile")).score
    assert scored.scores[0] == pytest.approx(typed, abs=5e-3)
    assert [event.total for event in events if event.stage == "Encoding"][-1] == 4  # different sentences, each encoded once
    rows = list(csv.reader(io.StringIO(csv_file(scored.records()).removeprefix("\ufeff"))))
    assert rows[0] == ["id", "left", "right", "note", "score"]
    assert rows[1] == ["1", "A red car", "A crimson automobile", "'=1+1", f"{scored.scores[0]:.4f}".rstrip("0")]
    assert rows[2][-1] == "" and rows[3][3] == "c,d" and len(rows) == 5
    assert [(skip.row, skip.reason) for skip in scored.reading.skipped] == [(2, "blank sentence")]
    assert sum(scored.words().values()) == 3


def test_pairs_that_the_model_was_trained_on_are_told(score, session, write, shared_bench, monkeypatch, tmp_path):
    path = write("pairs.csv", ROWS)
    scored, _, _ = score(session, path)
    assert scored.reading.notes == ()
    remember(tmp_path, scored.reading.examples.take(np.arange(2)), np.empty(0, np.uint64))
    monkeypatch.setattr(shared_bench.registry.encoder(), "folder", tmp_path)
    assert score(session, path)[0].reading.notes[0].endswith(" was trained on 2 of these 3 pairs: on others expect less.")


def test_other_columns_can_be_chosen(score, steps_of, session, write):
    scored, _, _ = score(session, write("pairs.csv", ROWS), PairColumns("right", "note"))
    assert scored.reading.mapping.sentences == ("right", "note") and len(scored.scores) == 4
    for columns, message in (
        (("left", "nowhere"), "no column 'nowhere'"),
        (("left", "left"), "chosen twice"),
        (("left", ""), "need 2 sentence columns"),
    ):
        with pytest.raises(UserError, match=message):
            list(steps_of(session, PairColumns(*columns)))


def test_a_file_without_two_columns_and_a_session_without_a_file(score, steps_of, session, write):
    with pytest.raises(UserError, match="needs two columns of text. This file has one: text"):
        open_pairs(session, read_table(write("one.txt", "a\nb\n"), Limits()))
    refused("There is no file of pairs yet", steps_of, session, PairColumns("a", "b"))
    refused("0 usable rows", score, session, write("blank.csv", "a,b\nx,\n,y\n"), PairColumns("a", "b"))


def test_stopped_scoring_stores_nothing(steps_of, session):
    open_pairs(session, read_table(EXAMPLE, Limits()))
    steps = steps_of(session, PairColumns("sentence1", "sentence2"))
    while next(steps).stage != "Encoding":
        pass
    session.stop(SCORING)
    assert list(steps)[-1].stopped and session.get(ScoredPairs) is None


def test_a_scoring_that_another_one_replaced_says_nothing_more(steps_of, session, write):
    """Gradio's page sends the choice of a column twice, and what came last would stand there: "Stopped"."""
    columns = open_pairs(session, read_table(write("pairs.csv", ROWS), Limits()))
    replaced = steps_of(session, columns)
    next(replaced)
    *_, last = steps_of(session, columns)
    assert last.result is not None and list(replaced) == [] and session.get(ScoredPairs) is last.result


def test_a_late_event_of_the_model_that_scores_stops_nothing(shared_bench, steps_of, session, write):
    with gr.Blocks():
        panel = FilePanel(shared_bench, gr.State(), gr.State())
    scoring = steps_of(session, open_pairs(session, read_table(write("pairs.csv", "a,b\nThe cat sat.,A cat sat.\n"), Limits())))
    next(scoring)
    assert panel._on_model(session, "a", DEFAULT_ENCODER) == {panel.stage: gr.skip()}
    *_, last = scoring
    assert last.result is not None and session.get(PairTable).model == DEFAULT_ENCODER
    assert panel._on_model(session, "a", "models/another")[panel.score].visible


def labelled(count=24):
    """Pairs whose grade falls from row to row as their texts drift apart, the labels first; rows 2 and 3 have no number."""
    words = "the old grey cat sat on a warm red mat by our kitchen door all through that long cold winter night".split()
    cells = [f"{count - i},{' '.join(words)},{' '.join(words[i:] + ['x'] * i)}" for i in range(count - 4)]
    cells[1], cells[2] = cells[1].replace("23", "", 1), cells[2].replace("22", "unsure", 1)
    return "\n".join(["label,sentence1,sentence2", *cells]) + "\n"


def test_scores_are_compared_with_labels_and_the_rows_shown_are_those_that_disagree_or_the_extremes(score, session, write):
    path = write("l.csv", labelled())
    scored, guessed, _ = score(session, path)
    assert guessed == PairColumns("sentence1", "sentence2", "label")
    kept = [i for i in range(20) if i not in (1, 2)]
    assert scored.agreement.pairs == 18 and len(scored.scores) == 20
    assert scored.agreement.measures["spearman"] == pytest.approx(spearmanr(scored.scores[kept], [24 - i for i in kept]).statistic)
    assert scored.labels.left_out == {"no label": 1, "a label that is not a number": 1}
    assert scored.records()[2]["score"] is not None
    high, low = scored.disagreeing()
    assert high and low and {pair.row for pair in high}.isdisjoint(pair.row for pair in low)
    assert not {2, 3} & {pair.row for pair in (*high, *low)} and high[0].label.isdigit()
    without, _, _ = score(session, path, PairColumns("sentence1", "sentence2"))
    highest, lowest = without.extremes()
    by_score = sorted(range(20), key=lambda i: -without.scores[i])
    assert [pair.row for pair in highest] == [i + 1 for i in by_score[:5]]
    assert [pair.row for pair in lowest] == [i + 1 for i in by_score[:-6:-1]]
    assert without.disagreeing() == ([], []) and without.agreement is None


def test_other_labels_need_no_new_scores(score, steps_of, session, write):
    scored, guessed, _ = score(session, write("l.csv", labelled()))
    steps = list(steps_of(session, replace(guessed, labels="")))
    assert all(step.stage != "Encoding" for step in steps)
    assert steps[-1].result.scores is scored.scores and steps[-1].result.labels is None
    assert list(steps_of(session, guessed))[-1].result.agreement == scored.agreement
    swapped = list(steps_of(session, PairColumns("sentence2", "sentence1")))
    assert any(step.stage == "Encoding" for step in swapped)
    for columns, message in (
        (replace(guessed, labels="sentence1"), "chosen twice"),
        (replace(guessed, labels="nowhere"), "no column 'nowhere'"),
        (PairColumns("sentence1", "label", "sentence2"), "no label is known to mean the same"),
    ):
        with pytest.raises(UserError, match=message):
            list(steps_of(session, columns))


def test_the_answer_and_the_file_have_the_same_scores(send, write):
    path = write("p.csv", "label,a,b\nsame,A red car,A crimson car\nother,A dog,The moon\nsame,,x\n")
    answer, file = send("score_pairs", file=str(path))
    assert answer["columns"] == {"first": "a", "second": "b", "labels": "label"} and answer["agreement"]["pairs"] == 2
    assert answer["rows"] == 3 and answer["skipped"] == [{"row": 3, "reason": "blank sentence"}]
    with Path(file).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["score"] for row in rows] == [*(f"{entry['score']:.4f}".rstrip("0") for entry in answer["scores"]), ""]
    with pytest.raises(gr.Error, match="Send a file with two columns of text"):
        send("score_pairs", file=None)
