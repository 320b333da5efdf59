"""Bulk runs from end to end: what is in the collection afterwards, and what was not computed again."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock
from safetensors.numpy import load_file, save_file

from sbert_app.bulk.pieces import digest
from sbert_app.collections import open_collection
from sbert_app.collections.collection import CollectionError, measured_recall
from sbert_app.collections.folder import FolderCollection
from sbert_app.errors import UserError
from sbert_app.models.encoder import Encoder
from tests.bulk.conftest import contents, least_cosine, write_rows

ROOT = Path(__file__).parents[2]


def test_a_folder_of_files_becomes_a_collection_and_a_known_one_keeps_its_number(index, data, tmp_path, tiny, cpu, sentences):
    first, summary = index(data / "b.jsonl"), index(data)
    assert (first.rows, first.encoded, first.reused, first.written) == (200, 200, 0, 200)
    assert (summary.rows, summary.encoded, summary.reused, summary.written, summary.failures) == (600, 400, 200, 400, {})
    assert (summary.index, summary.collection_rows, summary.dim, summary.files) == ("exact", 600, 32, 3)
    rows, embeddings = contents(tmp_path / "store")
    assert rows["a.jsonl", 1] == (sentences[0], "0") and rows["c.jsonl", 100] == (sentences[599], "99") and len(rows) == 600
    expected = Encoder.from_folder(tiny, cpu).encode([sentence for sentence, _ in rows.values()])
    assert least_cosine(expected, embeddings) > 0.99999
    facts = open_collection(str(tmp_path / "store")).facts
    assert (facts.sentence, facts.columns, dict(facts.scales)) == ("text", ("n",), {"n": "number"})
    assert [Path(name).name for name in facts.files] == ["b.jsonl", "a.jsonl", "c.jsonl"]
    again = index(data)  # does nothing
    assert (again.encoded, again.reused, again.written, again.collection_rows) == (0, 600, 0, 600)


def test_a_changed_file_is_written_from_where_it_changed(index, data, tmp_path, sentences):
    index(data)
    write_rows(data / "a.jsonl", [*sentences[:100], "", "A new sentence.", *sentences[102:250]])
    changed = index(data)
    assert changed.encoded == 63 + 58 and 150 <= changed.written < 200 and changed.collection_rows == 549
    rows, _ = contents(tmp_path / "store")
    assert ("a.jsonl", 101) not in rows and rows["a.jsonl", 102][0] == "A new sentence." and ("a.jsonl", 251) not in rows


@pytest.mark.parametrize("count", [256, 250, 64])
def test_a_file_that_became_shorter_loses_its_last_rows(count, index, data, tmp_path, sentences):
    index(data)
    write_rows(data / "a.jsonl", sentences[:count])
    assert index(data).collection_rows == 300 + count
    rows, _ = contents(tmp_path / "store")
    assert max(row for file, row in rows if file == "a.jsonl") == count


@pytest.mark.parametrize("changed", [[0, 1, 2, None, 4], [0, 1]])
def test_rows_that_could_not_be_taken_out_are_taken_out_by_the_next_run(changed, index, data, tmp_path, sentences, monkeypatch):
    index(data)
    write_rows(data / "a.jsonl", ["" if place is None else sentences[place] for place in changed])
    with monkeypatch.context() as patch, pytest.raises(UserError, match="gone"):
        patch.setattr(FolderCollection, "trim", lambda *_: (_ for _ in ()).throw(CollectionError("The store is gone.")))
        index(data)
    index(data)
    rows, _ = contents(tmp_path / "store")
    assert [row for file, row in rows if file == "a.jsonl"] == [row for row, place in enumerate(changed, 1) if place is not None]
    assert index(data).written == 0


def test_other_shard_sizes_and_a_lost_work_folder_change_nothing(index, data, tmp_path):
    index(data, work=tmp_path / "work")
    before = contents(tmp_path / "store")
    assert index(data, work=tmp_path / "work", shard_rows=50).collection_rows == 600
    assert index(data, work=tmp_path / "other").collection_rows == 600
    after = contents(tmp_path / "store")
    assert after[0] == before[0] and np.array_equal(after[1], before[1])


def test_a_file_that_cannot_be_read_does_not_stop_the_others(index, data, tmp_path):
    (data / "b.jsonl").write_bytes(b'{"text": "whole"}\n\xff\xfe\x81\n')
    (data / "d.parquet").write_bytes(b"PAR1")
    summary = index(data)
    assert summary.collection_rows == 400 and sorted(Path(name).name for name in summary.failures) == ["b.jsonl", "d.parquet"]


def test_a_damaged_shard_is_encoded_again_and_parquet_files_hold_float16_lists_that_pandas_reads(index, data, tmp_path, sentences):
    index(data, out=tmp_path / "out")
    shard = next((tmp_path / "home" / "cache" / "bulk").rglob("*.npy"))
    shard.write_bytes(shard.read_bytes()[:-20])
    broken = index(data, out=tmp_path / "out")
    assert len(broken.failures) == 1 and "run the same command again" in next(iter(broken.failures.values()))
    assert index(data, out=tmp_path / "out").failures == {}
    frame = pd.read_parquet(tmp_path / "out").sort_values(["file", "row"])
    assert list(frame.columns) == ["file", "row", "sentence", "metadata.n", "embedding"] and len(frame) == 600
    assert frame.sentence.tolist() == sentences[:600] and frame.embedding.iloc[0].dtype == np.float16


def test_parts_of_the_shards_are_encoded_apart_and_stored_together(index, data, tmp_path):
    parts = [index(data, part=(i, 3), store="", work=tmp_path / "work") for i in (1, 2, 3)]
    assert sum(part.encoded for part in parts) == 600 and all(100 < part.encoded < 300 for part in parts)
    whole = index(data, work=tmp_path / "work")
    assert (whole.encoded, whole.reused, whole.collection_rows) == (0, 600, 600)


@pytest.mark.parametrize("content", ["", "null", "[]", "not JSON", '{"parts": null}', '{"parts": [1]}', '{"facts": {}}'])
def test_a_damaged_list_of_parquet_files_gets_a_sentence(index, data, tmp_path, content):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_contents.json").write_text(content)
    with pytest.raises(UserError, match=r"_contents\.json' is damaged. Delete it, or choose another --out"):
        index(data / "c.jsonl", out=tmp_path / "out")


def test_only_the_runs_own_parquet_files_are_deleted(index, data, tmp_path):
    out = tmp_path / "out"
    index(data, out=out)
    names = {"../diary.txt", "diary.txt", "sales.parquet", "00000-0000000000.parquet.bak", "x00000-0000000000.parquet", ".env"}
    for name in names:
        (out / name).write_text("mine")
    contents = json.loads((out / "_contents.json").read_text())
    del contents["checksum"]
    (out / "_contents.json").write_text(json.dumps(contents | {"parts": [*contents["parts"], *names, str(tmp_path / "diary.txt")]}))
    (data / "c.jsonl").unlink()
    index(data, out=out)
    assert all((out / name).exists() for name in names)
    assert {path.name[:5] for path in out.glob("0*.parquet")} == {"00000", "00001"}


def test_a_run_that_cannot_remember_what_it_stored_leaves_no_collection(index, data, tmp_path):
    store = tmp_path / "store"
    (tmp_path / "work" / f"stored-{digest(str(store))}.jsonl").mkdir(parents=True)
    with pytest.raises(UserError, match="The work folder cannot be written"):
        index(data / "c.jsonl", work=tmp_path / "work")
    assert not store.exists()


def test_a_column_whose_name_looks_like_several_is_indexed_again(index, data, tmp_path, sentences):
    lines = [json.dumps({"a + b": text, "a": "x", "n": str(i)}) for i, text in enumerate(sentences[:50])]
    (data / "c.jsonl").write_text("\n".join(lines) + "\n")
    assert index(data / "c.jsonl", columns=("a + b",)).written == 50
    again = index(data / "c.jsonl")
    assert (again.written, again.collection_rows) == (0, 50)
    facts = open_collection(str(tmp_path / "store")).facts
    assert facts.joined == ("a + b",) and facts.sentence == "a + b"


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_the_recall_of_an_index_is_measured(kind, index, data, tmp_path):
    summary = index(data, index=kind)
    facts = open_collection(str(tmp_path / "store")).facts
    assert summary.index == facts.index == kind and summary.recall_queries == facts.recall_queries == 200
    assert 0.9 < summary.recall <= 1 and summary.recall == facts.recall
    assert index(data, index=kind).recall_queries == 200


def test_recall_falls_when_the_index_returns_other_rows(index, data, tmp_path):
    index(data)
    collection = open_collection(str(tmp_path / "store"))

    class Poor:
        """Finds only the rows with an even number."""

        sample, fetch = collection.sample, collection.fetch

        def search(self, queries, top):
            scores, rows = collection.search(queries, top)
            return scores, np.where(rows % 2 == 0, rows, -1)

    assert measured_recall(collection, collection.scan()) == (1.0, 200)
    assert 0.3 < measured_recall(Poor(), collection.scan())[0] < 0.7


def test_a_collection_of_another_model_or_of_one_that_changed_is_refused(index, data, tiny, shallow_folder, tmp_path):
    model = shutil.copytree(tiny, tmp_path / "model")
    index(data / "c.jsonl", model=str(model))
    with pytest.raises(UserError, match=r"was made with the model '.*model', not with '.*shallow'"):
        index(data / "c.jsonl", model=str(shallow_folder))
    assert index(data / "c.jsonl", model="").rows == 100  # the collection's own
    weights = load_file(model / "model.safetensors")
    save_file({name: weight * 2 for name, weight in weights.items()}, model / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match="has changed since the collection"):
        index(data / "c.jsonl", model=str(model))


def test_a_relative_address_is_another_collection_in_another_folder(index, data, tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert index(data / "c.jsonl", store="same").encoded == 100
        assert index(data / "c.jsonl", store="same").written == 0
    monkeypatch.chdir(tmp_path / "one")
    assert index(data / "c.jsonl", store="same").written == 0


def test_two_runs_do_not_share_a_work_folder(index, data, tmp_path):
    (tmp_path / "work").mkdir()
    with FileLock(tmp_path / "work" / "run.lock"), pytest.raises(UserError, match="Another process is indexing"):
        index(data, work=tmp_path / "work")


def test_nothing_to_index_leaves_no_collection(index, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": " "}\n')
    with pytest.raises(UserError, match="Nothing could be indexed"):
        index(tmp_path / "a.jsonl")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index": "lsh"}, "Unknown index 'lsh'"),
        ({"engine": "spark"}, "Unknown engine 'spark'"),
        ({"part": (1, 2)}, "give --work too"),
        ({"shard_rows": 0}, "--shard-rows must lie between"),
        ({"columns": ("nope",)}, "There is no column 'nope'. The columns are: text, n."),
    ],
)
def test_what_does_not_fit_is_refused(options, message, index, data):
    with pytest.raises(UserError, match=message):
        index(data, **options)


def test_a_run_killed_at_any_moment_goes_on_and_encodes_no_shard_twice(index, data, tmp_path, tiny):
    """Killed twice with SIGKILL at random moments (tests/attacks/bulk_kills.py: often); each process logs the shards it writes."""
    log, chance, kills = tmp_path / "shards.log", random.Random(0), 0
    env = os.environ | {"SBERT_STUDIO_HOME": str(tmp_path / "home"), "SBERT_STUDIO_DEVICE": "cpu", "SBERT_STUDIO_PRECISION": "fp32"}
    command = [sys.executable, "-m", "tests.bulk.logged", str(log), str(data), "--store", str(tmp_path / "killed")]
    command += ["--model", str(tiny), "--shard-rows", "20", "--json"]
    while True:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while not (tmp_path / "shards.log.begun").exists() and process.poll() is None:
            time.sleep(0.005)
        (tmp_path / "shards.log.begun").unlink(missing_ok=True)
        try:
            out = process.communicate(timeout=chance.uniform(0, 0.6) if kills < 2 else 60)[0]
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
    summary, shards = json.loads(out), log.read_text().split()
    assert kills and process.returncode == 0 and summary["collection_rows"] == 600
    assert len(shards) == len(set(shards)) and 30 - kills <= len(shards) <= 30  # a kill may come between a shard and its line
    index(data)
    (killed, vectors), (whole, expected) = contents(tmp_path / "killed"), contents(tmp_path / "store")
    assert killed == whole and least_cosine(vectors, expected) > 0.99999
