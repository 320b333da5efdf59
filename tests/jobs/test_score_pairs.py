"""The endpoint score_pairs: the scores of a small file in the answer, all in a file."""

import csv
from pathlib import Path

import gradio as gr
import pytest

from sbert_app.ui.app import build_app


@pytest.fixture(scope="module")
def score_pairs(shared_bench):
    return next(function.fn for function in build_app(shared_bench).fns.values() if function.api_name == "score_pairs")


def test_the_answer_and_the_file_have_the_same_scores(score_pairs, write):
    path = write("p.csv", "label,a,b\nsame,A red car,A crimson car\nother,A dog,The moon\nsame,,x\n")
    answer, file = score_pairs(gr.Request(), str(path), "", "", "", "all-MiniLM-L6-v2")
    assert answer["columns"] == {"first": "a", "second": "b", "labels": "label"} and answer["agreement"]["pairs"] == 2
    assert answer["rows"] == 3 and answer["skipped"] == [{"row": 3, "reason": "blank sentence"}]
    with Path(file).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["score"] for row in rows] == [*(f"{entry['score']:.4f}".rstrip("0") for entry in answer["scores"]), ""]


def test_without_a_file_it_asks_for_one(score_pairs):
    with pytest.raises(gr.Error, match="Send a file with two columns of text"):
        score_pairs(gr.Request(), None, "", "", "", "all-MiniLM-L6-v2")
