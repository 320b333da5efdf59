"""A cross-encoder on one's own pairs: the same runs, a verdict of its own, and a folder that all tabs and other programs read."""

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder as Theirs
from sentence_transformers import SentenceTransformer
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sklearn.metrics import average_precision_score

from sbert_app.errors import UserError
from sbert_app.jobs.duplicates.job import mine, score_borderline
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.jobs.fine_tune.job import _lines
from sbert_app.jobs.fine_tune.preparing import example_table
from sbert_app.labelled.example_set import digests, trained_on
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.models.files.trained_for import ANSWERS, LIKENESS, purpose
from sbert_app.runs.plan import PRESETS, Plan, preset
from sbert_app.runs.records import FINISHED, INTERRUPTED, DevScore, Loss
from sbert_app.runtime.workbench import Workbench
from sbert_app.training.crossing import PairTrainee
from sbert_app.training.options import PAIR_OBJECTIVE
from tests.attacks.small_home import BASE, SENTENCES, checkpoints_at_once, index, planned, settings, tiny_model, training_data

CROSS = "cross-base"


@pytest.fixture
def bench(tmp_path, cpu):
    """A home with an encoder and a cross-encoder of one small layer."""
    bench = Workbench(settings(tmp_path / "home"))
    tiny_model(bench.settings.models / BASE)
    torch.manual_seed(0)
    CrossEncoder.untrained(bench.settings.models / BASE, cpu, 1).save(bench.settings.models / CROSS)
    return bench


def create(bench, **options):
    data = training_data(bench)
    plan = planned(data, BASE, cross_encoder=CROSS, **{"learning_curve": False, "learning_rate": 1e-3, "epochs": 2} | options)
    return running.create(bench, data, plan)


def train(bench, run):
    with run.lock():
        return list(running.train_here(bench, run))


def test_loss_and_gradients_are_those_of_sentence_transformers(cross_folder, cpu, scored, tmp_path):
    folder, rows = cross_folder(tmp_path / "cross"), np.arange(12)
    mine, theirs = PairTrainee(CrossEncoder.from_folder(folder, cpu), scored, scored), Theirs(str(folder), device="cpu").eval()
    mine.module.eval()
    loss = mine.loss(mine.forward(rows), rows)
    expected = BinaryCrossEntropyLoss(theirs)([column[:12] for column in scored.sentences], torch.from_numpy(scored.gold[:12]))
    loss.backward(), expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5) and loss.item() > 0.5
    ours, other = (dict(model.named_parameters()) for model in (mine.module, theirs.model))
    words = "bert.embeddings.word_embeddings.weight"
    assert ours.keys() == other.keys() and len(ours[words]) < len(other[words])  # the words that do not occur are left out
    for name in ours.keys() - {words}:
        assert torch.allclose(ours[name].grad, other[name].grad, atol=1e-5), name
    assert float(ours[words].grad.norm()) == pytest.approx(float(other[words].grad.norm()), rel=1e-4)


def test_a_run_is_judged_beside_both_and_its_model_is_like_any_other(bench):
    run = create(bench, learning_curve=True)
    train(bench, run)
    assert run.info().state == FINISHED, run.info().message
    result, held_out = run.result(), run.split().held_out
    pairs = list(zip(*held_out.sentences, strict=True))
    theirs = Theirs(str(run.model), device="cpu")
    assert np.abs(theirs.predict(pairs) - result.after).max() < 1e-5
    assert np.abs(Theirs(str(bench.settings.models / CROSS), device="cpu").predict(pairs) - result.before).max() < 1e-5
    assert np.abs(np.subtract(result.after, result.before)).max() > 1e-3
    assert result.curve.half == len(run.split().train) // 2 and result.head is None and result.harm.moved is None
    assert result.against.encoder == BASE
    against, own = result.against.verdict.changes[0], result.verdict.changes[0]
    assert against.after.value == own.after.value and against.before.value != own.before.value
    assert any(f"The cosine of {BASE} has " in line for line in _lines(result, "x"))
    assert f"The cosine of {BASE} has " in (run.model / "README.md").read_text()
    saved = running.save_model(bench, run.id, "mine")
    info = next(info for info in bench.registry.pair_scorers(["cross-encoder"]) if info.name == saved)
    assert info.trained_for == LIKENESS and bench.registry.cross_encoder(saved).score(pairs) == pytest.approx(
        result.after, abs=1e-5
    )
    assert set(trained_on(run.model)) == set(digests(run.split().train))
    session = index(bench, SENTENCES)
    list(mine(bench, session))
    nearest, opinion = score_borderline(bench, session, 0.9, 5, run.info().model)
    expected = theirs.predict([(pair.sentence1, pair.sentence2) for pair in nearest])
    assert len(nearest) == 5 and [pair.cross_score for pair in nearest] == pytest.approx(expected, abs=1e-3)
    assert opinion.trained_for == LIKENESS


def test_labelled_pairs_have_the_average_precision_of_scikit_learn(bench):
    data = preparing.load(bench, bench.sessions.open(), example_table("instructions_labelled.csv", bench.settings.limits))
    run = running.create(bench, data, planned(data, BASE, cross_encoder=CROSS, epochs=1, learning_curve=False))
    train(bench, run)
    result, held_out = run.result(), run.split().held_out
    first, second = (SentenceTransformer(str(bench.settings.models / BASE), device="cpu").encode(c) for c in held_out.sentences)
    cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    for scores, side in ((cosines, result.against.verdict.changes[0].before), (result.after, result.verdict.changes[0].after)):
        assert side.value == pytest.approx(average_precision_score(held_out.gold, scores), abs=1e-4)


def test_killed_and_resumed_it_is_the_same(bench):
    whole, killed = create(bench), create(bench)
    train(bench, whole)
    with checkpoints_at_once(), killed.lock():
        work = running.train_here(bench, killed)
        assert any(isinstance(event, DevScore) for event in work) and next(work)
        work.close()
    assert killed.info().state == INTERRUPTED
    steps = [event.step for event in train(bench, killed) if isinstance(event, Loss)]
    assert steps and steps[0] > 1  # it did not begin again
    assert killed.result().after == pytest.approx(whole.result().after, abs=1e-5)


def test_one_that_ranks_answers_still_does_after_training(cross_folder, cpu, tmp_path):
    cross = CrossEncoder.from_folder(cross_folder(tmp_path / "a"), cpu, "cross-encoder/ms-marco-MiniLM-L6-v2")
    cross.save(tmp_path / "b", "mine")
    assert purpose(tmp_path / "b", "mine", "cross-encoder") == ANSWERS


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_trains_it_with_its_one_objective(name):
    for kind in ("scored", "labelled"):
        plan = preset(name, kind, 500, DEFAULT_CROSS_ENCODER, BASE)
        plan.check(kind)
        assert (plan.objective, plan.tries, plan.base, plan.encoder) == (PAIR_OBJECTIVE, (), DEFAULT_CROSS_ENCODER, BASE)
        assert plan.options.learning_rate == 2e-5
    with pytest.raises(UserError, match="A cross-encoder learns from pairs with a score or a label, not from triplets"):
        preset(name, "triplets", 500, DEFAULT_CROSS_ENCODER, BASE).check("triplets")


@pytest.mark.parametrize(("base", "encoder", "kind"), [(BASE, BASE, "encoder"), (CROSS, "", "cross-encoder")])
def test_a_model_of_the_other_kind_is_refused(bench, base, encoder, kind):
    data = training_data(bench)
    run = running.create(bench, data, Plan(base, PAIR_OBJECTIVE if encoder else "regression", encoder=encoder))
    with run.lock(), pytest.raises(UserError, match=f"'{base}' is of kind {kind}: it cannot be trained with the objective"):
        list(running.train_here(bench, run))
