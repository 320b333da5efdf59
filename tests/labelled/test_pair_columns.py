"""The columns of a file of pairs: text is text, labels are labels, wherever they are."""

import numpy as np
import pandas as pd
import pytest

from sbert_app.errors import UserError
from sbert_app.evaluation.agreement import label_agreement
from sbert_app.labelled.pair_columns import PairColumns, choose_pair_columns, entailment, guess_pair_columns, read_pair_labels
from sbert_app.labelled.scored_pairs import details, left_out, sentence

PROSE = [f"The cat number {i} sat down" for i in range(12)]
OTHER = [f"A cat with number {i} is sitting" for i in range(12)]
SHORT = ["cat", "dog", "owl", "cow", "hen", "fox", "ant", "bee", "elk", "emu", "jay", "koi"]
GRADES = [f"{i % 6}" for i in range(12)]
SAME = ["same", "opposite", "other"] * 4
IDS = [f"{i}" for i in range(12)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"label": SAME, "sentence1": PROSE, "sentence2": OTHER}, ("sentence1", "sentence2", "label")),
        ({"label": GRADES, "a": SHORT, "b": SHORT[::-1]}, ("a", "b", "label")),
        ({"verdict": SAME, "a": SHORT, "b": SHORT[::-1]}, ("a", "b", "verdict")),
        ({"verdict": ["means the same", "does not"] * 6, "a": PROSE, "b": OTHER}, ("a", "b", "")),
        ({"id": IDS, "a": PROSE, "b": OTHER, "human": GRADES}, ("a", "b", "human")),
        ({"a": PROSE, "b": OTHER, "human": [f"{i / 11:.2f}" for i in range(12)]}, ("a", "b", "human")),
        ({"a": PROSE, "b": OTHER, "is_duplicate": ["0", "1"] * 6}, ("a", "b", "is_duplicate")),
        ({"a": PROSE, "b": OTHER, "score": [*"012345", *"012345"], "label": SAME}, ("a", "b", "score")),
        ({"a": PROSE, "b": OTHER, "topic": ["red", "blue", "green"] * 4}, ("a", "b", "")),
        ({"a": PROSE, "b": OTHER, "year": [f"{2000 + i}" for i in range(12)]}, ("a", "b", "")),
        ({"a": PROSE, "b": OTHER, "score": [""] * 12}, ("a", "b", "")),
        ({"a": PROSE, "b": OTHER, "score": ["3"] * 12}, ("a", "b", "")),
        ({"n": ["1"], "a": ["cat"], "b": ["dog"]}, ("a", "b", "")),
        ({"anchor": PROSE, "positive": OTHER, "negative": PROSE[::-1]}, ("anchor", "positive", "")),
    ],
)
def test_text_and_labels_are_guessed(columns, expected):
    assert guess_pair_columns(pd.DataFrame(columns)) == PairColumns(*expected)


def test_named_columns_come_before_the_guess():
    frame = pd.DataFrame({"label": SAME, "sentence1": PROSE, "sentence2": OTHER, "mine": GRADES})
    assert choose_pair_columns(frame).labels == "label"
    assert choose_pair_columns(frame, labels="none").labels == ""
    assert choose_pair_columns(frame.rename(columns={"mine": "none"}), labels="none").labels == "none"
    assert choose_pair_columns(frame, "sentence2", "label", "mine") == PairColumns("sentence2", "label", "mine")
    assert choose_pair_columns(frame, "sentence2", "label").labels == ""
    with pytest.raises(UserError, match="Name both text columns, or neither"):
        choose_pair_columns(frame, "sentence1")


def test_grades_and_what_is_left_out_of_them():
    labels = read_pair_labels("score", ["5", " 2,5 ", "", "about 3", "nan", "inf", "0"])
    assert labels.kind == "scored" and labels.gold[labels.labelled].tolist() == [5, 2.5, 0] and labels.bounds == (0, 5)
    assert left_out(labels) == [
        "2 rows have no label: scored, but left out of the agreement.",
        "2 rows have a label that is not a number: scored, but left out of the agreement.",
    ]


@pytest.mark.parametrize(
    ("cells", "positive", "others", "gold"),
    [
        (["0", "1.0", "1"], "1", ("0",), [0, 1, 1]),
        (["Same", "opposite", "same", "?", "other"], "Same", ("opposite", "other"), [1, 0, 1, np.nan, 0]),
        (["true", "False"], "true", ("False",), [1, 0]),
        (["entailment", "neutral", "contradiction"], "entailment", ("contradiction", "neutral"), [1, 0, 0]),
    ],
)
def test_two_values(cells, positive, others, gold):
    labels = read_pair_labels("label", cells)
    assert (labels.kind, labels.positive, labels.others) == ("labelled", positive, others)
    assert np.array_equal(labels.gold, gold, equal_nan=True)


def test_the_name_of_a_column_says_that_a_high_value_means_different():
    labels = read_pair_labels("distance", ["0", "2.5", "", "9"])
    assert labels.gold[labels.labelled].tolist() == [0, -2.5, -9] and labels.bounds == (0, 9)
    agreement = label_agreement(labels.kind, np.array([0.9, 0.5, 0.1]), labels.gold[labels.labelled])
    assert agreement.measures["spearman"] == pytest.approx(1)
    assert "Labels from 0 to 9; lower is taken to mean closer" in details(labels, agreement)
    for cells in (["0", "1", "1"], ["no", "yes", "yes"]):
        labels = read_pair_labels("is_different", cells)
        assert (labels.positive, labels.gold.tolist()) == (cells[0], [1, 0, 0])


def test_published_codes_of_nli_are_entailment_and_others_and_minus_one_is_no_label():
    cells = ["0", "1", "2", "-1"]
    pairs = {"premise": [f"a b {i}" for i in range(4)], "hypothesis": [f"c d {i}" for i in range(4)]}
    assert entailment(pd.DataFrame(pairs | {"label": cells}), "label") == "0"
    assert entailment(pd.DataFrame({"text1": pairs["premise"], "text2": pairs["hypothesis"], "label": cells}), "label") == ""
    labels = read_pair_labels("label", cells, "0")
    assert (labels.positive, labels.others, labels.left_out) == ("0", ("1", "2"), {"no label": 1})
    assert np.array_equal(labels.gold, [1, 0, 0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["", "n/a"], "The column 'x' has no label."),
        (["3", "3", ""], "Every label of the column 'x' is '3', so there is nothing to compare."),
        (["yes", "Yes"], "Every label of the column 'x' is 'yes'"),
        (["red", "blue", "red"], "In the column 'x' no label is known to mean the same; it holds 'red', 'blue'."),
        ([*SHORT, "same"], "no label is known to mean the same"),
    ],
)
def test_labels_that_cannot_be_compared(cells, message):
    with pytest.raises(UserError, match=message) as refused:
        read_pair_labels("x", cells)
    assert "Choose a column of numbers, or of two values" in str(refused.value)


def in_words(cells, scores):
    labels = read_pair_labels("label", cells)
    agreement = label_agreement(labels.kind, np.array(scores)[labels.labelled], labels.gold[labels.labelled])
    return sentence(labels, agreement), details(labels, agreement)


def test_the_agreement_in_words():
    scores = np.arange(24) / 24
    front, figures = in_words(["0"] * 12 + ["1"] * 12, scores)
    assert front == (
        "Calling a pair “1” at 0.5 or higher is right for 100 % of 24 labelled pairs. "
        "The threshold was chosen on these same pairs, so expect a little less on others."
    )
    assert "Average precision ×100: 100.0" in figures and "a score without information gets 50.0" in figures
    front, _ = in_words(["same"] * 6 + ["opposite", "other"] * 9, scores)
    assert front == (
        "No threshold of the score beats calling every pair “opposite” or “other”, which is right for 75 % of 24 labelled pairs."
    )
    front, figures = in_words([f"{i % 4 + i}" for i in range(24)], scores)
    assert front.startswith("Agreement with “label”: Spearman ×100 is 9") and "over 24 labelled pairs, 95 % interval 9" in front
    assert "Labels from 0 to 26; higher is taken to mean closer" in figures and "2,000 resamples" in figures
    assert in_words([f"{24 - i}" for i in range(24)], scores)[0].endswith("Higher labels have lower scores.")
    assert in_words([*"012", *"012"], scores[:6])[0] == (
        "Too few labels to judge the score: 6 labelled pairs, at least 20 are needed."
    )
