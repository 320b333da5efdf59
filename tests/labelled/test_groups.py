"""What a model was trained on is known by digests: whatever the order of a pair, and never a reason to fail."""

from dataclasses import replace

import numpy as np

from sbert_app.evaluation.agreement import spearman
from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_sets import DataSet
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import System
from sbert_app.grid.tasks.task import PairTask
from sbert_app.labelled.example_set import FILE, digests, remember, trained_on
from sbert_app.models.files.finding import CROSS_ENCODER


def test_a_pair_is_known_in_either_order_case_and_spacing(scored):
    first, second = scored.sentences
    turned = replace(scored, sentences=([f"  {s.upper()} " for s in second], first))
    assert (digests(turned) == digests(scored)).all() and len(set(digests(scored).tolist())) == len(scored)


def test_a_model_remembers_its_own_pairs_and_those_of_its_base(tmp_path, scored):
    half, rest = scored.take(np.arange(60)), scored.take(np.arange(60, 120))
    remember(tmp_path, half, trained_on(None))
    assert np.isin(digests(scored), trained_on(tmp_path)).sum() == 60
    remember(tmp_path, rest, trained_on(tmp_path))
    assert np.isin(digests(scored), trained_on(tmp_path)).all()


def test_a_damaged_or_missing_file_means_that_nothing_is_known(tmp_path):
    assert len(trained_on(tmp_path)) == 0
    for content in (b"", b"torn", b"\x93NUMPY"):
        (tmp_path / FILE).write_bytes(content)
        assert len(trained_on(tmp_path)) == 0
    np.save(tmp_path / FILE, np.zeros((2, 2)))
    assert len(trained_on(tmp_path)) == 0


def test_the_bundled_cross_encoder_says_what_it_was_trained_on():
    assert len(trained_on(CROSS_ENCODER)) > 36_000


def test_a_system_that_saw_the_pairs_is_not_called_best(scored):
    data = DataSet("scored", PairTask(scored))
    knows = System("knows", "m", "1", lambda examples: examples.gold, trained_on=digests(scored)[:30])
    fair = System("fair", "m", "2", lambda examples: examples.gold + np.random.default_rng(0).normal(0, 0.3, len(examples)))
    cells = {(system.name, 0): measure_cell(system, data) for system in (knows, fair)}
    grid = Grid(("knows", "fair"), (data,), cells)
    assert cells["knows", 0].seen == 30 and spearman(cells["knows", 0].predicted, scored.gold) > cells["fair", 0].value
    assert grid.level(0) == ["fair"] and grid.was_seen(cells["knows", 0], 0)
