"""Bulk indexing with Ray: two actors give the embeddings that one process gives, also if one of them is killed."""

import os
from importlib.util import find_spec

import psutil
import pytest

from sbert_app.bulk.indexing import run
from sbert_app.bulk.request import Request
from sbert_app.settings import Settings
from tests.attacks.small_home import tiny_model
from tests.bulk.conftest import contents, least_cosine, write_rows


@pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install -r requirements-scale.txt")
def test_two_actors_index_what_one_process_does_even_if_one_is_killed(tmp_path, sentences):
    tiny_model(tmp_path / "model")
    (tmp_path / "data").mkdir()
    for name in ("a", "b"):
        write_rows(tmp_path / "data" / f"{name}.jsonl", [f"{sentence} {name} {i}" for i in range(2) for sentence in sentences])
    settings = Settings(home=tmp_path / "home", device="cpu", precision="fp32")
    request = {"files": (str(tmp_path / "data"),), "model": str(tmp_path / "model"), "shard_rows": 100}

    *_, last = run(Request(**request, store=str(tmp_path / "plain")), settings)
    plain = last.result
    killed, by_ray = [], None
    for step in run(Request(**request, store=str(tmp_path / "ray"), engine="ray", workers=2), settings):
        if step.stage == "Encoding" and not killed:
            killed = [child for child in psutil.Process(os.getpid()).children(recursive=True) if "MapWorker" in child.name()][:1]
            for actor in killed:
                actor.kill()
        by_ray = step.result

    assert by_ray is not None and killed
    assert (by_ray.rows, by_ray.encoded, by_ray.failures) == (plain.rows, plain.rows, {}) and by_ray.rows > 3000
    (rows, vectors), (expected, exact) = contents(tmp_path / "ray"), contents(tmp_path / "plain")
    assert rows == expected and least_cosine(vectors, exact) > 0.99999
    assert not list((tmp_path / "home" / "cache" / "bulk").rglob("staged*"))
