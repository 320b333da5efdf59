"""The command under a verdict trains the same run again; names of runs and models are one line, as people typed them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.evaluation.verdict import judge
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.jobs.fine_tune.job import FineTuneOptions, fine_tune, options_of, plan_of
from sbert_app.jobs.fine_tune.preparing import AS_USUAL, SplitChoice, example_table, read_training_data
from sbert_app.labelled.columns import guess_mapping
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runs.plan import PAPER, QUICK, THOROUGH
from sbert_app.runs.records import STOPPED, Parts, RunResult
from sbert_app.tables import Table
from tests.attacks.small_home import planned, training_data
from tests.jobs.refusals import refused


def finished(bench, file="requests_scored.csv", choice=AS_USUAL, preset=QUICK, **options):
    """Data of an example, and a run of it as if it were finished."""
    table = example_table(file, bench.settings.limits)
    data = read_training_data(table, guess_mapping(table.frame), bench.settings.limits, choice)
    run = running.create(bench, data, planned(data, preset=preset, **options))
    state = running.state(bench, run.id)
    running.delete(bench, run.id)
    predicted = np.zeros(len(data.split.held_out))
    verdict = judge(state.kind, predicted, predicted, data.split.held_out.gold)
    parts = Parts(len(data.split.train), len(data.split.dev), len(data.split.held_out))
    return data, replace(state, result=RunResult(verdict=verdict, before=[], after=[], parts=parts, best_step=1, steps=1))


@pytest.mark.parametrize(
    ("file", "preset", "changes"),
    [
        ("requests_scored.csv", QUICK, {}),
        ("requests_scored.csv", THOROUGH, {"epochs": 2, "seed": 7, "learning_curve": False}),
        ("instructions_labelled.csv", PAPER, {"batch_size": 8, "learning_rate": 1e-4}),
        ("messages_triplets.csv", QUICK, {"objective": "ranking", "learning_curve": True}),
        ("requests_scored.csv", THOROUGH, {"cross_encoder": "cross-MiniLM-L6-stsb", "epochs": 2}),
    ],
)
def test_its_options_make_the_same_plan(shared_bench, file, preset, changes):
    data, progress = finished(shared_bench, file, preset=preset, **changes)
    assert plan_of(FineTuneOptions(**options_of(progress)), data) == progress.plan and progress.info.named == {}


def test_it_splits_as_the_run_did_or_there_is_none_where_no_option_says_what_was_done(shared_bench):
    for choice, option in (
        (SplitChoice("pairs"), {"split": "pairs"}),
        (SplitChoice(column="sentence1"), {"split_column": "sentence1"}),
    ):
        assert option.items() <= options_of(finished(shared_bench, choice=choice)[1]).items()
    table = example_table("requests_scored.csv", shared_bench.settings.limits)
    own = SplitChoice(held_out=replace(table, frame=table.frame.head(40), rows=table.rows[:40]))
    assert options_of(finished(shared_bench, choice=own)[1]) is None
    assert options_of(finished(shared_bench, "messages_triplets.csv", adjust={"margin": 0.5})[1]) is None
    _, progress = finished(shared_bench)
    assert options_of(replace(progress, result=None)) is None
    assert options_of(replace(progress, info=replace(progress.info, state=STOPPED))) is None


def test_its_options_read_the_same_columns_or_there_is_none(shared_bench):
    """Of published codes of NLI the guess, entailment, stays where its own column is named."""
    rows = range(40)
    cells = {"premise": [f"a b {i}" for i in rows], "hypothesis": [f"c d {i}" for i in rows], "label": [f"{i % 3}" for i in rows]}
    table = Table("nli.csv", pd.DataFrame(cells | {"other": [f"{i % 5}" for i in rows]}), np.arange(1, 41))
    guessed = guess_mapping(table.frame)
    assert guessed.positive == "0" and preparing.roles(table, "label", "") == guessed and preparing.naming(table, guessed) == {}
    for named in ({"label_column": "other"}, {"same": "2"}):
        chosen = preparing.roles(table, named.get("label_column", ""), named.get("same", ""))
        assert chosen != guessed and preparing.naming(table, chosen) == named
    assert preparing.naming(table, replace(guessed, sentences=guessed.sentences[::-1])) is None
    data = read_training_data(table, chosen, shared_bench.settings.limits)
    run = running.create(shared_bench, data, planned(data))
    assert run.info().named == {"same": "2"}
    running.delete(shared_bench, run.id)


def test_a_label_that_the_file_lacks_is_refused(shared_bench):
    def trained(file, **options):
        call = Call(shared_bench, table=example_table(file, shared_bench.settings.limits))
        return next(fine_tune(call, FineTuneOptions(out=None, **options)))

    refused(r"has no label 'sam'. Its labels are: opposite, other, same\.", trained, "instructions_labelled.csv", same="sam")
    refused(r"has no label '1'. It was read as scored, without labels\.", trained, "requests_scored.csv", same="1")


@pytest.mark.parametrize("name", ["a\n", "\na", "a\nb", "a\tb", "a\x1b[2Jb", "a\x7f", "\0", "a\0", 7, None, ["a"], {}])
def test_a_name_with_a_control_character_or_of_no_text_is_refused(name):
    refused("must be", validation.line, name, "run's name")


def test_a_run_is_named_on_one_line_and_deleted(bench):
    data = training_data(bench)
    run = running.create(bench, data, planned(data), name=" my run ")
    assert run.facts["name"] == "my run"
    for name in ("other\n", "o\nther", ["other"], None):
        refused("The run's name must be", running.rename, bench, run.id, name)
    refused("on one line", running.create, bench, data, planned(data), name="a\nb")
    refused("blank", running.rename, bench, run.id, "  ")
    running.rename(bench, run.id, " é 名前 🙂 ")
    assert running.rows(bench)[0].name == "é 名前 🙂"
    running.delete(bench, run.id)
    assert running.rows(bench) == []
    refused("no such run", running.state, bench, run.id)


def test_a_model_is_saved_under_a_plain_name_only(bench, encoder):
    data = training_data(bench)
    run = running.create(bench, data, planned(data))
    encoder.save(run.model)
    for name in ("model\n", "mo\ndel", "m" * 80, "../x", ".", ".hidden", "", "-x", "a/b", "名前", None, ["a"], 3):
        refused("model's name", running.save_model, bench, run.id, name)
    refused("already a model named", running.save_model, bench, run.id, DEFAULT_ENCODER)
    assert not bench.settings.models.exists()
