"""The job label: pairs to label as JSON or a file, answers by their ids or in that file, one result for endpoint and shell."""

import csv
import json
from pathlib import Path

import pytest

from sbert_app.errors import UserError
from sbert_app.jobs.corpus.opening import open_example
from sbert_app.jobs.declaring.job import Call, outcome_of
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.label import LABEL, LabelOptions
from sbert_app.labelling.answers import AGAIN, LEARN, MEASURE


@pytest.fixture
def ask(bench):
    """Call the job on the example tickets, in one session."""
    session = bench.sessions.open()
    open_example(bench, session, "support_tickets.csv")

    def call(**values):
        values = {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}
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


def test_what_is_wrong_with_answers_is_said_and_none_of_them_is_kept(ask):
    pair = ask(count=1).summary["pairs"][0]
    with pytest.raises(UserError, match="No pair '-7' is asked now"):
        ask(answers={str(pair["id"]): "yes", "-7": "no"})
    with pytest.raises(UserError, match="Unknown label 'maybe'"):
        ask(answers={str(pair["id"]): "maybe"})
    with pytest.raises(UserError, match="A model needs at least 20 labels"):
        ask(adapt=True)
    assert ask().summary["labels"] == 0


def test_a_spreadsheet_of_pairs_goes_out_and_comes_back_with_labels(ask, tmp_path):
    sheet, everything = tmp_path / "next.csv", tmp_path / "labels.csv"
    ask(count=100, out=sheet)
    rows = list(csv.DictReader(sheet.open(encoding="utf-8-sig")))
    for row in rows[:90]:
        row["label"] = judged(row).capitalize()
    with sheet.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([*rows, rows[0] | {"label": "no" if rows[0]["label"] == "Yes" else "yes"}])
    after = ask(labels=sheet, save=everything)
    assert after.summary["labels"] == 90 and after.lines[0].startswith("90 labels: ")
    assert "1 row of the file left out" in after.lines[1] and "1 pair has two different labels" in after.lines[2]
    saved = list(csv.DictReader(everything.open(encoding="utf-8-sig")))
    assert [(row["sentence1"], row["why"]) for row in saved] == [(row["sentence1"], row["why"]) for row in rows[:90]]
    adapted = ask(adapt=True).summary["adapted"]
    assert adapted["tried"].keys() == {0, 10, 20, 30} and isinstance(adapted["model"], str)
    sheet.write_text("sentence1,sentence2,label\na,b,0\nc,d,1\n")
    with pytest.raises(UserError, match="only the labels 0 and 1. Write yes and no"):
        ask(labels=sheet)
