"""The job compare: what is worse fails, what is the same passes; the figures are those of the libraries."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from sbert_app.grid.reading import read_pairs
from sbert_app.jobs.compare import COMPARE, GENERAL, CompareOptions
from sbert_app.jobs.declaring.job import Call, outcome_of
from sbert_app.jobs.declaring.option import read
from sbert_app.labelled.example_set import remember, trained_on
from sbert_app.labelled.examples import general_pairs
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.settings import ASSETS
from sbert_app.tables import read_table
from tests.jobs.refusals import refused

FILE = ASSETS / "labelled" / "instructions_labelled.csv"


@pytest.fixture(scope="module")
def folders(tmp_path_factory, shared_bench):
    """The default model, and one whose embeddings keep little of it."""
    random = np.random.default_rng(0).normal(size=(384, 2)).astype(np.float32)
    found = {}
    for name, weight in {"same": np.eye(384, dtype=np.float32), "poor": random @ random.T / 384}.items():
        found[name] = tmp_path_factory.mktemp(name)
        shared_bench.registry.trainable(DEFAULT_ENCODER).with_layer(weight).save(found[name], name, {})
    return {name: str(folder) for name, folder in found.items()}


def compare(bench, before, after, **values):
    options = read(CompareOptions, {"before": before, "after": after, **values}, bench.settings.limits)
    return outcome_of(COMPARE.steps(Call(bench), options))


def test_a_poorer_model_fails_on_both_and_the_same_passes(bench, folders, write):
    file = write("some.csv", "\n".join(FILE.read_text().splitlines()[:151]))
    worse = compare(bench, DEFAULT_ENCODER, folders["poor"], on=str(file))
    assert worse.failed and not worse.summary["passed"] and worse.lines[-1] == f"Failed on {GENERAL}: worse."
    assert worse.summary[file.name]["examples"] > 100  # opposites with the same words: a poorer model is not worse there
    general, pairs = worse.summary[GENERAL], general_pairs()
    encoder = bench.registry.encoder(folders["poor"])
    cosines = (encoder.encode(pairs.sentences[0]) * encoder.encode(pairs.sentences[1])).sum(axis=1)
    assert general["spearman"]["after"] == pytest.approx(spearmanr(cosines, pairs.gold).statistic, abs=0.02)
    assert general["spearman"]["change"]["high"] < 0 and general["verdict"].startswith("worse")
    same = compare(bench, DEFAULT_ENCODER, folders["same"])
    assert not same.failed and same.summary["passed"] and same.lines[-1] == "Passed."
    strict = compare(bench, DEFAULT_ENCODER, folders["same"], fail_below=5)
    assert strict.failed and strict.summary["failed"] == [GENERAL] and "or changed by less than +5" in strict.lines[-1]


def test_it_says_how_the_file_was_read_and_which_model_was_trained_on_it(bench, folders, tmp_path):
    lines = FILE.read_text().splitlines()
    (tmp_path / "own.csv").write_text("\n".join([*lines[:61], ",nothing,same"]))
    own = read_pairs(read_table(tmp_path / "own.csv", bench.settings.limits), bench.settings.limits)
    remember(Path(folders["same"]), own.examples.take(np.arange(30)), trained_on(None))
    notes = compare(bench, DEFAULT_ENCODER, folders["same"], on=str(tmp_path / "own.csv")).summary["notes"]
    assert notes[0].startswith("Read as labelled, columns ") and "1 row skipped, blank sentence: row 61" in notes
    assert notes[-1] == (
        f"{folders['same']} was trained on 30 of the 60 pairs of own.csv: its figure there says nothing about new pairs."
    )


def test_a_file_of_few_examples_is_refused(bench, folders, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("sentence1,sentence2,score\na cat,a dog,2\na car,a red car,4\n")
    refused(r"'few.csv' has 2 examples, at least 20 are needed", compare, bench, DEFAULT_ENCODER, folders["same"], on=str(few))
