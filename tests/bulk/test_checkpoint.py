"""Shards and checkpoint: what is on disk after a crash, and what is believed of it."""

import numpy as np
import pytest

from sbert_app.bulk.checkpoint import Checkpoint, Shards
from sbert_app.bulk.pieces import digest

FILES = ("a.csv", "b.csv")


@pytest.fixture
def shards(tmp_path):
    shards = Shards(tmp_path / "shards")
    shards.write("key", np.array([[3, 4], [0, 2]], dtype=np.float32))
    return shards


def test_embeddings_come_back_as_unit_vectors_in_float16(shards):
    embeddings = shards.read("key", 2)
    assert embeddings.dtype == np.float16 and np.allclose(embeddings, [[0.6, 0.8], [0, 1]], atol=1e-3)
    assert shards.path("key").exists() and shards.read("other", 2) is None


@pytest.mark.parametrize("damage", ["cut", "flip", "rows", "empty"])
def test_a_damaged_shard_is_deleted(damage, shards):
    content = bytearray(shards.path("key").read_bytes())
    content[-7] ^= 1 if damage == "flip" else 0
    shards.path("key").write_bytes(content[: {"cut": 90, "empty": 0}.get(damage, len(content))])
    assert shards.read("key", 3 if damage == "rows" else 2) is None and not shards.path("key").exists()


def test_only_the_shards_in_use_remain(shards):
    old, used = digest("old"), digest("used")
    for key in (old, used):
        shards.write(key, np.ones((1, 2), dtype=np.float32))
    shards.keep_only({used})
    assert shards.path(used).exists() and not shards.path(old).exists()
    assert shards.path("key").exists()  # no name of ours: a person's file


@pytest.fixture
def reopened(tmp_path):
    """A checkpoint of two files that were written and finished, and then a third piece, as a new process reads them."""
    path = tmp_path / "stored.jsonl"
    checkpoint = Checkpoint(path, FILES, 0)
    checkpoint.put(0, 0, "one", "k1", 10)
    checkpoint.put(1, 0, "two", "k2", 5)
    checkpoint.finish()
    checkpoint.put(1, 10, "three", "k3", 4)
    return lambda count, files=FILES: Checkpoint(path, files, count)


def test_a_checkpoint_is_believed_as_far_as_the_collection_has_its_rows_and_not_of_one_emptied_or_another(reopened):
    checkpoint = reopened(19)
    assert checkpoint.holds(0, 0, "one") and checkpoint.holds(1, 10, "three") and not checkpoint.holds(1, 10, "changed")
    assert checkpoint.rows == 19 and checkpoint.unfinished and checkpoint.keys == {"k1", "k2", "k3"}
    assert checkpoint.reaches(1, 5) and not checkpoint.reaches(0, 10)
    checkpoint = reopened(15)  # what was not finished is written again
    assert checkpoint.holds(1, 0, "two") and not checkpoint.holds(1, 10, "three")
    assert checkpoint.reaches(1, 10) and not checkpoint.unfinished
    assert reopened(14).rows == 0 and reopened(19, ("c.csv",)).rows == 0


def test_pieces_that_were_begun_or_cut_and_numbers_of_files_are_remembered(reopened):
    checkpoint = reopened(19)
    checkpoint.name_files((*FILES, "new.csv"))
    checkpoint.put(0, 10)  # it may be there
    checkpoint = reopened(19)
    assert checkpoint.reaches(0, 10) and not checkpoint.holds(0, 10, "one") and checkpoint.rows == 19
    checkpoint.cut(1, 1)
    checkpoint = reopened(19)
    assert checkpoint.rows == 15 and not checkpoint.reaches(1, 1) and checkpoint.files == (*FILES, "new.csv")


@pytest.mark.parametrize("end", [b"", b"\xff\n"])
def test_a_line_that_a_killed_process_left_unfinished_or_that_is_damaged_is_no_piece(reopened, tmp_path, end):
    path = tmp_path / "stored.jsonl"
    path.write_bytes(path.read_bytes()[:-9] + end)
    assert reopened(19).rows == 15
