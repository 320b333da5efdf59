"""The shell scores a file of pairs: the file with its scores, the agreement with its labels."""

import csv
import json

import pytest
from scipy.stats import spearmanr

from tests.cli.test_sentences import PAIRS, first_lines


def test_the_scored_file_and_the_agreement(shell, write, tmp_path):
    few, out = write("few.csv", first_lines(PAIRS, 201)), tmp_path / "scored.csv"
    printed, _ = shell("pairs", few, "--out", out, "--json")
    result = json.loads(printed)
    rows = list(csv.DictReader(out.read_text(encoding="utf-8-sig").splitlines()))
    assert list(rows[0]) == ["sentence1", "sentence2", "score", "cosine"] and len(rows) == result["scored"] == 200
    agreement = result["agreement"]
    expected = spearmanr([float(row["cosine"]) for row in rows], [float(row["score"]) for row in rows]).statistic
    assert agreement["spearman"] == pytest.approx(expected, abs=1e-3) and agreement["low"] < expected < agreement["high"]
    assert result["columns"] == {"first": "sentence1", "second": "sentence2", "labels": "score"} and result["scores"] is None
    too_high = result["scored_higher_than_labelled"][0]
    assert rows[too_high["row"] - 1]["sentence1"] == too_high["sentence1"] and float(too_high["label"]) < 3


def test_without_labels_the_extremes_are_printed(shell, write):
    path = write("p.csv", "label,a,b\n1,A red car,A crimson car\n0,A dog,The moon\n0,,x\n")
    printed, _ = shell("pairs", path, "--label-column", "none")
    assert "2 pairs of p.csv scored: “a” and “b”." in printed and "1 row skipped, blank sentence: row 3" in printed
    assert printed.index("row 1") < printed.index("row 2") and "label" not in printed
    assert "Too few labels to judge the score: 2 labelled pairs" in shell("pairs", path)[0]
