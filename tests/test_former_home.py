"""What the version of 2026-11-23 (f5fcc43) wrote opens unchanged: corpus, collection, cache, model, finished and interrupted run.

`former_home.zip` is a data home of that version with a tiny model; expected.json in it is what that version made of it.
"""

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_app.collections import open_collection
from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.jobs.corpus.opening import open_saved
from sbert_app.jobs.fine_tune import running
from sbert_app.runs.records import INTERRUPTED
from sbert_app.runtime.workbench import Workbench
from tests.attacks.small_home import BASE, SENTENCES, settings
from tests.searching import search


@dataclass(frozen=True)
class Former:
    home: Path
    bench: Workbench
    expected: dict[str, Any]

    def encode(self, model: str, sentences: list[str]) -> np.ndarray:
        return self.bench.device.encode(self.bench.registry.encoder(model), sentences)


@pytest.fixture
def former(tmp_path):
    with zipfile.ZipFile(Path(__file__).with_name("former_home.zip")) as archive:
        archive.extractall(tmp_path)
    return Former(tmp_path, Workbench(settings(tmp_path)), json.loads((tmp_path / "expected.json").read_text()))


def test_a_saved_corpus_has_the_hits_it_had(former):
    session = former.bench.sessions.open()
    assert [entry.id for entry in former.bench.library.list()] == [former.expected["corpus"]]
    open_saved(former.bench, session, former.expected["corpus"])
    hits = search(former.bench, session, former.expected["query"], 5, ranking="hybrid").hits
    assert [[hit.row, hit.sentence, round(hit.score, 4)] for hit in hits] == [
        [row, sentence, round(score, 4)] for row, sentence, score in former.expected["hits"]
    ]


def test_a_collection_has_the_hits_it_had(former):
    collection = open_collection(str(former.home / "collection"))
    scores, rows = collection.search(former.encode(BASE, [former.expected["query"]]), 5)
    assert rows[0].tolist() == [row for row, _ in former.expected["collection_hits"]]
    np.testing.assert_allclose(scores[0], [score for _, score in former.expected["collection_hits"]], atol=2e-4)


def test_a_trained_model_gives_the_embeddings_it_gave_and_those_in_the_cache_are_found(former):
    given = former.encode(f"runs/{former.expected['finished']}", SENTENCES[:3])
    np.testing.assert_allclose(given, former.expected["encoded"], atol=1e-5)
    encoder = former.bench.registry.encoder(BASE)
    assert encoder.fingerprint == former.expected["cached"]
    vectors, found = EmbeddingCache(former.home / "cache" / "embeddings").lookup(encoder.fingerprint, SENTENCES, encoder.dim)
    assert found.all()
    np.testing.assert_allclose(vectors[:3], former.encode(BASE, SENTENCES[:3]), atol=1e-5)


def test_a_finished_run_keeps_its_verdict_and_an_interrupted_one_goes_on_to_the_same(former):
    finished, interrupted = (former.expected[name] for name in ("finished", "interrupted"))
    state = running.state(former.bench, finished)
    assert state.result.after == pytest.approx(former.expected["after"])
    assert len(running.find(former.bench, finished).split().held_out) == former.expected["held_out"]
    run = running.find(former.bench, interrupted)
    assert run.info().state == INTERRUPTED
    with run.lock():
        list(running.train_here(former.bench, run))
    assert running.state(former.bench, interrupted).result.after == pytest.approx(former.expected["after"], abs=1e-4)
