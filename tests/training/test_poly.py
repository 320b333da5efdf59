"""The poly-encoder in training: the same loop, the same runs, and a sentence for what it cannot learn from."""

import numpy as np
import pytest
import torch

from sbert_app.errors import UserError
from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.systems import Choice
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.labelled.example_set import Examples
from sbert_app.models.files.finding import NEW_POLY
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.models.registry import Registry
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import FINISHED
from sbert_app.runtime.workbench import Workbench
from sbert_app.training.crossing import build_trainee
from sbert_app.training.options import ObjectiveOptions, TrainingOptions
from sbert_app.training.trainee import BatchLoss, Evaluation
from sbert_app.training.trainer import Trainer
from tests.attacks.small_home import planned, settings, training_data
from tests.evaluating import evaluate


def positives(scored):
    return Examples("positives", tuple(column[:48] for column in scored.sentences), np.ones(48), np.arange(1, 49))


def make(shallow_folder, cpu, objective, examples, epochs=3):
    encoder = PolyEncoder.untrained(shallow_folder, cpu)
    siamese = build_trainee(encoder, objective, ObjectiveOptions(), examples.take(np.arange(48)), examples.take(np.arange(48)))
    return siamese, Trainer(siamese, TrainingOptions(epochs=epochs, batch_size=16, learning_rate=5e-5), cpu)


@pytest.mark.parametrize("objective", ["ranking", "cosent"])  # of all with all, of pairs
def test_training_lowers_the_loss_and_moves_codes_and_transformer(shallow_folder, cpu, scored, objective):
    siamese, trainer = make(shallow_folder, cpu, objective, positives(scored) if objective == "ranking" else scored)
    before = trainer.weights()
    (base,) = [score for score in trainer.measure() if score is not None]
    events = list(trainer.run())
    losses = [event.loss for event in events if isinstance(event, BatchLoss)]
    assert np.mean(losses[-3:]) < 0.9 * np.mean(losses[:3])
    assert max(event.score for event in events if isinstance(event, Evaluation)) >= base
    after = trainer.weights()
    assert (before["codes.weight"] != after["codes.weight"]).all()
    assert any((before[name] != after[name]).any() for name in after if "layer.0" in name)
    assert siamese.head()[-1] is siamese.encoder.codes.weight


def test_the_loss_is_that_of_a_plain_calculation(tiny, cpu, scored):
    """On one batch: mean squared error of the pair scores, cross-entropy of all against all."""
    siamese, _ = make(tiny, cpu, "regression", scored)
    ranking, _ = make(tiny, cpu, "ranking", positives(scored))
    rows = np.arange(6)
    siamese.module.eval(), ranking.module.eval()
    with torch.inference_mode():
        u, v = siamese.forward(rows).unbind(1)
        loss = siamese.loss(siamese.forward(rows), rows)
        in_batch = ranking.loss(ranking.forward(rows), rows)
    similarity, gold = siamese.encoder.similarity, scored.gold[:6]
    assert float(loss) == pytest.approx(np.mean((similarity.pairs(u.numpy(), v.numpy()) - gold) ** 2), abs=1e-6)
    scores = 20 * similarity.all(u.numpy(), v.numpy())
    expected = np.mean(np.log(np.exp(scores).sum(1)) - scores.diagonal())
    assert float(in_batch) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("objective", "kind"), [("classification", "labelled"), ("triplet", "triplets")])
def test_an_objective_of_one_embedding_is_refused(tiny, cpu, scored, objective, kind):
    with pytest.raises(UserError, match=rf"objective '{objective}'\. Use one of regression, cosent, ranking\."):
        make(tiny, cpu, objective, scored)
    with pytest.raises(UserError, match="A poly-encoder cannot be trained"):
        Plan(NEW_POLY, objective).check(kind)


def test_a_run_is_judged_saved_listed_and_scored_by_the_grid(tmp_path):
    bench = Workbench(settings(tmp_path / "home"))
    data = training_data(bench)
    run = running.create(bench, data, planned(data, NEW_POLY, epochs=1, learning_curve=True))
    with run.lock():
        list(running.train_here(bench, run))
    assert run.info().state == FINISHED, run.info().message
    result, held_out = run.result(), run.split().held_out
    scorer = bench.registry.pair_scorer(run.info().model)
    pairs = list(zip(*held_out.sentences, strict=True))
    assert np.abs(scorer.score(pairs) - result.after).max() < 1e-5
    assert np.abs(bench.registry.pair_scorer(NEW_POLY).score(pairs) - result.before).max() < 1e-5
    assert result.curve.half == len(run.split().train) // 2 and result.head is None
    saved = running.save_model(bench, run.id, "mine")
    assert (saved, "poly-encoder", 384) in [(row.name, row.kind, row.dim) for row in bench.registry.list()]
    again = Registry(bench.settings).pair_scorer(saved)
    assert np.array_equal(again.score(pairs), scorer.score(pairs))
    cell = measure_cell(load_system(bench, saved, Choice()), PairSet("held out", held_out))
    row = evaluate(bench, held_out, ["cross-encoder"], cross_encoder=saved)["cross-encoder"]
    assert cell.value == pytest.approx(row["spearman"]) and row["model"] == saved
    assert result.verdict.changes[0].after.value == pytest.approx(cell.value, abs=1e-3)
    estimate = preparing.expected(bench, data, planned(data, saved, epochs=1))
    assert estimate.seconds > 0
