"""The loop on the real small model: it learns, it can be cut anywhere, and no trick changes what comes out."""

import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from sbert_app.errors import UserError
from sbert_app.models.encoder import Encoder
from sbert_app.training.objectives import CoSent, Guided, MultipleNegativesRanking, Regression
from sbert_app.training.options import TrainingOptions
from sbert_app.training.siamese import Siamese, without_repeats
from sbert_app.training.trainee import BatchLoss, Evaluation, epoch_batches
from sbert_app.training.trainer import Trainer

ONE_EPOCH = TrainingOptions(epochs=1, batch_size=16, learning_rate=5e-5)


@pytest.fixture
def make(tiny, cpu, scored):
    """A trainer of a fresh copy of the model, on 48 examples."""

    def make(options=ONE_EPOCH, objective=None, dropout=True, folder=tiny):
        siamese = Siamese(
            Encoder.from_folder(folder, cpu), objective or Regression(), scored.take(np.arange(48)), scored.take(np.arange(48, 72))
        )
        for module in siamese.module.modules():
            if isinstance(module, nn.Dropout) and not dropout:
                module.p = 0.0
        return siamese, Trainer(siamese, options, cpu)

    return make


def drain(trainer, steps=None):
    events = []
    for event in trainer.run():
        events.append(event)
        if steps and isinstance(event, BatchLoss) and event.step == steps:
            break
    return events


def keep(steps, results):
    """Yield the steps, and keep what they return."""
    results.append((yield from steps))


def same(first, second, tolerance=0.0):
    return all((first[name] - second[name]).abs().max() <= tolerance for name in first)


def test_training_lowers_the_loss_and_raises_the_dev_score(make, model_folder):
    _, trainer = make(TrainingOptions(epochs=4, batch_size=16, learning_rate=5e-5), folder=model_folder)
    events = drain(trainer)
    losses = [event.loss for event in events if isinstance(event, BatchLoss)]
    scores = [event.score for event in events if isinstance(event, Evaluation)]
    assert len(losses) == 12 and np.mean(losses[-3:]) < 0.7 * np.mean(losses[:3])
    assert scores[-1] > scores[0] and len(scores) == 8
    assert next(event.best for event in events if isinstance(event, Evaluation))


def test_a_small_vocabulary_trains_the_very_same_model(make, monkeypatch):
    siamese, trainer = make()
    whole = siamese.encoder.transformer.get_input_embeddings().num_embeddings
    assert whole < 1000
    drain(trainer)
    siamese.vocabulary.restore()
    small = {name: p.detach().clone() for name, p in siamese.module.named_parameters()}
    before = Encoder.from_folder(siamese.encoder.folder, siamese.encoder.hardware).transformer.get_input_embeddings().weight
    after = siamese.encoder.transformer.get_input_embeddings().weight
    changed = (before != after).any(1).sum().item()
    assert after.shape == before.shape and 100 < changed < 1000  # unseen words keep their vectors, to the bit

    monkeypatch.setattr("sbert_app.training.siamese.Vocabulary", lambda *_: SimpleNamespace(renumber=lambda ids: ids))
    siamese, trainer = make()
    drain(trainer)
    assert same(small, {name: p.detach() for name, p in siamese.module.named_parameters()}, 1e-6)


@pytest.mark.parametrize("objective", [Regression, CoSent])
def test_a_batch_in_chunks_has_the_gradients_of_the_whole_batch(make, objective):
    gradients, losses = [], []
    for chunk in (10**6, 64):
        siamese, trainer = make(objective=objective(), dropout=False)
        trainer._chunk = chunk
        list(keep(trainer._gradients(np.arange(16)), losses))
        gradients.append({n: p.grad.clone() for n, p in siamese.module.named_parameters() if p.grad is not None})
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert len(gradients[0]) > 15 and same(*gradients, tolerance=1e-5)


def no_memory(rows):
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_out_of_memory_halves_the_chunk_and_keeps_the_batch(make, monkeypatch):
    siamese, trainer = make(dropout=False)
    expected = [event for event in drain(make(dropout=False)[1]) if isinstance(event, BatchLoss)]
    whole = siamese.forward
    sizes = []

    def small_memory(rows):
        if len(rows) > 5:
            no_memory(rows)
        sizes.append(len(rows))
        return whole(rows)

    monkeypatch.setattr(siamese, "forward", small_memory)
    steps = [event for event in drain(trainer) if isinstance(event, BatchLoss)]
    assert [step.examples for step in steps] == [16, 16, 16] and max(sizes) <= 5
    assert [step.loss for step in steps] == pytest.approx([step.loss for step in expected], abs=1e-4)


@pytest.mark.parametrize(
    ("method", "broken", "message"),
    [
        ("forward", no_memory, "Not even one example fits"),
        ("loss", lambda outputs, rows: outputs.sum() * math.nan, "Choose a lower learning rate"),
    ],
)
def test_no_memory_for_one_example_and_a_loss_that_is_no_number_are_told(make, monkeypatch, method, broken, message):
    siamese, trainer = make()
    monkeypatch.setattr(siamese, method, broken)
    with pytest.raises(UserError, match=message):
        drain(trainer)


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_a_resumed_run_ends_with_the_same_weights(make, average, cut=4):
    options = TrainingOptions(epochs=2, batch_size=16, learning_rate=5e-5, average=average)
    _, uninterrupted = make(options)
    scores = [event.score for event in drain(uninterrupted) if isinstance(event, Evaluation)]
    _, first = make(options)
    drain(first, steps=cut)
    state = first.state()
    drain(first)  # what the killed process did after its checkpoint must not matter
    _, second = make(options)
    second.load(state)
    resumed = [event.score for event in drain(second) if isinstance(event, Evaluation)]
    assert same(uninterrupted.weights(), second.weights())
    assert resumed == scores[-len(resumed) :] and second.best == uninterrupted.best


def test_the_mean_of_the_weights_is_evaluated_and_kept_while_training_goes_on_as_without(make):
    def run(average):
        options, mean, scores, current = TrainingOptions(2, 16, learning_rate=5e-3, average=average), {}, [], []
        siamese, trainer = make(options)
        for event in trainer.run():
            if isinstance(event, BatchLoss):
                current.append({name: p.detach().clone() for name, p in siamese.module.named_parameters()})
                share = 1 - min(0.5, event.step / (event.step + 10))
                mean = {name: (1 - share) * mean.get(name, now) + share * now for name, now in current[-1].items()}
            elif isinstance(event, Evaluation):
                scores.append(event.score)
        return trainer.weights(), mean, scores, current

    kept, mean, scores, current = run(average=0.5)
    _, _, raw_scores, without = run(average=0.0)
    assert same(kept, mean, 1e-6) and not same(kept, current[-1], 1e-6)
    assert all(same(one, two) for one, two in zip(current, without, strict=True)) and scores != raw_scores


def test_the_same_seed_gives_the_same_weights_measured_before_or_not_and_another_seed_others(make):
    weights, scores = [], []
    for seed, measured in ((1, False), (1, True), (2, False)):
        _, trainer = make(TrainingOptions(epochs=1, batch_size=16, seed=seed))
        scores += [score for score in trainer.measure() if score is not None] if measured else []
        drain(trainer)
        weights.append(trainer.weights())
    assert same(weights[0], weights[1]) and not same(weights[0], weights[2])
    assert len(scores) == 1 and -1 < scores[0] < 1


def test_the_guide_is_the_model_before_training(make, tiny, cpu, scored):
    siamese, trainer = make(TrainingOptions(1, 16, learning_rate=5e-3), Guided())
    start = Encoder.from_folder(tiny, cpu)
    expected = np.stack([start.encode(column) for column in scored.take(np.arange(48)).sentences], axis=1)
    drain(trainer)
    np.testing.assert_allclose(siamese._targets.numpy(), expected, atol=1e-5)
    assert np.abs(siamese.forward(np.arange(4)).detach().numpy() - expected[:4]).max() > 1e-3  # the model itself has moved


def test_warm_up_then_decay(make):
    _, trainer = make(TrainingOptions(epochs=10, batch_size=16, warmup=0.1))
    shares = [trainer._schedule(step) for step in range(trainer.steps)]
    assert shares[:3] == pytest.approx([1 / 3, 2 / 3, 1]) and shares[3] == 1 and 0 < shares[-1] < 0.05
    assert all(late < early for early, late in pairwise(shares[3:]))


def test_every_example_comes_once_an_epoch_with_neighbours_of_its_length():
    lengths = np.random.default_rng(0).integers(3, 60, size=1000)
    batches = epoch_batches(lengths, 16, seed=0, epoch=0)
    assert sorted(np.concatenate(batches)) == list(range(1000)) and len(batches) == 63
    assert sum(lengths[b].max() * len(b) for b in batches) < 1.15 * lengths.sum()
    assert any((a != b).any() for a, b in zip(batches, epoch_batches(lengths, 16, 0, 1), strict=True) if len(a) == len(b))


def test_ranking_batches_hold_no_text_twice(tiny, cpu, scored):
    keys = [("same" if i % 4 == 0 else f"a{i}", f"b{i}") for i in range(64)]
    batches = without_repeats(epoch_batches(np.ones(64, dtype=np.int64), 4, 0, 0), keys)
    assert sorted(np.concatenate(batches)) == list(range(64)) and all(len(b) == 4 for b in batches)
    assert sum(sum(keys[i][0] == "same" for i in batch) > 1 for batch in batches) <= 1
    siamese = Siamese(Encoder.from_folder(tiny, cpu), MultipleNegativesRanking(), scored, scored)
    assert len(siamese.batches(16, 0, 0)) == -(-len(siamese.lengths) // 16)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch_size": 1}, {"learning_rate": 0}, {"warmup": 2}, {"average": 1}])
def test_options_check_themselves(wrong):
    with pytest.raises(UserError, match="must lie in"):
        TrainingOptions(**wrong)
