"""Runs on disk: whole or not there, found again, owned."""

import json

import pytest

from sbert_app.errors import UserError
from sbert_app.training.options import Options
from sbert_app.training.plan import PAPER, PRESETS, QUICK, Plan, preset
from sbert_app.training.run import FINISHED, INTERRUPTED, RUNNING, Run
from sbert_app.training.runs import Runs
from sbert_app.training.splits import split


@pytest.fixture
def run(tmp_path, scored):
    return Run.create(tmp_path, "my run", "anna", Plan("all-MiniLM-L6-v2", "regression", Options(epochs=2)), split(scored))


def test_a_run_is_read_back_as_it_was_made(run, scored):
    assert run.plan == Plan("all-MiniLM-L6-v2", "regression", Options(epochs=2))
    assert run.split().fingerprint == split(scored).fingerprint
    info = run.info()
    assert (info.name, info.owner, info.has_model, info.model) == ("my run", "anna", False, f"runs/{run.id}")


def test_who_says_it_runs_while_nobody_holds_its_lock_was_killed(run):
    run.say(RUNNING)
    assert run.info().state == INTERRUPTED
    with run.lock():
        assert run.info().state == RUNNING
        with pytest.raises(UserError, match="already being worked on"), run.lock():
            pass
    run.say(FINISHED, "done")
    assert (run.info().state, run.info().message) == (FINISHED, "done")


def test_a_half_written_event_is_no_event(run):
    run.add_event({"type": "step", "step": 1})
    run.add_event({"type": "step", "step": 9})
    with (run.folder / "events.jsonl").open("a") as file:
        file.write('{"type": "st')
    assert [event["step"] for event in run.events()] == [1, 9]
    run.forget_events_after(5)
    assert [event["step"] for event in run.events()] == [1]


def test_owners_see_their_own_runs_and_nobody_elses(tmp_path, run, scored):
    runs = Runs(tmp_path)
    other = Run.create(tmp_path, "hers", "berta", run.plan, split(scored))
    assert {info.id for info in runs.list()} == {run.id, other.id}
    assert [info.id for info in runs.list("anna")] == [run.id]
    assert runs.get(run.id, "anna").id == run.id
    for wrong in (other.id, "", ".", "..", "../runs", f"../{tmp_path.name}/{run.id}", "nothing", None):
        with pytest.raises(UserError, match="no such run"):
            runs.get(wrong, "anna")


def test_what_was_killed_while_it_was_made_is_not_listed(tmp_path, run):
    (tmp_path / ".a-temporary-name").mkdir()
    (tmp_path / "half").mkdir()
    assert [info.id for info in Runs(tmp_path).list()] == [run.id]


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


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("kind", ["scored", "labelled", "triplets", "positives"])
def test_presets_fit_every_kind(name, kind):
    plan = preset(name, kind, 500, "base")
    plan.check(kind)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_the_papers_preset_is_the_papers():
    nli, sts = preset(PAPER, "labelled", 10_000, "base"), preset(PAPER, "scored", 5_749, "base")
    assert (nli.objective, nli.options.epochs, nli.options.batch_size, nli.options.learning_rate) == ("classification", 1, 16, 2e-5)
    assert (sts.objective, sts.options.epochs, sts.options.warmup) == ("regression", 4, 0.1)
    assert preset(PAPER, "triplets", 100, "base").adjust.margin == 1


def test_a_plan_that_does_not_fit_is_refused():
    with pytest.raises(UserError, match="cannot learn from triplets. Use triplet, ranking"):
        preset(QUICK, "scored", 100, "base").check("triplets")
    with pytest.raises(UserError, match="Unknown objective 'magic'"):
        Plan("base", "magic")
    with pytest.raises(UserError, match="Unknown preset 'best'"):
        preset("best", "scored", 100, "base")
