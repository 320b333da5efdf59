"""Names that people give to runs and models: one line, as they typed it."""

import pytest

from sbert_app.errors import UserError
from sbert_app.services import validation
from sbert_app.services.fine_tune import FineTuneService
from sbert_app.services.trained_models import TrainedModels


@pytest.fixture
def service(bench):
    return FineTuneService(bench)


@pytest.fixture
def data(service):
    table = service.labelled.example("requests_scored.csv")
    return service.labelled.load(service._bench.sessions.open(), table)


@pytest.fixture
def run(service, data):
    return service.create(data, service.plan("quick", data), name=" my run ")


@pytest.mark.parametrize("name", ["a\n", "\na", "a\nb", "a\tb", "a\x1b[2Jb", "a\x7f", "\0", "a\0", 7, None, ["a"], {}])
def test_a_name_with_a_control_character_or_of_no_text_is_refused(name):
    with pytest.raises(UserError, match="must be"):
        validation.line(name, "run's name")


def test_a_run_is_named_on_one_line(service, data, run):
    assert run.facts["name"] == "my run"
    for name in ("other\n", "o\nther", ["other"], None):
        with pytest.raises(UserError, match="The run's name must be"):
            service.rename(run.id, name)
    with pytest.raises(UserError, match="on one line"):
        service.create(data, service.plan("quick", data), name="a\nb")
    service.rename(run.id, "é 名前 🙂")
    assert run.facts["name"] == "é 名前 🙂"


@pytest.mark.parametrize("name", ["model\n", "mo\ndel", "m" * 5_000, "../x", ".", "", "-x", "名前", None, ["a"]])
def test_a_model_is_saved_under_a_plain_name_only(service, run, encoder, name):
    encoder.save(run.model)
    with pytest.raises(UserError, match="model's name"):
        TrainedModels(service._bench, service).save_model(run.id, name)
    assert not (service._bench.settings.models).exists()
