"""Objectives that are tried before a run: one is chosen by its dev score and trained, and a resumed run tries none twice."""

from dataclasses import replace

import numpy as np
import pytest

from sbert_app.jobs.fine_tune import running
from sbert_app.jobs.fine_tune.preparing import example_table, load
from sbert_app.runs import plan
from sbert_app.runs.records import Tried
from sbert_app.runs.trials import Trials
from sbert_app.runtime.workbench import Workbench
from tests.attacks.small_home import BASE, planned, settings, tiny_model, training_data


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "TRIAL_UPDATES", 6)
    tiny_model(tmp_path / "models" / BASE)
    return Workbench(settings(tmp_path))


def train(bench, run):
    with run.lock():
        return list(running.train_here(bench, run))


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [({}, "cosent"), ({"regression": 0.88, "angle": 0.889}, "regression"), ({"regression": 0.88, "angle": 0.9}, "angle")],
)
def test_another_objective_than_the_first_has_to_be_clearly_better(scores, chosen):
    assert plan.Plan(BASE, "cosent").chosen(scores) == chosen


def test_the_chosen_objective_is_trained(bench):
    data = training_data(bench)
    best = planned(data, BASE, preset=plan.BEST, epochs=1)
    run = running.create(bench, data, best)
    tried = {event.objective: event.score for event in train(bench, run) if isinstance(event, Tried)}
    result = run.result()
    assert tuple(tried) == best.tries == ("regression", "cosent", "angle") and result.tried == tried
    chosen = result.objective
    assert chosen == best.chosen(tried)
    directly = running.create(bench, data, replace(best, objective=chosen, tries=()))
    train(bench, directly)
    assert directly.result().after == result.after
    card = (run.model / "README.md").read_text()
    assert "Tried for a short time, dev score: Cosine regression" in card
    assert f"Trained with {plan.OBJECTIVES[chosen].title}" in card


def test_a_resumed_run_tries_no_objective_twice(bench):
    data = training_data(bench)
    run = running.create(bench, data, planned(data, BASE, preset=plan.BEST, epochs=1))
    with run.lock():
        steps = running.train_here(bench, run)
        first = next(event for event in steps if isinstance(event, Tried))
        steps.close()
    later = train(bench, run)
    assert [event.objective for event in later if isinstance(event, Tried)] == ["cosent", "angle"]
    assert run.events()[0] == first
    assert list(run.result().tried) == ["regression", "cosent", "angle"]


def test_after_a_stop_no_further_objective_is_tried(bench):
    run = running.create(bench, training_data(bench), plan.Plan(BASE, "regression", tries=("regression", "cosent")))
    loaded = []

    def load_base(name):
        loaded.append(name)
        return bench.registry.trainable(name)

    trials = Trials(load_base, bench.registry.hardware, lambda: bool(loaded))
    assert [event for event in trials.objectives(run, run.split()) if event] == [] and len(loaded) == 1


def test_an_objective_that_no_example_fits_is_left_out(bench):
    table = example_table("instructions_labelled.csv", bench.settings.limits)
    split = load(bench, bench.sessions.open(), table).split
    different = replace(split, train=split.train.take(np.flatnonzero(split.train.gold == 0)[:40]))
    run = running.create(bench, training_data(bench), plan.Plan(BASE, "regression", tries=("regression", "guided")))
    trials = Trials(bench.registry.trainable, bench.registry.hardware, lambda: False)
    assert [event.objective for event in trials.objectives(run, different) if event] == ["regression"]


def test_a_chosen_objective_is_not_tried_against_others(bench):
    data = training_data(bench)
    assert planned(data, BASE, preset=plan.BEST, objective="cosent").tries == ()
    assert planned(data, BASE, preset=plan.BEST).tries == plan.TRIED["scored"]
    assert planned(data, plan.NEW_POLY, preset=plan.BEST).tries == ("regression", "cosent")
