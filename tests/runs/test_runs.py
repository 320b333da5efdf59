"""Runs on disk: whole or not there, found again, owned."""

import json
import os
import shutil
from dataclasses import asdict, replace
from functools import partial

import pytest
import torch

from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_mapping
from sbert_app.labelled.examples import read_examples
from sbert_app.labelled.splits import split
from sbert_app.models.files.finding import NEW_POLY
from sbert_app.runs import execution, plan
from sbert_app.runs import run as run_module
from sbert_app.runs.execution import Clock
from sbert_app.runs.plan import PAPER, PRESETS, QUICK, Plan, preset, preset_for
from sbert_app.runs.records import FINISHED, INTERRUPTED, RUNNING, Baseline, RunResult, from_json
from sbert_app.runs.run import Run, Runs
from sbert_app.runs.sealed_files import BEST, CHECKPOINT
from sbert_app.settings import ASSETS, Limits
from sbert_app.step import each_within
from sbert_app.storage import DELETED, read_object, sweep
from sbert_app.tables import read_table
from sbert_app.training.options import OF_SIMILARITY, TrainingOptions
from tests.damaging import flip
from tests.runs.test_records import SAVED

RESULT = from_json(RunResult, json.loads((SAVED / "result.json").read_text()))


PLAN = Plan("all-MiniLM-L6-v2", "regression", TrainingOptions(epochs=2))


@pytest.fixture
def run(tmp_path, scored):
    return Run.create(tmp_path, "my run", "anna", PLAN, split(scored))


@pytest.fixture
def other(tmp_path, run, scored):
    """A run of somebody else."""
    return Run.create(tmp_path, "hers", "berta", PLAN, split(scored))


def test_a_look_at_a_run_finds_it_as_it_was_made_reads_its_plan_once_and_is_its_owners(run, scored, monkeypatch):
    assert run.plan == PLAN and run.split().fingerprint == split(scored).fingerprint
    read = []
    monkeypatch.setattr(run_module, "read_object", lambda path: read.append(path.name) or read_object(path))
    state, info = run.state("anna"), run.info()
    assert read.count("plan.json") == 2  # once a look
    assert (state.info, state.plan, state.kind, state.events, state.result) == (info, PLAN, "scored", [], None)
    assert (info.name, info.owner, info.has_model, info.model) == ("my run", "anna", False, f"runs/{run.id}")
    with pytest.raises(UserError, match="no such run"):
        run.state("berta")
    _damage(run.folder / "plan.json", "null")
    with pytest.raises(UserError, match="no such run"):
        run.state("anna")
    with pytest.raises(UserError, match="This run is damaged"):
        run.state()


def test_a_run_that_ends_while_it_is_looked_at_is_not_ended_without_its_result(run, monkeypatch):
    run.set_state(RUNNING)
    monkeypatch.setattr(Run, "result", lambda self: self.set_state(FINISHED))
    assert run.state().info.state != FINISHED and run.state().info.state == FINISHED


def test_who_says_it_runs_while_nobody_holds_its_lock_was_killed(run):
    run.set_state(RUNNING)
    assert run.info().state == INTERRUPTED
    with run.lock():
        assert run.info().state == RUNNING and run.locked()
        with pytest.raises(UserError, match="already being worked on"), run.lock():
            pass
    assert not run.locked()
    run.set_state(FINISHED, "done")
    assert (run.info().state, run.info().message) == (FINISHED, "done")


def test_a_run_that_ends_between_the_look_at_its_state_and_at_its_lock_is_not_interrupted_and_has_its_model(run, monkeypatch):
    run.set_state(RUNNING)

    def ended_now():
        run.model.mkdir()
        (run.model / "config.json").write_text("{}")
        run.set_state(FINISHED, "done")
        return False

    monkeypatch.setattr(run, "locked", ended_now)
    info = run.info()
    assert (info.state, info.message, info.has_model) == (FINISHED, "done", True)


def test_owners_see_their_own_runs_and_nobody_elses(tmp_path, run, other):
    runs = Runs(tmp_path)
    assert {info.id for info in runs.list()} == {run.id, other.id}
    assert [info.id for info in runs.list("anna")] == [run.id]
    assert runs.get(run.id, "anna").id == run.id
    for wrong in (other.id, "", ".", "..", "../runs", f"../{tmp_path.name}/{run.id}", "nothing", None):
        with pytest.raises(UserError, match="no such run"):
            runs.get(wrong, "anna")


def test_what_was_killed_while_it_was_made_or_deleted_is_not_listed(tmp_path, run, other, monkeypatch):
    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    (tmp_path / ".a-temporary-name").mkdir()
    (tmp_path / "half").mkdir()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", killed)
        Runs(tmp_path).delete(other.id)
    assert [info.id for info in Runs(tmp_path).list()] == [run.id] and list(tmp_path.glob(f"{DELETED}*"))
    sweep(tmp_path)
    assert not list(tmp_path.glob(f"{DELETED}*"))


def test_delete_and_sweep_leave_locked_runs_alone(tmp_path, run):
    runs = Runs(tmp_path)
    with run.lock():
        with pytest.raises(UserError, match="Stop it first"):
            runs.delete(run.id)
        runs.sweep(hours=-1)
        assert runs.list()
    runs.sweep(hours=1)
    assert runs.list()
    runs.sweep(hours=-1)
    assert not runs.list()


def _damage(path, how):
    if how == "a folder":
        path.unlink()
        path.mkdir()
    elif how == "flipped":
        flip(path)
    elif how == "no keys":
        path.write_text("{}")
    else:
        path.write_bytes({"empty": b"", "null": b"null", "cut": path.read_bytes()[:-9]}[how])


@pytest.mark.parametrize("how", ["empty", "null", "cut", "no keys", "flipped", "a folder"])
def test_a_damaged_run_is_listed_as_damaged_stops_nobody_and_can_be_deleted(tmp_path, run, other, how):
    runs = Runs(tmp_path)
    _damage(run.folder / "plan.json", how)
    assert {info.id: info.state for info in runs.list()} == {run.id: "damaged", other.id: INTERRUPTED}
    assert [info.id for info in runs.list("berta")] == [other.id]
    with pytest.raises(UserError, match="no such run"):
        runs.get(run.id, "anna")  # nobody can tell any more whose it is
    with pytest.raises(UserError, match="This run is damaged. Delete it."):
        runs.get(run.id).split()
    runs.sweep(hours=1)
    runs.delete(run.id)
    assert [info.id for info in runs.list()] == [other.id]


def test_a_run_without_its_plan_is_damaged_and_swept_in_time(tmp_path, run):
    for name in ("plan.json", "state.json"):
        (run.folder / name).unlink()
    assert [info.state for info in Runs(tmp_path).list()] == ["damaged"]
    Runs(tmp_path).sweep(hours=1)
    assert run.folder.exists()
    os.utime(run.folder, (0, 0))
    Runs(tmp_path).sweep(hours=1)
    assert not run.folder.exists()


@pytest.mark.parametrize("how", ["empty", "null", "cut", "flipped", "a folder"])
def test_a_lost_state_is_told_by_what_lies_in_the_folder(run, how):
    run.set_state(FINISHED)
    _damage(run.folder / "state.json", how)
    assert run.info().state == INTERRUPTED
    run.model.mkdir()
    run.save_result(RESULT)
    assert run.info().state == FINISHED


@pytest.mark.parametrize("how", ["empty", "cut", "flipped", "a folder"])
@pytest.mark.parametrize("file", ["checkpoint.safetensors", "best.safetensors", "result.json", "examples.parquet"])
def test_what_rotted_is_never_taken_for_what_was_written(run, file, how):
    run.save(CHECKPOINT, {"weight": torch.arange(100.0)})
    run.save(BEST, {"weight": torch.arange(100.0)})
    run.save_result(RESULT)
    assert torch.equal(run.load(BEST)["weight"], torch.arange(100.0)) and run.result() == RESULT
    _damage(run.folder / file, how)
    read = {"result": run.result, "examples": run.split}
    name = file.split(".")[0]
    with pytest.raises(UserError, match="of this run is damaged. Delete the run"):
        read.get(name, partial(run.load, name))()


def test_events_that_rotted_are_left_out(run):
    for step in (1, 2, 3, 4):
        run.add_event(Baseline(step, 0.25))
    path = run.folder / "events.jsonl"
    first, second, third, last = path.read_bytes().splitlines(keepends=True)
    killed = b'{"type": "st'  # while it wrote
    path.write_bytes(first + second[:20] + b"\n" + third.replace(b"0.25", b"0.35") + b"\xff\xfe\n" + b"null\n" + last + killed)
    assert [event.step for event in run.events()] == [1, 4]
    run.forget_events_after(1)
    assert [event.step for event in run.events()] == [1]
    path.unlink()
    path.mkdir()
    assert run.events() == []
    run.forget_events_after(1)
    run.add_event(Baseline(5, 0.25))
    assert [event.step for event in run.events()] == [5]


def test_runs_from_before_there_were_checksums_are_read(run):
    for name in ("plan.json", "state.json"):
        content = json.loads((run.folder / name).read_text())
        for key in ("checksum", "format", "files"):
            content.pop(key, None)
        (run.folder / name).write_text(json.dumps(content))
    assert run.info().state == INTERRUPTED and len(run.split().train) > 0
    (run.folder / "plan.json").write_text(json.dumps(content | {"format": 99}))
    assert "newer version of this app. Update the app" in run.info().message


def test_a_home_that_cannot_be_written_is_told(tmp_path, scored):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="The run cannot be written: (Not a directory|File exists). Check who may write"):
        Run.create(tmp_path / "file" / "runs", "name", "", Plan("base", "regression"), split(scored))


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("kind", ["scored", "labelled", "triplets", "positives"])
@pytest.mark.parametrize("base", ["base", NEW_POLY])
def test_presets_fit_every_kind_and_a_poly_encoder_learns_in_the_steps_of_a_trained_model(name, kind, base):
    plan = preset(name, kind, 500, base)
    plan.check(kind)
    assert Plan.from_json(json.loads(json.dumps(asdict(plan)))) == plan
    assert plan.options == preset(name, kind, 500, "base").options and (base != NEW_POLY or plan.objective in OF_SIMILARITY)


def test_an_order_that_is_there_is_refined_and_another_one_is_taught():
    table = read_table(ASSETS / "labelled" / "instructions_labelled.csv", Limits())
    taught = read_examples(table, guess_mapping(table.frame), Limits()).examples  # those of the same intent share fewer words
    for examples, objective in ((taught, "regression"), (replace(taught, positive=taught.labels.index("opposite")), "cosent")):
        quick, best = (preset_for(examples, name, "base") for name in (QUICK, plan.BEST))
        assert (quick.objective, best.objective, best.tries[0]) == (objective, objective, objective)
        assert {*best.tries} == {*plan.TRIED["labelled"]}
        assert preset_for(examples, QUICK, "new/infersent").objective == "regression"
        assert preset_for(examples, PAPER, "base").objective == "classification"


def test_the_papers_preset_is_the_papers():
    nli, sts = preset(PAPER, "labelled", 10_000, "base"), preset(PAPER, "scored", 5_749, "base")
    assert (nli.objective, nli.options.epochs, nli.options.batch_size, nli.options.learning_rate) == ("classification", 1, 16, 2e-5)
    assert (sts.objective, sts.options.epochs, sts.options.warmup) == ("regression", 4, 0.1)
    assert preset(PAPER, "triplets", 100, "base").adjust.margin == 1


@pytest.mark.parametrize("name", PRESETS)
def test_an_untrained_network_learns_in_larger_steps_from_what_infersent_reads(name):
    plan, usual = preset(name, "labelled", 500, "new/infersent"), preset(name, "labelled", 500, "base")
    assert (plan.options.learning_rate, plan.options.head_rate, plan.options.batch_size) == (1e-3, 1e-3, 64)
    assert plan.adjust.concatenation == "(u, v, |u − v|, u ∗ v)" != usual.adjust.concatenation
    assert (plan.options.epochs, plan.objective) == (usual.options.epochs, usual.objective)


def test_a_plan_that_does_not_fit_is_refused():
    with pytest.raises(UserError, match="cannot learn from triplets. Use triplet, ranking"):
        preset(QUICK, "scored", 100, "base").check("triplets")
    with pytest.raises(UserError, match="Unknown objective 'magic'"):
        Plan("base", "magic")
    with pytest.raises(UserError, match="Unknown preset 'best'"):
        preset("best", "scored", 100, "base")


def test_the_clock_counts_computing_and_not_waiting(hand_clock, monkeypatch):
    def slow():
        for item in range(3):
            hand_clock.sleep(0.25)
            yield item

    monkeypatch.setattr(execution, "time", hand_clock)
    clock = Clock()
    for _ in each_within(clock.running, slow()):
        hand_clock.sleep(5)
    assert clock.seconds == 0.75
