"""A run that is gone on with: whatever a kill left, it ends with a model and the verdict of that model."""

import logging
import shutil
from dataclasses import replace

import numpy as np
import pytest

from sbert_app.jobs.fine_tune import running
from sbert_app.jobs.fine_tune.preparing import expected
from sbert_app.runs.execution import Execution
from sbert_app.runs.records import FINISHED, RUNNING, Baseline, Loss
from sbert_app.runs.result import notes
from sbert_app.runtime.workbench import Workbench
from sbert_app.ui.fine_tune.view import estimate
from tests.attacks.small_home import build, plan, settings, training_data
from tests.damaging import flip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A home with a finished run and an interrupted one of the same plan and examples."""
    home = tmp_path_factory.mktemp("homes") / "whole"
    return home, build(home)


@pytest.fixture
def bench(whole, tmp_path):
    shutil.copytree(whole[0], tmp_path / "home")
    return Workbench(settings(tmp_path / "home"))


def go_on(bench, run):
    with run.lock():
        events = list(running.train_here(bench, run))
    assert run.info().state == FINISHED
    recorded = run.events()
    assert events == recorded[len(recorded) - len(events) :]  # what was recorded now, none of an earlier process
    first, *others = run.events()
    assert isinstance(first, Baseline) and first.step == 0 and Baseline not in map(type, others)
    return events


def same_verdict(first, second):
    return np.allclose(first.result().after, second.result().after, atol=1e-5)


@pytest.mark.parametrize("file", ["checkpoint.safetensors", "best.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "missing"])
def test_a_run_whose_checkpoint_rotted_begins_anew(bench, whole, file, damage):
    finished, run = (running.find(bench, run_id) for run_id in (whole[1].finished, whole[1].interrupted))
    path = run.folder / file
    if damage == "flipped":
        flip(path, -50)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-999])
    else:
        path.unlink()
    steps = [event.step for event in go_on(bench, run) if isinstance(event, Loss)]
    assert steps[0] == 1 and same_verdict(run, finished)
    assert sorted(p.suffix for p in run.folder.iterdir()) == sorted(p.suffix for p in finished.folder.iterdir())


def test_a_model_without_its_result_is_made_again(bench, whole):
    """Killed between the two: what lies there may be of other weights than the result that follows."""
    run = running.find(bench, whole[1].interrupted)
    run.model.mkdir()
    (run.model / "config.json").write_text("{}")
    go_on(bench, run)
    assert bench.registry.encoder(run.info().model).dim == 32


def test_a_run_killed_before_its_last_word_is_not_trained_again(bench, whole, monkeypatch):
    run = running.find(bench, whole[1].finished)
    before = run.events(), run.result(), run.info().message
    run.set_state(RUNNING)
    monkeypatch.setattr(Execution, "_train", None)
    go_on(bench, run)
    assert (run.events(), run.result(), run.info().message) == before


def test_examples_that_the_model_does_not_read_to_their_end_are_told(bench):
    data = training_data(bench)
    train = data.split.train
    long = replace(train, sentences=(train.sentences[0], ["a word " * 99] * 3 + train.sentences[1][3:]))
    data = replace(data, split=replace(data.split, train=long))
    run = running.create(bench, data, plan(data))
    with run.lock():
        list(running.train_here(bench, run))
    sentence = "7 % of the examples hold a text longer than the model reads: only its beginning is learnt."
    assert run.result().cut == 3 / len(train) and sentence in notes(run.result())
    assert sentence in estimate(expected(bench, data, plan(data)), "a machine")


def test_a_full_disk_in_the_shell_is_a_sentence(bench, whole, monkeypatch):
    """The shell trains without the worker: what it shows is what `steps` raises."""
    run = running.find(bench, whole[1].interrupted)
    monkeypatch.setattr(type(run), "save", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    with run.lock(), pytest.raises(Exception, match="The run cannot be written: No space left on device. Free some space"):
        list(running.train_here(bench, run))


def test_a_paused_run_goes_on_right_there(bench, whole):
    """As where a lent GPU is taken away: the checkpoint is of that moment, not of seconds before."""
    data = training_data(bench)
    run = running.create(bench, data, plan(data))
    work = Execution(run, bench.registry.trainable, bench.registry.hardware).work()
    while not (losses := [event for event in run.events() if isinstance(event, Loss)]) or losses[-1].step < 2:
        next(work)
    work.close()
    assert run.load("checkpoint")["run/progress"][0] == 2
    again = Execution(run, bench.registry.trainable, bench.registry.hardware).work()
    steps = [event.step for event in again if isinstance(event, Loss)]
    assert steps[0] == 3 and run.info().state == FINISHED
    assert same_verdict(run, running.find(bench, whole[1].finished))
