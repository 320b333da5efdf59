"""The command under a verdict trains the same run again."""

from dataclasses import replace

import pytest

from sbert_app.jobs.fine_tune import FineTuneOptions, _plan, options_of
from sbert_app.labelled.columns import guess_mapping
from sbert_app.labelled.training_data import SplitChoice
from sbert_app.runs.plan import PAPER, QUICK, THOROUGH
from sbert_app.services.fine_tune import FineTuneService


@pytest.fixture(scope="module")
def service(shared_bench):
    return FineTuneService(shared_bench)


def finished(service, file="requests_scored.csv", choice=None, preset=QUICK, **changes):
    """Data of an example, and a run of it as if it were finished."""
    table = service.labelled.example(file)
    data = service.labelled.read(table, guess_mapping(table.frame), choice or SplitChoice())
    run = service.create(data, service.plan(preset, data, **changes))
    progress = service.progress(run.id)
    service.delete(run.id)
    return data, replace(progress, result={"parts": {"train": len(data.split.train)}})


@pytest.mark.parametrize(
    ("file", "preset", "changes"),
    [
        ("requests_scored.csv", QUICK, {}),
        ("requests_scored.csv", THOROUGH, {"epochs": 2, "seed": 7, "learning_curve": False}),
        ("instructions_labelled.csv", PAPER, {"batch_size": 8, "learning_rate": 1e-4}),
        ("messages_triplets.csv", QUICK, {"objective": "ranking", "learning_curve": True}),
    ],
)
def test_its_options_make_the_same_plan(service, file, preset, changes):
    data, progress = finished(service, file, preset=preset, **changes)
    assert _plan(service, data, FineTuneOptions(**options_of(progress))) == progress.plan


def test_it_splits_as_the_run_did(service):
    for choice, option in (
        (SplitChoice("pairs"), {"split": "pairs"}),
        (SplitChoice(column="sentence1"), {"split_column": "sentence1"}),
    ):
        assert option.items() <= options_of(finished(service, choice=choice)[1]).items()


def test_there_is_none_where_no_option_says_what_was_done(service):
    table = service.labelled.example("requests_scored.csv")
    own = SplitChoice(held_out=replace(table, frame=table.frame.head(40), rows=table.rows[:40]))
    assert options_of(finished(service, choice=own)[1]) is None
    assert options_of(finished(service, "messages_triplets.csv", margin=0.5)[1]) is None
    _, progress = finished(service)
    assert options_of(replace(progress, result=None)) is None
