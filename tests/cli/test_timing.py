"""The race from the shell."""

import json
import math

import pytest

from sbert_app.cli.command import show
from sbert_app.jobs.declaring.job import Outcome
from sbert_app.jobs.timing import TIMING

pytestmark = pytest.mark.usefixtures("short_checks")


def test_both_lanes_as_one_json_object(shell, write):
    path = write("a.csv", "text\n" + "".join(f"sentence number {i} about parcels\n" for i in range(60)))
    out, err = shell("timing", path, "--sentences", 2_000, "--seconds", 1, "--json")
    result = json.loads(out)
    assert "Racing" in err
    assert result["pairs"] == 1_999_000 and result["conditions"]["sentences"] == 60
    for lane, unit in (("cross-encoder", "pairs"), ("sbert", "sentences")):
        assert result[lane]["slowest_turn"] <= result[lane][f"{unit}_per_second"] <= result[lane]["fastest_turn"]
    assert result["cross-encoder"]["extrapolated_seconds"] > result["sbert"]["extrapolated_seconds"]
    assert result["agreement"]["pairs"] >= 105


def test_in_words_on_the_example(shell, tiny):
    out, _ = shell("timing", "--seconds", 1, "--model", tiny)
    assert "10,000 sentences, extrapolated:" in out and " against " in out


def test_a_correlation_with_scores_that_are_all_equal_is_null(capsys):
    show(TIMING, Outcome({"spearman": math.nan}, []), as_json=True)
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"spearman": None}
