"""Names that people give to runs and models: one line, as they typed it."""

import pytest

from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.jobs.fine_tune.preparing import example_table
from tests.attacks.small_home import planned


@pytest.fixture
def data(bench):
    table = example_table("requests_scored.csv", bench.settings.limits)
    return preparing.load(bench, bench.sessions.open(), table)


@pytest.fixture
def run(bench, data):
    return running.create(bench, data, planned(data), name=" my run ")


@pytest.mark.parametrize("name", ["a\n", "\na", "a\nb", "a\tb", "a\x1b[2Jb", "a\x7f", "\0", "a\0", 7, None, ["a"], {}])
def test_a_name_with_a_control_character_or_of_no_text_is_refused(name):
    with pytest.raises(UserError, match="must be"):
        validation.line(name, "run's name")


def test_a_run_is_named_on_one_line(bench, data, run):
    assert run.facts["name"] == "my run"
    for name in ("other\n", "o\nther", ["other"], None):
        with pytest.raises(UserError, match="The run's name must be"):
            running.rename(bench, run.id, name)
    with pytest.raises(UserError, match="on one line"):
        running.create(bench, data, planned(data), name="a\nb")
    running.rename(bench, run.id, "é 名前 🙂")
    assert run.facts["name"] == "é 名前 🙂"


@pytest.mark.parametrize("name", ["model\n", "mo\ndel", "m" * 5_000, "../x", ".", "", "-x", "名前", None, ["a"]])
def test_a_model_is_saved_under_a_plain_name_only(bench, run, encoder, name):
    encoder.save(run.model)
    with pytest.raises(UserError, match="model's name"):
        running.save_model(bench, run.id, name)
    assert not (bench.settings.models).exists()
