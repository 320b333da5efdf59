"""From a table to a judged model, in the background: what a visitor of the Fine-tune tab sets off."""

import time
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from sbert_app.errors import UserError
from sbert_app.labelled.groups import PAIRS, shared_warning
from sbert_app.labelled.training_data import DEV, TEST, SplitChoice
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.models.registry import Registry
from sbert_app.runs import plan as plans
from sbert_app.runs.execution import Execution
from sbert_app.runs.plan import QUICK
from sbert_app.runs.result import summary
from sbert_app.runs.run import FAILED, FINISHED, INTERRUPTED, STOPPED
from sbert_app.runtime.workbench import open_workbench
from sbert_app.services.fine_tune import FineTuneService
from sbert_app.services.trained_models import TrainedModels
from sbert_app.settings import HOSTED_LIMITS
from sbert_app.storage import write_object
from sbert_app.training.siamese import load_head, predict_labels
from sbert_app.ui.fine_tune import verdict_view
from tests.attacks.small_home import BASE, tiny_model
from tests.evaluating import evaluate

SCORED, LABELLED, TRIPLETS = "requests_scored.csv", "instructions_labelled.csv", "messages_triplets.csv"
SHORT = {"epochs": 1, "learning_curve": False}
ANNA, BERTA = "anna's secret in her browser", "berta's secret in hers"


@pytest.fixture
def service(bench):
    return FineTuneService(bench)


@pytest.fixture
def tiny(bench):
    """The name of a model of one small layer, for runs that are about anything but what a real model learns."""
    tiny_model(bench.settings.models / BASE)
    return BASE


@pytest.fixture
def hosted(bench):
    settings = replace(bench.settings, hosted=True, limits=HOSTED_LIMITS)
    return FineTuneService(open_workbench(settings))


def load(service, name=SCORED, rows=100):
    """The first rows of an example: most tests only need a run that ends."""
    table = service.labelled.example(name)
    table = replace(table, frame=table.frame.head(rows), rows=table.rows[:rows])
    return service.labelled.load(service._bench.sessions.open(), table)


def wait(service, run_id, owner="", seconds=300, until=None):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        progress = service.progress(run_id, owner)
        if until(progress) if until else not progress.live:
            return progress
        time.sleep(0.05)
    raise AssertionError(f"still {progress.info}")


@pytest.mark.parametrize(
    ("name", "file", "objective"),
    [("infersent", LABELLED, "classification"), ("dan", LABELLED, "classification"), ("infersent", TRIPLETS, "triplet")],
)
def test_a_network_over_word_vectors_is_trained_saved_and_used_as_any_model(bench, service, name, file, objective):
    data = load(service, file, rows=80)
    plan = service.plan(QUICK, data, f"new/{name}", objective=objective, epochs=8, batch_size=16, learning_curve=False)
    progress = wait(service, service.start(data, plan).id)
    assert progress.info.state == FINISHED, progress.info.message
    losses = [event["loss"] for event in progress.events if event["type"] == "step"]
    assert np.mean(losses[-5:]) < 0.9 * np.mean(losses[:5])
    run = service.run(progress.info.id)
    saved = TrainedModels(bench, service).save_model(run.id, "mine")
    ours, theirs = bench.registry.encoder(run.info().model), Registry(bench.settings).encoder(saved)
    sentences = data.reading.examples.sentences[0][:20]
    assert np.abs(ours.encode(sentences) - theirs.encode(sentences)).max() < 1e-6 and theirs.note == ""
    before, after = (part.transformer.embeddings.weight for part in (bench.registry.encoder(plan.base), theirs))
    assert bool((before == after).all()) == (name == "infersent")  # its word vectors stay, as in the paper
    assert (saved, "encoder", 512) in [(row.name, row.kind, row.dim) for row in bench.registry.list()]
    head = summary(progress.result)["head"]
    assert (load_head(run.model) is None and head is None) if objective == "triplet" else 0 < head["accuracy"] <= 1
    assert "new/" + name in (run.model / "README.md").read_text()


def train(service, name=SCORED, owner="", rows=100, base=DEFAULT_ENCODER, **changes):
    data = load(service, name, rows)
    run = service.start(data, service.plan(QUICK, data, base, **SHORT | changes), owner)
    return wait(service, run.id, owner)


def test_a_run_is_judged_saved_and_loads_in_sentence_transformers(service, bench, tmp_path):
    shared = bench.registry.encoder(DEFAULT_ENCODER)
    fingerprint = shared.fingerprint
    progress = train(service, rows=200)
    assert progress.info.state == FINISHED, progress.info
    change = progress.result["verdict"]["changes"][0]
    assert change["metric"] == "spearman" and change["after"]["value"] > change["before"]["value"]
    sentences = ["Please block my card", "Unblock my card, please"]
    ours = Registry(replace(bench.settings, precision="fp32")).encoder(progress.info.model).encode(sentences)
    theirs = SentenceTransformer(str(service.run(progress.info.id).model), device="cpu").encode(sentences)
    assert (np.einsum("nd,nd->n", ours, theirs) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)).min() >= 0.9999
    untrained = Registry(replace(bench.settings, precision="fp32")).encoder(DEFAULT_ENCODER).encode(sentences)
    assert np.abs(ours - untrained).max() > 1e-3
    assert Registry(bench.settings).encoder(DEFAULT_ENCODER).fingerprint == fingerprint == shared.fingerprint
    card = (service.run(progress.info.id).model / "README.md").read_text()
    assert "Cosine regression, 1 epoch," in card and "40 held-out examples" in card and DEFAULT_ENCODER in card
    assert "no held-out sentence occurs in training" in card and "on new sentences" not in card

    models = TrainedModels(bench, service)
    name = models.save_model(progress.info.id, models.free_name(progress.info.name))
    assert name in [info.name for info in bench.registry.list()]
    assert bench.registry.encoder(name).encode(sentences).shape == (2, 384)
    with pytest.raises(UserError, match="already a model named"):
        models.save_model(progress.info.id, name)
    assert models.free_name(name) == f"{name}-2"
    for wrong in ("../x", "", "a/b", ".hidden", DEFAULT_ENCODER, "x" * 80, 3):
        with pytest.raises(UserError):
            models.save_model(progress.info.id, wrong)
    with zipfile.ZipFile(models.zip_model(progress.info.id, tmp_path)) as archive:
        assert {"requests_scored/model.safetensors", "requests_scored/modules.json"} <= set(archive.namelist())


def test_a_split_that_shares_sentences_says_so_wherever_its_result_is(service, tiny):
    """The verdict, the model card and the summary for scripts; and the run remembers its file and its split."""
    data = load(service, LABELLED, 420)
    session = service._bench.sessions.open()
    data = service.labelled.load(session, data.table)
    assert data.split.shared == 0
    data = service.labelled.remap(session, data.mapping, PAIRS)
    assert data.split.shared > 0 and service.labelled.current(session) is data
    data = replace(data, split=replace(data.split, train=data.split.train.take(np.arange(32))))  # short; `shared` as it was
    run = service.start(data, service.plan(QUICK, data, tiny, **SHORT))
    progress = wait(service, run.id)
    warning = shared_warning(data.split.shared)
    assert warning.endswith("on new sentences the result may be lower.")
    assert progress.shared == data.split.shared and progress.separation.held_out == PAIRS
    assert warning in verdict_view.verdict(progress)
    assert warning in (service.run(run.id).model / "README.md").read_text()
    facts = summary(progress.result)
    assert facts["shared_sentences"] == data.split.shared and facts["split"]["held_out"] == "pairs"
    assert facts["examples_needed"] is None or facts["verdict"] == "no clear change"
    assert (progress.info.file, progress.info.fingerprint) == (LABELLED, data.split.fingerprint)
    line = service.overview()[0]
    assert (line.info.id, line.word, line.base) == (run.id, facts["verdict"], tiny) and line.nbytes > 3_000_000
    old = {key: value for key, value in service.run(run.id).facts.items() if key not in ("split", "file")}
    write_object(service.run(run.id).folder / "plan.json", old)  # as an older version wrote it
    progress = service.progress(run.id)
    assert progress.separation.held_out == PAIRS and progress.info.file == "" and warning in verdict_view.verdict(progress)
    assert service.overview()[0].word == facts["verdict"]


def test_parts_of_ones_own_are_kept_with_other_columns_and_gone_with_other_data(service, write):
    session, labelled = service._bench.sessions.open(), service.labelled
    data = labelled.load(session, labelled.example(SCORED))
    rows = [f"own sentence {i},another of my own {i},{i % 6}" for i in range(30)]
    own = labelled.read_file(write("own.csv", "\n".join(["sentence1,sentence2,score", *rows])))
    data = labelled.set_part(session, TEST, own)
    assert len(data.split.held_out) == 30 and data.split.separation.held_out == "file"
    data = labelled.remap(session, data.mapping, PAIRS, "")
    assert len(data.split.held_out) == 30 and data.split.separation.dev == PAIRS
    with pytest.raises(UserError, match="Every pair of the dev part is also held out"):
        labelled.set_part(session, DEV, own)
    wrong = labelled.read_file(write("wrong.csv", "sentence1,sentence2\na,b\n"))
    with pytest.raises(UserError, match="'wrong.csv' has no column 'score'"):
        labelled.set_part(session, DEV, wrong)
    assert labelled.current(session) is data
    assert len(labelled.set_part(session, TEST, None).split.held_out) == 80
    assert labelled.load(session, labelled.example(TRIPLETS)).choice == SplitChoice()


def test_the_softmax_head_survives_save_and_load(service, bench):
    progress = train(service, LABELLED, objective="classification")
    folder = service.run(progress.info.id).model
    head, labels = load_head(folder)
    assert labels == ("opposite", "other", "same") and head.concatenation == "(u, v, |u − v|)"
    held_out = service.held_out(progress.info.id)
    encoder = Registry(replace(bench.settings, precision="fp32")).encoder(progress.info.model)
    columns = [encoder.encode(column) for column in held_out.sentences]
    accuracy = (predict_labels(head, *columns) == held_out.targets).mean()
    assert accuracy == pytest.approx(progress.result["head"]["accuracy"], abs=1.5 / len(held_out))  # bf16 may turn one
    evaluation = evaluate(bench, held_out, ["sbert", "word-overlap"], model=progress.info.model)
    assert evaluation["sbert"]["head_accuracy"] == pytest.approx(accuracy, abs=1.5 / len(held_out))
    assert SentenceTransformer(str(folder), device="cpu").encode(["a"]).shape == (1, 384)
    assert load_head(bench.registry.encoder().folder) is None


def test_stop_keeps_the_best_and_is_over_soon(service):
    data = load(service)
    run = service.start(data, service.plan(QUICK, data, epochs=50))
    wait(service, run.id, until=lambda p: sum(e["type"] == "evaluation" for e in p.events) >= 1)
    service.stop(run.id)
    reached = len(service.progress(run.id).events)
    stopped = wait(service, run.id)
    assert len(stopped.events) - reached <= 3  # what the batch in hand brings, and which checkpoint is kept
    assert stopped.info.state == STOPPED and stopped.info.has_model
    evaluations = [e for e in stopped.events if e["type"] == "evaluation"]
    assert stopped.result["best_step"] == max(evaluations, key=lambda e: e["score"])["step"] < stopped.result["steps"]


def test_stop_before_the_first_evaluation_keeps_nothing_and_says_so(service):
    data = load(service)
    run = service.start(data, service.plan(QUICK, data, epochs=50))
    wait(service, run.id, until=lambda p: p.info.state == "running")
    service.stop(run.id)
    stopped = wait(service, run.id)
    assert stopped.info.state == STOPPED and "nothing was saved" in stopped.info.message and not stopped.info.has_model
    with pytest.raises(UserError, match="no model yet"):
        TrainedModels(service._bench, service).save_model(run.id, "name")


def test_runs_take_turns_and_the_waiting_one_can_be_stopped(service):
    data = load(service)
    plan = service.plan(QUICK, data, epochs=50)
    first, second = service.start(data, plan), service.start(data, plan)
    assert service.progress(second.id).info.state == "waiting"
    with pytest.raises(UserError, match="still training"):
        service.delete(second.id)
    service.stop(second.id)
    service.stop(first.id)
    assert wait(service, second.id).info.message == "Stopped before it began."
    service.delete(second.id)
    assert [info.id for info in service.list()] == [first.id]


def test_searching_goes_on_while_a_run_trains(service, bench):
    encoder = bench.registry.encoder()
    data = load(service)
    run = service.start(data, service.plan(QUICK, data, epochs=50))
    wait(service, run.id, until=lambda p: p.events)
    for _ in range(5):
        bench.device.encode(encoder, ["is anybody there?"])
    assert service.progress(run.id).live  # none of them waited for the end of the run
    service.stop(run.id)
    wait(service, run.id)


def test_a_failed_run_keeps_the_reason_and_the_worker_lives_on(service, tiny, monkeypatch):
    def broken(*_):
        raise RuntimeError("disk on fire")

    with monkeypatch.context() as patch:
        patch.setattr(Execution, "_train", broken)
        progress = train(service, base=tiny)
        assert progress.info.state == FAILED and "our side" in progress.info.message and "disk on fire" not in progress.info.message
    with monkeypatch.context() as patch:
        patch.setattr(Execution, "_train", lambda *_: (_ for _ in ()).throw(UserError("The disk is full.")))
        assert train(service, base=tiny).info.message == "The disk is full."
    resumed = service.resume(progress.info.id)
    assert wait(service, resumed.id).info.state == FINISHED


def test_in_hosted_mode_nobody_sees_or_stops_anothers_run(hosted):
    progress = train(hosted, TRIPLETS, owner=ANNA, rows=60)
    run_id = progress.info.id
    assert [info.id for info in hosted.list(ANNA)] == [run_id] and hosted.list(BERTA) == []
    actions = (hosted.progress, hosted.stop, hosted.resume, hosted.delete, hosted.held_out)
    for action in actions:
        with pytest.raises(UserError, match="no such run"):
            action(run_id, BERTA)
        with pytest.raises(UserError, match="Your browser stores no data"):
            action(run_id, "")
    with pytest.raises(UserError, match="no such run"):
        hosted.rename(run_id, "mine", BERTA)
    models = TrainedModels(hosted._bench, hosted)
    with pytest.raises(UserError, match="saves no models"):
        models.save_model(run_id, "public", ANNA)
    assert progress.info.model not in [info.name for info in hosted._bench.registry.list()]
    assert hosted._bench.registry.encoder(progress.info.model).dim == 384  # who knows the id may use it
    for guess in ("runs/", "runs/..", "runs/x", f"runs/../runs/{run_id}"):
        with pytest.raises(UserError):
            hosted._bench.registry.encoder(guess)
    assert ANNA not in (hosted.run(run_id, ANNA).folder / "plan.json").read_text()


def test_a_hosted_visitor_has_one_run_at_a_time(hosted):
    data = load(hosted)
    plan = hosted.plan(QUICK, data, epochs=50)
    first = hosted.start(data, plan, ANNA)
    with pytest.raises(UserError, match="still training"):
        hosted.start(data, plan, ANNA)
    with pytest.raises(UserError, match="the limit is 200,000. Choose fewer epochs"):
        hosted.start(replace(data, split=replace(data.split, train=_many(data.split.train))), plan, BERTA)
    second = hosted.start(data, plan, BERTA)
    for run, owner in ((second, BERTA), (first, ANNA)):
        hosted.stop(run.id, owner)
    wait(hosted, first.id, ANNA)


def _many(examples):
    return examples.take(np.arange(5_000) % len(examples))


def test_rename_and_delete(service, tiny):
    progress = train(service, TRIPLETS, base=tiny)
    service.rename(progress.info.id, " better name ")
    assert service.list()[0].name == "better name"
    with pytest.raises(UserError, match="blank"):
        service.rename(progress.info.id, "  ")
    service.delete(progress.info.id)
    assert service.list() == []
    with pytest.raises(UserError, match="no such run"):
        service.progress(progress.info.id)


def test_an_abandoned_run_is_interrupted_and_resumes(service, tiny):
    data = load(service)
    run = service.create(data, service.plan(QUICK, data, tiny, **SHORT))
    with run.lock():
        steps = service.steps(run)
        while next(steps)["type"] != "evaluation":
            pass
        steps.close()
    assert service.progress(run.id).info.state == INTERRUPTED
    service.resume(run.id)
    assert wait(service, run.id).info.state == FINISHED
    with pytest.raises(UserError, match="Only an interrupted run"):
        service.resume(run.id)


def test_a_damaged_run_stops_nobody_and_says_what_to_do(hosted, service):
    data = load(hosted)
    plan = hosted.plan(QUICK, data, **SHORT)
    damaged = hosted.create(data, plan, hosted._owner(ANNA))
    (damaged.folder / "plan.json").write_text("null")
    started = hosted.start(data, plan, BERTA)
    hosted.stop(started.id, BERTA)
    wait(hosted, started.id, BERTA)
    assert hosted.list(ANNA) == [] and [info.id for info in hosted.list(BERTA)] == [started.id]
    assert service.active_run() is None and service.interrupted_run(plan, data) is None
    assert {info.id: info.state for info in service.list()} == {damaged.id: "damaged", started.id: STOPPED}
    for action in (service.progress, service.resume, service.held_out, lambda run_id: service.rename(run_id, "name")):
        with pytest.raises(UserError, match="This run is damaged. Delete it."):
            action(damaged.id)
    service.delete(damaged.id)
    assert [info.id for info in service.list()] == [started.id]


def test_the_estimate_is_near_what_it_takes(service, monkeypatch):
    """In seconds of this process: what else the machine does meanwhile counts in neither."""
    monkeypatch.setattr(plans, "time", SimpleNamespace(perf_counter=time.process_time))
    data = load(service)
    plan = service.plan(QUICK, data, epochs=1, learning_curve=True)
    expected = service.estimate(data, plan)
    assert expected.pairs_per_second > 5 and expected.learning_curve > 0
    start = time.process_time()
    wait(service, service.start(data, plan).id)
    assert 0.2 < expected.seconds / (time.process_time() - start) < 5


def test_settings_from_the_page_are_checked(service):
    data = load(service)
    for wrong in (
        {"epochs": 0},
        {"epochs": 2.5},
        {"learning_rate": "x"},
        {"objective": "magic"},
        {"objective": "triplet"},
        {"margin": -1},
    ):
        with pytest.raises(UserError):
            service.plan(QUICK, data, **wrong)
    with pytest.raises(UserError, match="Unknown preset"):
        service.plan("magic", data)
    with pytest.raises(UserError, match="no example"):
        service.labelled.example("../../secret.csv")
    with pytest.raises(UserError, match="no training data"):
        service.labelled.current(service._bench.sessions.open())


def test_evaluate_measures_each_system_and_refuses_unknown_ones(bench, service):
    results = evaluate(bench, service.labelled.example(TRIPLETS), ["sbert", "word-overlap"])
    assert results["sbert"]["triplet_accuracy"] < 0.2 and results["sbert"]["sentences"] == 900
    assert results["word-overlap"]["triplet_accuracy"] < 0.1
    with pytest.raises(UserError, match="Unknown system 'magic'"):
        evaluate(bench, service.labelled.example(TRIPLETS), ["magic"])
