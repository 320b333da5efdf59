"""The thread that trains outlives every run, and its waiting runs are seen by others."""

import threading
import time
from contextvars import ContextVar

import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.labelled.examples import Examples
from sbert_app.labelled.splits import split
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import FAILED, FINISHED, INTERRUPTED, WAITING, Kept
from sbert_app.runs.run import Run, Runs
from sbert_app.runtime.worker import Worker


@pytest.fixture
def make():
    """Write a run under a folder."""
    sentences = [f"sentence {i}" for i in range(60)], [f"phrase {i}" for i in range(60)]
    examples = Examples("scored", sentences, np.linspace(0, 1, 60), np.arange(1, 61))
    return lambda folder: Run.create(folder, "run", "", Plan("base", "regression"), split(examples))


def wait(worker):
    end = time.monotonic() + 30
    while worker.count() and time.monotonic() < end:
        time.sleep(0.01)
    assert not worker.count()


def test_a_waiting_run_is_believed_and_kept_by_others(tmp_path, make):
    release = threading.Event()
    worker = Worker(lambda run, stopping: release.wait(30) and run.set_state(FINISHED))
    first, second = make(tmp_path), make(tmp_path)
    for run in (first, second):
        worker.start(run)
    others = Runs(tmp_path)  # a lock is a lock of the file: another app over this home sees the same
    try:
        assert {info.id: info.state for info in others.list()}[second.id] == WAITING
        with pytest.raises(UserError, match="Stop it first"):
            others.delete(second.id)
        others.sweep(hours=-1)
        with pytest.raises(UserError, match="already being worked on"):
            Worker(lambda *_: None).start(Run(second.folder))
    finally:
        release.set()
    wait(worker)
    assert {info.state for info in others.list()} == {FINISHED}
    assert not Run(second.folder).locked()


def test_a_run_is_trained_in_the_context_of_the_request_that_began_it(tmp_path, make):
    """ZeroGPU reads there whose seconds are used."""
    visitor, seen = ContextVar("visitor", default=""), []
    worker = Worker(lambda run, _: seen.append(visitor.get()) or run.set_state(FINISHED))
    for name in ("first", "second"):
        visitor.set(name)
        worker.start(make(tmp_path))
    wait(worker)
    assert seen == ["first", "second"]


def test_the_worker_outlives_a_run_that_cannot_even_fail(tmp_path, make, monkeypatch):
    """A disk so full, or gone, that not even the failure can be written: the next run is taken all the same."""

    def full(run, *_):
        raise OSError(28, "No space left on device")

    first, second = make(tmp_path), make(tmp_path)

    def execute(run, stopping):
        if run.id == first.id:
            monkeypatch.setattr(first, "set_state", full)
            full(run)
        run.set_state(FINISHED)

    worker = Worker(execute)
    worker.start(first)
    worker.start(second)
    wait(worker)
    assert second.info().state == FINISHED and first.info().state == INTERRUPTED
    shown = worker.updated(first.info())
    assert (shown.state, shown.message) == (FAILED, "The disk is full. Free some space, then resume.")


def test_a_disk_that_fills_during_training_fails_the_run_and_no_other(small_disk, make):
    filler = small_disk / "filler"

    def execute(run, stopping):
        if run.id == first.id:
            with filler.open("wb") as file:
                while file.write(bytes(4096)):  # to the last byte
                    pass
        run.add_event(Kept(1, 0.5))
        run.set_state(FINISHED)

    first, second = make(small_disk), make(small_disk)
    worker = Worker(execute)
    worker.start(first)
    wait(worker)
    shown = worker.updated(first.info())
    assert (shown.state, shown.message) == (FAILED, "The disk is full. Free some space, then resume.")
    with pytest.raises(UserError, match="The run cannot be written: No space left on device. Free some space"):
        worker.start(second)
    assert not second.locked()
    filler.unlink()
    for run in (second, first):
        worker.start(run)
    wait(worker)
    assert [run.info().state for run in (first, second)] == [INTERRUPTED if first.info().state != FINISHED else FINISHED, FINISHED]
