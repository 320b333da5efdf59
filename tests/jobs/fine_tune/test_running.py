"""From a table to a judged model, in the background: what a visitor of the Fine-tune tab sets off."""

import os
import time
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sklearn.metrics.pairwise import cosine_similarity

from sbert_app.errors import UserError
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.jobs.fine_tune.preparing import AS_USUAL, DEV, TEST, example_table
from sbert_app.labelled.example_set import PAIRS, shared_warning
from sbert_app.labelled.examples import general_pairs
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.models.registry import Registry
from sbert_app.runs import plan as plans
from sbert_app.runs.execution import Execution
from sbert_app.runs.records import FAILED, FINISHED, INTERRUPTED, STOPPED, DevScore, Kept, Loss
from sbert_app.runs.result import summary
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import HOSTED_LIMITS
from sbert_app.storage import write_object
from sbert_app.tables import read_table
from sbert_app.training.objectives import load_head, predict_labels
from sbert_app.ui.fine_tune import verdict_view
from tests.attacks.small_home import BASE, planned, tiny_model
from tests.evaluating import evaluate
from tests.jobs.refusals import refused

SCORED, LABELLED, TRIPLETS = "requests_scored.csv", "instructions_labelled.csv", "messages_triplets.csv"
SHORT = {"epochs": 1, "learning_curve": False}
ANNA, BERTA = "anna's secret in her browser", "berta's secret in hers"


@pytest.fixture
def tiny(bench):
    """The name of a model of one small layer, for runs that are about anything but what a real model learns."""
    tiny_model(bench.settings.models / BASE)
    return BASE


@pytest.fixture
def hosted(bench):
    return Workbench(replace(bench.settings, hosted=True, limits=HOSTED_LIMITS))


def load(bench, name=SCORED, rows=100):
    """The first rows of an example: most tests only need a run that ends."""
    table = example_table(name, bench.settings.limits)
    table = replace(table, frame=table.frame.head(rows), rows=table.rows[:rows])
    return preparing.load(bench, bench.sessions.open(), table)


def wait(bench, run_id, owner="", seconds=300, until=None):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        progress = running.state(bench, run_id, owner)
        if until(progress) if until else not progress.info.live:
            return progress
        time.sleep(0.05)
    raise AssertionError(f"still {progress.info}")


@pytest.mark.parametrize(("name", "file", "objective"), [("dan", LABELLED, "classification"), ("infersent", TRIPLETS, "triplet")])
def test_a_network_over_word_vectors_is_trained_saved_and_used_as_any_model(bench, name, file, objective):
    data = load(bench, file, rows=80)
    plan = planned(data, f"new/{name}", objective=objective, epochs=8, batch_size=16, learning_curve=False)
    progress = wait(bench, running.start(bench, data, plan).id)
    assert progress.info.state == FINISHED, progress.info.message
    losses = [event.loss for event in progress.events if isinstance(event, Loss)]
    assert np.mean(losses[-5:]) < 0.9 * np.mean(losses[:5])
    run = running.find(bench, progress.info.id)
    saved = running.save_model(bench, run.id, "mine")
    ours, theirs = bench.registry.encoder(run.info().model), Registry(bench.settings).encoder(saved)
    sentences = data.reading.examples.sentences[0][:20]
    assert np.abs(ours.encode(sentences) - theirs.encode(sentences)).max() < 1e-6 and theirs.note == ""
    before, after = (part.transformer.embeddings.weight for part in (bench.registry.encoder(plan.base), theirs))
    assert bool((before == after).all()) == (name == "infersent")  # its word vectors stay, as in the paper
    assert (saved, "encoder", 512) in [(row.name, row.kind, row.dim) for row in bench.registry.list()]
    head = summary(progress.result)["head"]
    assert (load_head(run.model) is None and head is None) if objective == "triplet" else 0 < head["accuracy"] <= 1
    assert "new/" + name in (run.model / "README.md").read_text()


def train(bench, name=SCORED, owner="", rows=100, base=DEFAULT_ENCODER, **changes):
    data = load(bench, name, rows)
    run = running.start(bench, data, planned(data, base, **SHORT | changes), owner)
    return wait(bench, run.id, owner)


def check_harm(bench, progress):
    """What training changed beside its purpose, computed again."""
    harm, run = progress.result.harm, running.find(bench, progress.info.id)
    models = [Registry(replace(bench.settings, precision="fp32")).encoder(name) for name in (DEFAULT_ENCODER, run.info().model)]
    pairs = general_pairs()
    for model, found in zip(models, (harm.general.changes[0].before, harm.general.changes[0].after), strict=True):
        cosines = (model.encode(pairs.sentences[0]) * model.encode(pairs.sentences[1])).sum(axis=1)
        assert found.value == pytest.approx(spearmanr(cosines, pairs.gold).statistic, abs=0.01)
    near = []
    for model in models:
        cosines = cosine_similarity(model.encode(run.split().held_out.sentences[0]))
        near.append([{*np.argsort(-row)[:11].tolist()} - {i} for i, row in enumerate(cosines)])
    moved = 1 - np.mean([len(one & other) / 10 for one, other in zip(*near, strict=True)])
    assert harm.moved == pytest.approx(moved, abs=0.03) and 0 < moved < 1
    assert f"{100 * harm.moved:.0f} % are others than before" in verdict_view.verdict(progress)
    assert "On 120 everyday pairs that are none of yours" in (run.model / "README.md").read_text()


def test_a_run_is_judged_saved_and_loads_in_sentence_transformers(bench, tmp_path):
    shared = bench.registry.encoder(DEFAULT_ENCODER)
    fingerprint = shared.fingerprint
    progress = train(bench, rows=100)
    assert progress.info.state == FINISHED, progress.info
    change = progress.result.verdict.changes[0]
    assert change.metric == "spearman" and change.after.value > change.before.value
    sentences = ["Please block my card", "Unblock my card, please"]
    ours = Registry(replace(bench.settings, precision="fp32")).encoder(progress.info.model).encode(sentences)
    theirs = SentenceTransformer(str(running.find(bench, progress.info.id).model), device="cpu").encode(sentences)
    assert (np.einsum("nd,nd->n", ours, theirs) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)).min() >= 0.9999
    untrained = Registry(replace(bench.settings, precision="fp32")).encoder(DEFAULT_ENCODER).encode(sentences)
    assert np.abs(ours - untrained).max() > 1e-3
    assert Registry(bench.settings).encoder(DEFAULT_ENCODER).fingerprint == fingerprint == shared.fingerprint
    card = (running.find(bench, progress.info.id).model / "README.md").read_text()
    assert "Cosine regression, 1 epoch," in card and "20 held-out examples" in card and DEFAULT_ENCODER in card
    assert "no held-out sentence occurs in training" in card and "on new sentences" not in card

    check_harm(bench, progress)

    name = running.save_model(bench, progress.info.id, running.free_name(bench, progress.info.name))
    assert name in [info.name for info in bench.registry.list()]
    assert bench.registry.encoder(name).encode(sentences).shape == (2, 384)
    refused("already a model named", running.save_model, bench, progress.info.id, name)
    assert running.free_name(bench, name) == f"{name}-2"
    with zipfile.ZipFile(running.zip_model(bench, progress.info.id, tmp_path)) as archive:
        assert {"requests_scored/model.safetensors", "requests_scored/modules.json"} <= set(archive.namelist())


def test_a_split_that_shares_sentences_says_so_wherever_its_result_is(bench, tiny):
    """The verdict, the model card and the summary for scripts; and the run remembers its file and its split."""
    data = load(bench, LABELLED, 420)
    session = bench.sessions.open()
    data = preparing.load(bench, session, data.table)
    assert data.split.shared == 0
    data = preparing.remap(bench, session, data.mapping, PAIRS)
    assert data.split.shared > 0 and preparing.current(session) is data
    data = replace(data, split=replace(data.split, train=data.split.train.take(np.arange(32))))  # short; `shared` as it was
    run = running.start(bench, data, planned(data, tiny, **SHORT))
    progress = wait(bench, run.id)
    warning = shared_warning(data.split.shared)
    assert warning.endswith("on new sentences the result may be lower.")
    assert progress.shared == data.split.shared and progress.separation.held_out == PAIRS
    assert warning in verdict_view.verdict(progress)
    assert warning in (running.find(bench, run.id).model / "README.md").read_text()
    facts = summary(progress.result)
    assert facts["shared_sentences"] == data.split.shared and facts["split"]["held_out"] == "pairs"
    assert facts["examples_needed"] is None or facts["verdict"] == "no clear change"
    assert (progress.info.file, progress.info.fingerprint) == (LABELLED, data.split.fingerprint)
    line = bench.runs.overview(running.rows(bench))[0]
    assert (line.info.id, line.verdict.word, line.plan.base) == (run.id, facts["verdict"], tiny) and line.nbytes > 3_000_000
    old = {key: value for key, value in running.find(bench, run.id).facts.items() if key not in ("split", "file")}
    write_object(running.find(bench, run.id).folder / "plan.json", old)  # as an older version wrote it
    progress = running.state(bench, run.id)
    assert progress.separation.held_out == PAIRS and progress.info.file == "" and warning in verdict_view.verdict(progress)
    assert bench.runs.overview(running.rows(bench))[0].verdict.word == facts["verdict"]


def test_parts_of_ones_own_are_kept_with_other_columns_and_gone_with_other_data(bench, write):
    session = bench.sessions.open()
    data = preparing.load(bench, session, example_table(SCORED, bench.settings.limits))
    rows = [f"own sentence {i},another of my own {i},{i % 6}" for i in range(30)]

    def table(name, *lines):
        return read_table(write(f"{name}.csv", "\n".join(lines)), bench.settings.limits)

    own = table("own", "sentence1,sentence2,score", *rows)
    data = preparing.set_part(bench, session, TEST, own)
    assert len(data.split.held_out) == 30 and data.split.separation.held_out == "file"
    data = preparing.remap(bench, session, data.mapping, PAIRS, "")
    assert len(data.split.held_out) == 30 and data.split.separation.dev == PAIRS
    refused("Every pair of the dev part is also held out", preparing.set_part, bench, session, DEV, own)
    renamed = table("other", "text_a,text_b,rating", *(f"new {row}" for row in rows))
    assert preparing.set_part(bench, session, DEV, renamed).split.dev.sentences[0][0] == "new own sentence 0"
    scaled = table("scaled", "sentence1,sentence2,score", *(f"yet {row[:-1]}{i % 6 / 5}" for i, row in enumerate(rows)))
    dev = preparing.set_part(bench, session, DEV, scaled).split.dev
    far = table("far", "sentence1,sentence2,distance", *(f"far {row}" for row in rows))
    assert preparing.set_part(bench, session, DEV, far).split.dev.targets[:6].tolist() == [1, 0.8, 0.6, 0.4, 0.2, 0]
    assert dev.targets.max() == 1 and dev.score_range == data.split.train.score_range
    with pytest.raises(UserError, match="'wrong.csv' has no column 'score'"):
        preparing.set_part(bench, session, DEV, table("wrong", "sentence1,sentence2", "a,b"))
    assert len(preparing.current(session).split.dev) == 30
    assert len(preparing.set_part(bench, session, TEST, None).split.held_out) == 80
    assert preparing.load(bench, session, example_table(TRIPLETS, bench.settings.limits)).choice == AS_USUAL


def test_the_softmax_head_survives_save_and_load(bench, tiny):
    progress = train(bench, LABELLED, base=tiny, objective="classification")
    folder = running.find(bench, progress.info.id).model
    head, labels = load_head(folder)
    assert labels == ("opposite", "other", "same") and head.concatenation == "(u, v, |u − v|)"
    held_out = running.find(bench, progress.info.id).split().held_out
    encoder = Registry(replace(bench.settings, precision="fp32")).encoder(progress.info.model)
    columns = [encoder.encode(column) for column in held_out.sentences]
    accuracy = (predict_labels(head, *columns) == held_out.targets).mean()
    assert accuracy == pytest.approx(progress.result.head.accuracy, abs=1.5 / len(held_out))  # bf16 may turn one
    evaluation = evaluate(bench, held_out, ["sbert", "word-overlap"], model=progress.info.model)
    assert evaluation["sbert"]["head_accuracy"] == pytest.approx(accuracy, abs=1.5 / len(held_out))
    assert SentenceTransformer(str(folder), device="cpu").encode(["a"]).shape == (1, 32)
    assert load_head(bench.registry.encoder().folder) is None


def test_searching_goes_on_while_a_run_trains_and_stop_keeps_its_best_and_is_over_soon(bench, shallow_folder):
    data, encoder = load(bench), bench.registry.encoder()
    run = running.start(bench, data, planned(data, str(shallow_folder), epochs=50))
    wait(bench, run.id, until=lambda p: sum(isinstance(e, DevScore) for e in p.events) >= 1)
    for _ in range(5):
        bench.device.encode(encoder, ["is anybody there?"])
    assert running.state(bench, run.id).info.live  # none of them waited for the end of the run
    running.stop(bench, run.id)
    reached = len(running.state(bench, run.id).events)
    stopped = wait(bench, run.id)
    assert len(stopped.events) - reached <= 3  # what the batch in hand brings, and which checkpoint is kept
    assert stopped.info.state == STOPPED and stopped.info.has_model
    evaluations = [e for e in stopped.events if isinstance(e, DevScore)]
    assert stopped.result.best_step == max(evaluations, key=lambda e: e.score).step < stopped.result.steps


def test_a_stopped_run_goes_on_where_it_was_stopped(bench, tiny):
    data = load(bench)
    plan = planned(data, tiny, **SHORT | {"epochs": 4, "learning_rate": 1e-3})
    plan = replace(plan, options=replace(plan.options, average=0.9))
    whole = wait(bench, running.start(bench, data, plan).id)
    run, asked = running.create(bench, data, plan), []
    with run.lock():
        list(Execution(run, bench.registry.trainable, bench.registry.hardware, lambda: _evaluating(run, asked)).work())
    stopped = running.row(bench, run.id)
    assert stopped.state == STOPPED and stopped.has_model and running.why_no_resume(stopped) == ""
    assert running.state(bench, run.id).result.stopped
    running.resume(bench, run.id)
    resumed = wait(bench, run.id)
    assert resumed.info.state == FINISHED and not resumed.of(Kept) and not resumed.info.has_checkpoint
    for kind, value in ((Loss, "loss"), (DevScore, "score")):
        ours, theirs = ([(event.step, getattr(event, value)) for event in each.of(kind)] for each in (resumed, whole))
        assert np.array(ours) == pytest.approx(np.array(theirs), abs=1e-5)
    refused("It is finished", running.resume, bench, run.id)
    write_object(run.folder / "state.json", {"state": STOPPED, "message": ""})  # as an older version left it
    refused("An older version stopped it", running.resume, bench, run.id)


def _evaluating(run, asked):
    """Stop within the second of eight evaluations, which measures the mean of the weights."""
    scores, losses = ([event for event in run.events() if isinstance(event, kind)] for kind in (DevScore, Loss))
    asked += [len(scores) == 1 and losses[-1].step >= losses[-1].steps / 4]
    return sum(asked) >= 2  # the first time it is about to begin


def test_stop_before_the_first_evaluation_keeps_nothing_and_says_so(bench):
    data = load(bench)
    run = running.start(bench, data, planned(data, epochs=50))
    wait(bench, run.id, until=lambda p: p.info.state == "running")
    running.stop(bench, run.id)
    stopped = wait(bench, run.id)
    assert stopped.info.state == STOPPED and "there is no model" in stopped.info.message and not stopped.info.has_model
    refused("no model yet", running.save_model, bench, run.id, "name")


def test_runs_take_turns_and_the_waiting_one_can_be_stopped(bench, tiny):
    data = load(bench)
    plan = planned(data, tiny, epochs=100)
    first, second = running.start(bench, data, plan), running.start(bench, data, plan)
    assert running.state(bench, second.id).info.state == "waiting"
    with pytest.raises(UserError, match="Your last run is still training"):  # as the page asks; an endpoint's call waits
        running.start(bench, data, plan, alone=True)
    refused("still training", running.delete, bench, second.id)
    running.stop(bench, second.id)
    running.stop(bench, first.id)
    assert wait(bench, second.id).info.message == "Stopped before it began."
    running.delete(bench, second.id)
    assert [info.id for info in running.rows(bench)] == [first.id]


def test_a_failed_run_keeps_the_reason_and_the_worker_lives_on(bench, tiny, monkeypatch):
    def broken(*_):
        raise RuntimeError("disk on fire")

    with monkeypatch.context() as patch:
        patch.setattr(Execution, "_train", broken)
        progress = train(bench, base=tiny)
        assert progress.info.state == FAILED and "our side" in progress.info.message and "disk on fire" not in progress.info.message
    with monkeypatch.context() as patch:
        patch.setattr(Execution, "_train", lambda *_: (_ for _ in ()).throw(UserError("The disk is full.")))
        assert train(bench, base=tiny).info.message == "The disk is full."
    resumed = running.resume(bench, progress.info.id)
    assert wait(bench, resumed.id).info.state == FINISHED


def test_in_hosted_mode_nobody_sees_or_stops_anothers_run(hosted):
    progress = train(hosted, TRIPLETS, owner=ANNA, rows=60)
    run_id = progress.info.id
    assert [info.id for info in running.rows(hosted, ANNA)] == [run_id] and running.rows(hosted, BERTA) == []
    for action in (running.state, running.stop, running.resume, running.delete, running.find):
        refused("no such run", action, hosted, run_id, BERTA)
        refused("which stores no data", action, hosted, run_id, "")
    refused("no such run", running.rename, hosted, run_id, "mine", BERTA)
    refused("saves no models", running.save_model, hosted, run_id, "public", ANNA)
    assert progress.info.model not in [info.name for info in hosted.registry.list()]
    assert hosted.registry.encoder(progress.info.model).dim == 384  # who knows the id may use it
    for guess in ("runs/", "runs/..", "runs/x", f"runs/../runs/{run_id}"):
        with pytest.raises(UserError):
            hosted.registry.encoder(guess)
    assert ANNA not in (running.find(hosted, run_id, ANNA).folder / "plan.json").read_text()


def test_a_hosted_run_and_its_rows_go_a_day_after_it_was_last_worked_on(bench, hosted):
    data = load(hosted)
    for each in (bench, hosted):
        run = running.create(each, data, planned(data, epochs=1), ANNA)
        each.sweep()
        assert run.folder.exists()
        os.utime(run.folder / "state.json", (yesterday := time.time() - 86_500, yesterday))
        each.sweep()
        assert run.folder.exists() == (each is bench)


def test_a_hosted_visitor_has_one_run_at_a_time(hosted):
    data = load(hosted)
    plan = planned(data, epochs=50)
    first, many = running.start(hosted, data, plan, ANNA), data.split.train.take(np.arange(5_000) % len(data.split.train))
    refused("still training", running.start, hosted, data, plan, ANNA)
    with pytest.raises(UserError, match="the limit is 200,000. Choose fewer epochs"):
        running.start(hosted, replace(data, split=replace(data.split, train=many)), plan, BERTA)
    second = running.start(hosted, data, plan, BERTA)
    for run, owner in ((second, BERTA), (first, ANNA)):
        running.stop(hosted, run.id, owner)
    wait(hosted, first.id, ANNA)


def test_a_damaged_run_stops_nobody_and_says_what_to_do(hosted, bench):
    data = load(hosted)
    plan = planned(data, **SHORT)
    damaged, other = running.create(hosted, data, plan, ANNA), running.create(hosted, data, planned(data, seed=1), BERTA)
    (damaged.folder / "plan.json").write_text("null")
    assert running.rows(hosted, ANNA) == [] and [info.id for info in running.rows(hosted, BERTA)] == [other.id]
    assert running.active_run(bench) is None and running.interrupted_run(bench, plan, data) is None
    assert {info.id: info.state for info in running.rows(bench)} == {damaged.id: "damaged", other.id: INTERRUPTED}
    held_out, rename = lambda *run: running.find(*run).split(), lambda *run: running.rename(*run, "name")
    for action in (running.state, running.resume, held_out, rename):
        refused("This run is damaged. Delete it.", action, bench, damaged.id)


def test_the_estimate_is_near_what_it_takes(bench, shallow_folder, monkeypatch):
    """In seconds of this process: what else the machine does meanwhile counts in neither."""
    monkeypatch.setattr(plans, "time", SimpleNamespace(perf_counter=time.process_time))
    data = load(bench, rows=50)
    plan = planned(data, str(shallow_folder), epochs=1, learning_curve=True)
    expected = preparing.expected(bench, data, plan)
    assert expected.pairs_per_second > 5 and expected.learning_curve > 0
    start = time.process_time()
    wait(bench, running.start(bench, data, plan).id)
    assert 0.2 < expected.seconds / (time.process_time() - start) < 5


def test_ranking_reckons_with_the_pairs_that_mean_the_same_alone_and_is_refused_without_any(bench, shallow_folder, monkeypatch):
    data = load(bench, LABELLED)
    same = np.flatnonzero(data.split.train.gold == 1)
    rest = np.flatnonzero(data.split.train.gold != 1)
    few, none = (
        replace(data, split=replace(data.split, train=data.split.train.take(rows))) for rows in (np.append(same[:1], rest), rest)
    )
    monkeypatch.setattr(plans, "TRAIN_SAMPLE", 1)  # of all pairs it would be one that is not learnt from
    expected = preparing.expected(bench, few, planned(few, str(shallow_folder), objective="ranking", epochs=1))
    assert expected.training == pytest.approx(1 / expected.pairs_per_second)
    with pytest.raises(UserError, match="learns from pairs that mean the same; no pair for training does"):
        planned(none, str(shallow_folder), objective="ranking")


def test_settings_from_the_page_are_checked(bench):
    data = load(bench)
    refused("cannot learn from scored pairs", planned, data, objective="triplet")
    refused("These settings do not work", planned, data, adjust={"margin": -1})
    refused("no example", example_table, "../../secret.csv", bench.settings.limits)
    refused("no training data", preparing.current, bench.sessions.open())
