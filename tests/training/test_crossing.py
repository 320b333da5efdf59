"""Cross-encoders in training: all weights or an adapter, graded or labelled, and back from disk."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.training.options import TrainingOptions
from sbert_app.training.trainee import BatchLoss, Evaluation
from sbert_app.training.trainer import Trainer
from tests.benchmarks.crossing import CrossEncoderTrainee, add_adapter, save_adapter

FAST = TrainingOptions(epochs=4, batch_size=16, learning_rate=2e-4, head_rate=1e-3)


def train(cross, train, dev, cpu):
    events = list(Trainer(CrossEncoderTrainee(cross, train, dev), FAST, cpu).run())
    cross.model.eval()
    return [e.loss for e in events if isinstance(e, BatchLoss)], [e.score for e in events if isinstance(e, Evaluation)]


@pytest.mark.parametrize("rank", [0, 8])
def test_graded_pairs_lower_the_loss_and_an_adapter_leaves_the_base_alone(shallow_folder, cpu, scored, rank):
    cross = CrossEncoder.untrained(shallow_folder, cpu, 1)
    if rank:
        cross = add_adapter(cross, rank)
    frozen = {name: p.detach().clone() for name, p in cross.model.named_parameters() if not p.requires_grad}
    losses, scores = train(cross, scored.take(np.arange(48)), scored.take(np.arange(48, 72)), cpu)
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) and len(scores) == 8
    now = dict(cross.model.named_parameters())
    assert all((now[name] == weight).all() for name, weight in frozen.items()) and bool(frozen) == bool(rank)
    score = cross.score([("Block my card", "Freeze my card")])
    assert score.shape == (1,) and 0 < score[0] < 1


def test_an_adapter_is_small_names_no_path_and_comes_back_the_same(shallow_folder, cpu, scored, tmp_path):
    cross = add_adapter(CrossEncoder.untrained(shallow_folder, cpu, 1), 8)
    train(cross, scored.take(np.arange(32)), scored.take(np.arange(32, 48)), cpu)
    save_adapter(cross, tmp_path / "adapter", "org/base")
    assert sum(path.stat().st_size for path in (tmp_path / "adapter").iterdir()) < 3e6
    assert json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())["base_model_name_or_path"] == "org/base"
    pairs = list(zip(*scored.sentences, strict=True))[:20]
    again = CrossEncoder.from_adapter(shallow_folder, tmp_path / "adapter", cpu)
    assert again.score(pairs) == pytest.approx(cross.score(pairs), abs=2e-3)  # saved in half precision


def test_labelled_pairs_have_one_output_a_label(shallow_folder, cpu, scored):
    targets = (scored.targets > 0.5).astype(float) + (scored.targets > 0.9)
    labelled = replace(scored, kind="labelled", targets=targets, labels=("far", "near", "same"), positive=2)
    cross = CrossEncoder.untrained(shallow_folder, cpu, 3)
    losses, scores = train(cross, labelled.take(np.arange(48)), labelled.take(np.arange(48, 72)), cpu)
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) and all(0 <= score <= 1 for score in scores)
    assert cross.score([("a", "b")]).shape == (1, 3)
