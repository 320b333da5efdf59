"""On ZeroGPU: each job in a loan of seconds, a training in slices, and the CPU where nothing is lent; the same results everywhere.

The package `spaces` is a stand-in (stand_in/spaces.py), whose GPU is this machine's CPU.
"""

import itertools
import logging
import os
import re
import shutil
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.environment import settings_from_environment
from sbert_app.errors import UserError
from sbert_app.grid.loading import pooled_by
from sbert_app.grid.systems import CROSS, SBERT
from sbert_app.jobs.fine_tune import running
from sbert_app.jobs.map.job import ClusterOptions, draw
from sbert_app.jobs.similarity import compare_lists
from sbert_app.jobs.timing import race
from sbert_app.runs.execution import Execution
from sbert_app.runs.records import FAILED, FINISHED, STOPPED, DevScore, Lent, Loss
from sbert_app.runtime import device, loan
from sbert_app.runtime.device import Device
from sbert_app.runtime.line import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from sbert_app.timing import race as race_module
from sbert_app.timing.race import DONE, RaceCorpus
from sbert_app.ui.fine_tune import view
from tests.attacks.small_home import BASE, checkpoints_at_once, planned, tiny_model, training_data
from tests.evaluating import evaluate
from tests.searching import indexed

STAND_IN = Path(__file__).with_name("stand_in")
LENT = re.compile(r"ZeroGPU: ([\d.]+) s of (\d+) s asked to (\w+)")
SLICE = 22  # updates and pauses in a slice of a training


@pytest.fixture(scope="module")
def spaces():
    """The stand-in. Its CUDA is refused in this process until the module's end."""
    sys.path.insert(0, str(STAND_IN))
    init, available, threads = torch.cuda._lazy_init, torch.cuda.is_available, torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order, here and in a worker
    import spaces

    yield spaces
    torch.cuda._lazy_init, torch.cuda.is_available = init, available
    torch.set_num_threads(threads)
    sys.path.remove(str(STAND_IN))
    del sys.modules["spaces"]


@pytest.fixture(scope="module")
def shared_lent(spaces, tmp_path_factory):
    """A workbench on ZeroGPU, and the module of its device."""
    home = tmp_path_factory.mktemp("lent")
    tiny_model(home / "models" / BASE)
    return Workbench(Settings(home, device="cpu", precision="fp32", zero_gpu=True))


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A workbench of the same precision that has no GPU."""
    return Workbench(Settings(tmp_path_factory.mktemp("here"), device="cpu", precision="fp32"))


@pytest.fixture
def lent(shared_lent, spaces, monkeypatch, caplog):
    """The workbench, where all work is worth a loan, of more time than it takes; `lent.told`: the sentences for a visitor."""
    monkeypatch.setattr("sbert_app.runtime.zero_gpu.WORTH", 1e-9)
    monkeypatch.setattr(device, "SHORT_CHARACTERS", 0)
    monkeypatch.setattr("sbert_app.runtime.zero_gpu.LEAST", 100)
    monkeypatch.setattr("sbert_app.runtime.zero_gpu.MOST", 600)
    monkeypatch.setattr(shared_lent.device, "_rates", {})
    monkeypatch.setattr(loan, "START", 0.0)
    monkeypatch.setattr(spaces, "quota", spaces.Quota())
    shared_lent.told = []
    shared_lent.device.tell = shared_lent.told.append
    caplog.set_level(logging.INFO, logger="sbert_app.runtime.zero_gpu")
    return shared_lent


@pytest.fixture
def slices(monkeypatch):
    """Let a slice of a training be over after so many values, whatever the clock says."""

    def after(count):
        ticks = itertools.count(1)  # each worker inherits it unused
        monkeypatch.setattr(loan, "late", lambda *_: next(ticks) >= count)

    return after


def loans(caplog, refused=0):
    """The task of each loan, all but some of which were granted to their end."""
    found = [(task, int(asked), float(used)) for used, asked, task in LENT.findall(caplog.text)]
    assert all(0 <= used <= asked for _, asked, used in found)
    assert caplog.text.count("lends no GPU") == refused
    return [task for task, *_ in found]


def trained(bench, base=BASE, epochs=2):
    """A new run of the same examples, not started."""
    data = training_data(bench)
    return running.create(bench, data, planned(data, base, epochs=epochs, learning_curve=False))


def by_worker(bench, run):
    bench.worker.start(run)
    while bench.worker.count():
        time.sleep(0.01)
    return run.info()


def equal(run, other):
    mine, others = (load_file(each.model / "model.safetensors") for each in (run, other))
    return mine.keys() == others.keys() and all(np.array_equal(mine[name], others[name]) for name in mine)


@pytest.fixture(scope="module")
def unsliced(shared_lent):
    """A run of the same plan that the CPU trained in one go."""
    run = trained(shared_lent)
    models = shared_lent.registry
    for _ in Execution(run, models.trainable, models.hardware).work():
        pass
    return run


def test_only_a_space_of_zero_gpu_that_has_the_package_borrows(spaces, monkeypatch):
    flag = {"SPACES_ZERO_GPU": "true"}
    on = settings_from_environment(flag)
    assert on.zero_gpu and on.device == "cpu"
    assert not settings_from_environment({}).zero_gpu and settings_from_environment({}).device == "auto"
    assert not settings_from_environment(flag | {"SBERT_STUDIO_DEVICE": "cpu"}).zero_gpu
    monkeypatch.delitem(sys.modules, "spaces")
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(STAND_IN)])
    assert not settings_from_environment(flag).zero_gpu


def test_elsewhere_the_package_is_not_even_imported(spaces, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "spaces")
    assert type(Workbench(replace(settings_from_environment({}), home=tmp_path)).device) is Device and "spaces" not in sys.modules
    assert type(Workbench(Settings(tmp_path, device="cpu", zero_gpu=True)).device) is not Device and "spaces" in sys.modules


def test_the_stand_in_refuses_cuda_and_kills(spaces, monkeypatch):
    with pytest.raises(RuntimeError, match="outside of a worker"):
        torch.cuda._lazy_init()

    def endless(_):
        while True:
            yield os.getpid()

    values = spaces.GPU(endless, duration=lambda seconds: seconds)(1)
    assert next(values) != os.getpid()
    with pytest.raises(spaces.Error), closing(values):
        for _ in values:
            pass


def test_similarity_and_index_borrow_and_give_what_the_cpu_gives(lent, here, caplog, sentences):
    lists = "\n".join(sentences[:40]), "\n".join(sentences[40:80])
    scores = compare_lists(lent, *lists).scores
    assert loans(caplog) == ["embed"] and np.allclose(scores, compare_lists(here, *lists).scores, atol=1e-5)
    rows = [f"{sentence} And soon." for sentence in sentences[:60]]  # those of the examples come with their embeddings
    session = indexed(lent, rows)
    assert loans(caplog) == ["embed"] * 2
    expected = here.registry.encoder().encode(rows)
    assert np.allclose(session.get(IndexedCorpus).embeddings, expected, atol=1e-5)


def test_a_map_of_an_indexed_corpus_and_a_short_request_borrow_nothing(lent, caplog, monkeypatch, sentences):
    session = indexed(lent, [f"{sentence} On a map." for sentence in sentences[:12]])
    monkeypatch.undo()
    compare_lists(lent, sentences[0], sentences[1])
    *_, drawn = draw(lent, session, ClusterOptions())
    assert len(drawn.projection.points) == 12 and loans(caplog) == ["embed"]


def test_an_evaluation_borrows_for_each_model(lent, here, scored, caplog):
    few = scored.take(np.arange(40))
    first, second = (evaluate(each, few, [SBERT, CROSS]) for each in (lent, here))
    assert set(loans(caplog)) == {"embed", "score"}
    assert [system["spearman"] for system in first.values()] == [system["spearman"] for system in second.values()]


def test_a_race_runs_in_one_loan(lent, caplog, monkeypatch, short_checks):
    monkeypatch.setattr(race_module, "SBERT_TURNS", 2)
    monkeypatch.setattr(race_module, "PRODUCT_ROWS", 400)
    *_, last = race(lent, RaceCorpus("some", [f"sentence {i} of a race" for i in range(20)], 20, 20), "", 1, Stop(), "")
    assert (last.stage, last.stopped) == (DONE, False) and last.result.timing.cross.items and loans(caplog) == ["race"]


def test_a_stopped_race_keeps_what_it_measured(lent, caplog, monkeypatch):
    corpus = RaceCorpus("some", [f"sentence {i} of a race" for i in range(60)], 60, 60)
    stop = Stop()
    for step in race(lent, corpus, "", 20, stop, ""):
        if step.result and step.result.cross.done and step.result.sbert.done:
            stop.set()
    assert step.stopped and step.result.timing.stopped and loans(caplog) == ["race"]


def test_a_training_in_three_slices_has_the_weights_of_one_in_one_go(lent, unsliced, slices, caplog):
    slices(SLICE)
    run = trained(lent)
    assert by_worker(lent, run).state == FINISHED
    assert loans(caplog) == ["train"] * 3 and equal(run, unsliced)
    lines = [event for event in run.events() if isinstance(event, Lent)]
    assert len(lines) == 3 and all(event.asked and not event.refused for event in lines)
    assert f"of {sum(event.asked for event in lines)} seconds asked" in view.live(running.state(lent, run.id))
    steps = [[event.step for event in each.events() if isinstance(event, Loss)] for each in (run, unsliced)]
    assert steps[0] == steps[1]


def test_out_of_quota_in_the_middle_of_a_training_nothing_is_lost(lent, spaces, unsliced, slices, caplog):
    slices(SLICE)
    spaces.quota.left = 250
    asked_before = len(spaces.quota.asked)
    run = trained(lent)
    assert by_worker(lent, run).state == FINISHED
    assert len(spaces.quota.asked) - asked_before == 2 and equal(run, unsliced)
    *_, last = (event for event in run.events() if isinstance(event, Lent))
    assert "exceeded your ZeroGPU quota" in last.refused and "The CPU goes on" in last.refused and lent.told == [last.refused]
    assert "Try again in 3:00:00" in view.live(running.state(lent, run.id))
    steps = [event.step for event in run.events() if isinstance(event, Loss)]
    assert steps == sorted(set(steps))


def test_killed_before_its_time_a_training_goes_on_from_its_checkpoint(lent, unsliced, monkeypatch, caplog):
    marks = itertools.count(1)

    def killed(*_):
        if next(marks) == SLICE:
            os._exit(1)
        return False

    monkeypatch.setattr(loan, "late", killed)
    run = trained(lent)
    with checkpoints_at_once():
        assert by_worker(lent, run).state == FINISHED and equal(run, unsliced)
    refused = [event.refused for event in run.events() if isinstance(event, Lent)]
    assert "GPU task aborted" in refused[0]


def test_stopped_a_training_keeps_the_best_checkpoint(lent, monkeypatch):
    run = trained(lent, epochs=40)  # its worker, which goes on until it sees the wish to stop, is not done before
    with run.lock():
        assert lent.device.train(run, lambda: any(isinstance(event, DevScore) for event in run.events()))
    assert run.info().state == STOPPED and run.info().has_model


def test_what_is_wrong_with_a_run_is_told_from_the_worker_too(lent):
    tiny_model(folder := lent.settings.models / "gone")
    run = trained(lent, base="gone")
    shutil.rmtree(folder)
    info = by_worker(lent, run)
    assert info.state == FAILED and "'gone' is not on this machine" in info.message and lent.told == []


def test_rows_that_came_before_a_worker_was_ended_are_not_computed_again(lent, spaces, caplog, monkeypatch, sentences):
    encoder = lent.registry.encoder(BASE)
    monkeypatch.setattr(loan, "late", lambda *_: True)  # each loan ends after a batch
    spaces.quota.left = 250
    numbers, vectors = map(np.concatenate, zip(*lent.device.stream(encoder, sentences[:240]), strict=True))
    assert loans(caplog, refused=1) == ["embed"] * 3 and sorted(numbers.tolist()) == list(range(240))
    assert len(lent.told) == 1 and "Try again in 3:00:00. The CPU goes on" in lent.told[0]
    assert np.allclose(vectors, encoder.encode(sentences[:240])[numbers], atol=1e-5)


def test_the_seconds_follow_the_measured_rate(lent, spaces, monkeypatch, sentences):
    encoder = lent.registry.encoder(BASE)
    monkeypatch.undo()
    monkeypatch.setattr("sbert_app.runtime.zero_gpu.WORTH", 1e-9)
    monkeypatch.setattr(device, "SHORT_CHARACTERS", 0)
    monkeypatch.setattr(spaces, "quota", spaces.Quota())
    monkeypatch.setattr(lent.device, "_rates", {("GPU", encoder.name): 10.0})
    monkeypatch.setattr(type(lent.device), "_measured", lambda *_: None)
    for count in (1, 2, 40):
        list(lent.device.stream(encoder, sentences[:count]))
    wanted = [(3 + sum(map(len, sentences[:count])) / 10) / 0.85 for count in (1, 2, 40)]
    assert spaces.quota.asked == [round(min(60, max(10, seconds))) for seconds in wanted]


def test_a_model_that_the_worker_would_not_find_stays_here(lent, caplog, encoder, sentences):
    list(lent.device.stream(pooled_by(encoder, "max"), sentences[:3]))
    assert loans(caplog) == []


def test_leaving_early_ends_the_worker(lent, spaces, caplog, sentences):
    with closing(lent.device.stream(lent.registry.encoder(BASE), sentences[:120])) as batches:
        next(batches)
    assert loans(caplog) == ["embed"] and not spaces.multiprocessing.active_children()


def test_a_user_error_of_the_worker_is_one_here(lent, monkeypatch, sentences):
    def broken(*_):
        raise UserError("The model is damaged.")
        yield

    monkeypatch.setitem(loan.TASKS, loan.EMBED, broken)
    with pytest.raises(UserError, match="is damaged"):
        list(lent.device.stream(lent.registry.encoder(BASE), sentences[:3]))
