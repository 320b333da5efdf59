"""A collection whose files have changed is refused with a sentence; nothing of anybody's is deleted; one process writes."""

import json
import multiprocessing
import os
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from sbert_app.collections.collection import CollectionError, Facts
from sbert_app.collections.folder import FolderCollection
from sbert_app.corpus.faiss_index import SCANN
from sbert_app.errors import UserError
from sbert_app.storage import DamagedError
from tests.attacks.damaged_collection import FAULTS, attack
from tests.collections.made import FACTS, collection_in, rows
from tests.damaging import flip


@pytest.fixture
def collection(tmp_path):
    yield (made := collection_in(tmp_path / "made", 200, 100))
    made.close()


def test_flipped_bits_and_hostile_edits_end_in_sentences(tmp_path):
    reports = []
    counts = attack(tmp_path, 16, 12, reports.append)
    assert not any(counts[fault] for fault in FAULTS), reports
    assert counts["a sentence"] > 8 and counts["same answer"] > 0


@pytest.mark.parametrize("use", ["open", "search", "fetch", "scan", "filter", "finish"])
def test_a_flipped_bit_of_a_part_is_noticed_before_a_row_of_it_is_given(collection, tmp_path, use):
    files = (tmp_path / "made").glob("index-*" if use == "open" else "parts/*")
    flip(max(files, key=lambda path: path.stat().st_size), 0.9)
    opened = collection if use in ("open", "finish") else FolderCollection.open(tmp_path / "made")
    uses = {
        "open": lambda: FolderCollection.open(tmp_path / "made"),
        "search": lambda: opened.search(rows([5]).column("embedding").chunk(0).flatten().to_numpy().reshape(1, -1), 5),
        "fetch": lambda: opened.fetch([1, 2]),
        "scan": lambda: list(opened.scan()),
        "filter": lambda: opened._current().matching({"team": "Billing"}),
        "finish": lambda: (opened.upsert(rows([300])), opened.finish(FACTS)),
    }
    with pytest.raises(DamagedError, match="Index the files again, into a new folder"):
        uses[use]()


def test_facts_are_only_believed_as_they_were_written():
    good = json.loads(json.dumps(FACTS.to_json()))
    assert Facts.from_json(good) == FACTS
    wrong = {"columns": "team", "dim": 10**30, "scales": {"day": "x"}, "files": None, "index": "x", "recall": "1", "model": 3}
    for name, value in wrong.items():
        with pytest.raises((ValueError, TypeError, KeyError)):
            Facts.from_json({**good, name: value})


def test_of_the_collections_own_files_those_that_nobody_needs_are_deleted_and_none_of_others(collection, tmp_path):
    folder = tmp_path / "made"
    for name in ("index-notes.txt", "ids-of-people.csv", "parts/mine.arrow", ".env", "parts/.git"):
        (folder / name).write_text("mine")
    collection.upsert(rows(range(1, 201), seed=3))
    collection.finish(FACTS)
    assert len([*(folder / "parts").glob("*-*.arrow")]) == 2
    for recall in (1.0, 0.5):  # the second time the facts alone
        collection.finish(replace(FACTS, index=SCANN, recall=recall))
        assert [path.name for path in folder.glob("*.faiss")] == ["index-3.faiss"] and collection.facts.recall == recall
    collection.drop()
    left = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    assert left == [".env", "ids-of-people.csv", "index-notes.txt", "parts", "parts/.git", "parts/mine.arrow"]
    collection_in(tmp_path / "other", 3).drop()
    assert not (tmp_path / "other").exists()


def test_the_log_holds_no_more_than_the_collection(collection, tmp_path):
    log = tmp_path / "made" / "log.jsonl"
    for seed in range(1, 9):
        collection.trim(0, 150)
        collection.upsert(rows(range(1, 201), seed=seed))
        collection.finish(FACTS)
    assert len(log.read_text().split()) < 20 and collection.count() == 300
    collection.trim(0, 100)
    collection.finish(FACTS)
    collection.finish(replace(FACTS, index=SCANN))
    assert collection.count() == 200


@pytest.mark.parametrize("line", [0, -1])
def test_a_changed_line_of_the_log_is_not_passed_over(collection, tmp_path, line):
    log = tmp_path / "made" / "log.jsonl"
    lines = [text for text in log.read_text().splitlines() if text]
    lines[line] = lines[line][:-1] + "]"
    log.write_text("\n".join(lines) + "\n")
    with pytest.raises(DamagedError):
        collection.finish(FACTS)


def write_again_and_again(folder, count, until):
    """Append to a file that only the one that writes may touch, and count where another did at the same time."""
    clashes = 0
    while time.monotonic() < until:
        one = FolderCollection(folder)
        with suppress(CollectionError):
            one._hold()
        if one._lock is None:
            continue
        try:
            os.close(os.open(folder / "written", os.O_CREAT | os.O_EXCL))
            (folder / "written").unlink()
        except FileExistsError:
            clashes += 1
        one.close()
    count.put(clashes)


def test_one_process_writes_at_a_time(collection, tmp_path):
    collection.close()
    lock = (tmp_path / "made" / "lock").stat().st_ino  # who deletes it lets two others have one each
    context, until = multiprocessing.get_context("fork"), time.monotonic() + 1
    count = context.Queue()
    writers = [context.Process(target=write_again_and_again, args=(tmp_path / "made", count, until)) for _ in range(4)]
    for writer in writers:
        writer.start()
    assert [count.get(timeout=30) for _ in writers] == [0] * 4
    for writer in writers:
        writer.join()
    assert (tmp_path / "made" / "lock").stat().st_ino == lock


def test_a_lock_that_cannot_be_written_is_a_sentence(tmp_path):
    made = FolderCollection.create(tmp_path / "made", FACTS)
    (tmp_path / "made" / "lock").mkdir()
    with pytest.raises(UserError, match="cannot be written: Is a directory"):
        made.trim(0, 1)


class Forgetful(dict):
    """Loses what is put, as a dictionary that another thread clears in this moment."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.clear()


def test_a_filter_gets_its_mask_although_others_replace_it_in_this_moment(collection):
    snapshot = replace(collection._current(), _masks=Forgetful())
    assert snapshot.matching({"row": "7"}).mask.sum() == 2
