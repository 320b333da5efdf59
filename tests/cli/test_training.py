"""Training from the shell, killed without a warning and started again."""

import json
import signal
import subprocess
import sys
import time

import pytest

from sbert_app.runs.records import INTERRUPTED
from sbert_app.runs.run import Runs
from tests.cli.test_sentences import PAIRS, ROOT, first_lines


def test_a_killed_training_resumes_to_the_same_result_and_is_evaluated(shell, shallow_folder, write, tmp_path, monkeypatch):
    """Killed in a process of its own; the training that nothing disturbs and the second half run in this one."""
    few = write(PAIRS.name, first_lines(PAIRS, 81))
    command = ["train", few, "--base", shallow_folder, "--epochs", 2, "--seed", 3, "--json", "--out"]
    whole = json.loads(shell(*command, tmp_path / "whole-model")[0])
    assert {"before", "after", "seconds", "pairs_per_second", "verdict"} <= set(whole) and sum(whole["examples"].values()) == 80
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path / "killed"))
    command.append(tmp_path / "killed-model")
    process = subprocess.Popen([sys.executable, "-m", "sbert_app", *map(str, command)], cwd=ROOT)
    checkpoints = tmp_path / "killed" / "runs"
    while not list(checkpoints.glob("*/checkpoint.safetensors")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = Runs(checkpoints).list()
    assert [(info.state, info.has_model) for info in killed] == [(INTERRUPTED, False)]
    assert not (tmp_path / "killed-model").exists()
    resumed = json.loads(shell(*command)[0])
    for side in ("before", "after"):
        assert resumed[side]["spearman"] == pytest.approx(whole[side]["spearman"], abs=1e-3)
    assert resumed["best_step"] == whole["best_step"]
    assert (tmp_path / "killed-model" / "model.safetensors").exists() and not Runs(checkpoints).list()
    measured = json.loads(shell("evaluate", few, "--systems", "sbert,word-overlap", "--model", resumed["model"], "--json")[0])
    assert resumed["model"] == measured["sbert"]["model"] == str(tmp_path / "killed-model")
    assert measured["sbert"]["spearman"] > measured["word-overlap"]["spearman"]


def test_a_base_that_is_nowhere_leaves_no_run(shell, tmp_path):
    error = shell("train", PAIRS, "--base", "./nosuch", "--out", tmp_path / "x", status=2)[1]
    assert error.splitlines()[-1].startswith("Error: There is no model folder at './nosuch'.")
    assert not Runs(tmp_path / "home" / "runs").list()
