"""A file that takes too much memory or time ends in a sentence, and this process goes on."""

import gzip
import json
import sys
from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import read_table
from sbert_app.tables.reading import SMALL
from tests.tables.files import FILES, HOSTED, LIMITS, ROWS

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no bound on memory elsewhere")


@LINUX
@pytest.mark.parametrize(("millions", "limits"), [(3, replace(HOSTED, reading_bytes=100 * MEGABYTE)), (8, LIMITS)])
def test_a_file_that_takes_more_memory_than_the_limits_or_its_size_allow_is_a_sentence(read, millions, limits):
    bomb = gzip.compress(b"[" + b"[]," * (millions * 1_000_000) + b"[]]")
    with pytest.raises(UserError, match=r"'a.json.gz' needs too much memory to read. Save it as CSV UTF-8"):
        read("a.json.gz", bomb, limits)


def test_a_file_that_takes_too_long_is_a_sentence(read):
    with pytest.raises(UserError, match=r"'a.xlsx' takes more than 0.01 seconds to read. Save it as CSV UTF-8"):
        read("a.xlsx", FILES["a.xlsx"], replace(LIMITS, reading_seconds=0.01))


def test_what_the_child_reads_is_what_this_process_reads(read):
    line = json.dumps({"text": "a sentence \U0001f600", "\ud83dteam": "half \ud83d"}) + "\n"
    text = line * (SMALL // len(line)) + "not json\n"
    here, there = read("a.jsonl", text), read("b.jsonl.gz", text)
    assert here.frame.equals(there.frame) and here.rows.tolist() == there.rows.tolist()
    assert (here.skipped, here.notes, here.nbytes) == (there.skipped, there.notes, there.nbytes)


def test_the_child_is_started_from_any_folder(write, tmp_path, monkeypatch):
    path = write("a.parquet", FILES["a.parquet"])
    monkeypatch.chdir(tmp_path)
    assert read_table(path.relative_to(tmp_path), LIMITS).frame.to_dict("records") == ROWS
