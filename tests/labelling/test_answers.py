"""Answers on disk and as tables."""

from dataclasses import replace

import pandas as pd
import pytest

from sbert_app.errors import UserError
from sbert_app.labelled.columns import target_kind
from sbert_app.labelling.answers import AGAIN, FIELDS, LEARN, MEASURE, NO, UNSURE, YES, Answer, Log, as_table, read_answers
from sbert_app.labelling.estimates import consistency
from sbert_app.tables import Table

FIRST = Answer("a cat", "a kitten", YES, 1, 2, "2026-11-24T10:00:00+00:00", 2.5, LEARN, 0.0, 7)
SECOND = replace(FIRST, sentence2="a dog", label=NO, why=MEASURE, probability=0.25, place=8)


def table(*lines: dict[str, str]) -> Table:
    frame = pd.DataFrame(lines, dtype=str)
    return Table("labels.csv", frame, frame.index.to_numpy() + 1)


def test_a_log_gives_back_what_was_answered_and_not_taken_back_whatever_a_crash_left(tmp_path):
    log = Log.of(tmp_path / "labels", ["a cat", "a kitten"])
    assert log.read() == []
    for answer in (FIRST, SECOND, FIRST):
        log.add([answer])
    log.undo()
    path = next((tmp_path / "labels").iterdir())
    with path.open("a", encoding="utf-8") as file:
        file.write('{"answer": {"sentence1": "cut o')
    first, second = replace(FIRST, place=-1), replace(SECOND, place=-1)  # another model has other places
    assert log.read() == [first, second]
    log.add([SECOND])
    assert log.read() == [first, second, second]
    assert Log.of(tmp_path / "labels", ["another"]).read() == []


def test_a_table_has_each_pair_once_as_it_was_answered_first_and_beside_grades_yes_and_no_are_grades():
    again = replace(FIRST, sentence1="a kitten", sentence2="a cat", label=NO, why=AGAIN)
    unsure = replace(FIRST, sentence2="a bird", label=UNSURE)
    made = as_table("labels", [FIRST, SECOND, again, unsure], (LEARN, MEASURE))
    assert made.frame.to_numpy().tolist() == [["a cat", "a kitten", "yes"], ["a cat", "a dog", "no"]]
    assert as_table("labels", [FIRST, SECOND], (MEASURE,)).frame["label"].tolist() == ["no"]
    graded = as_table("labels", [FIRST, SECOND, replace(FIRST, sentence2="a lion", label="3")], (LEARN, MEASURE))
    assert graded.frame["score"].tolist() == ["5", "0", "3"]
    few = as_table("labels", [replace(FIRST, label="3"), SECOND], (MEASURE,))
    assert few.frame["score"].tolist() == ["0"] and target_kind(graded.frame, "score") == "scored"
    assert consistency([FIRST, again]) == (1, 0) and consistency([FIRST, replace(again, label=YES)]) == (1, 1)


def test_a_downloaded_file_comes_back():
    lines = [{name: str(getattr(answer, name)) for name in FIELDS} for answer in (FIRST, SECOND)]
    back = read_answers(table(*lines))
    assert [(a.texts, a.label, a.why, a.time) for a in back] == [(a.texts, a.label, a.why, a.time) for a in (FIRST, SECOND)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"sentence1": "a", "label": "yes"}, "no column 'sentence2'"),
        ({"sentence1": "a", "sentence2": "b", "label": "maybe"}, "'maybe'"),
    ],
)
def test_another_file_is_refused(line, message):
    with pytest.raises(UserError, match=message):
        read_answers(table(line))
