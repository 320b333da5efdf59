"""Every format, and every kind of bad file with the message it gets."""

import gzip
import os
from dataclasses import replace
from functools import partial
from sys import getsizeof

import pandas as pd
import pyarrow as pa
import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import read_table, table_from_lines
from tests.tables.files import FILES, FRAME, HOSTED, LAUGHS, LIMITS, ROWS, dictionary, of_xml, parquet, workbook, xlsx


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_table(name, read):
    table = read(name, FILES[name])
    assert table.frame.to_dict("records") == ROWS
    assert table.rows.tolist() == [1, 2, 3]
    assert table.skipped == ()


def test_pasted_lines_skip_blank_ones_and_keep_their_numbers():
    table = table_from_lines("one\n\n  \nfour\n", LIMITS)
    assert table.frame["text"].tolist() == ["one", "four"] and table.rows.tolist() == [1, 4]


PACKED = gzip.compress(b"some text, and more of it\n" * 100)
DAMAGED = PACKED[:20] + b"\xff" * 20 + PACKED[40:]
BAD = {
    "unknown ending": ("a.docx", b"x", "'a.docx' is not a format this app reads. Use one of csv, tsv"),
    "no ending": ("data", b"x", "'data' is not a format this app reads"),
    "empty": ("a.csv", b"", "'a.csv' is empty. Choose a file with at least one sentence"),
    "blank": ("a.csv", b"\n\n", "'a.csv' has no rows"),
    "header only": ("a.csv", b"text,n\n", "'a.csv' has a header but no rows"),
    "wrong encoding": ("a.csv", "text\n日本語".encode("shift_jis"), r"'a.csv' is not UTF-8 text \(line 2\). Save it as UTF-8"),
    "picture renamed": ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "'a.csv' is a binary file .* Export it as CSV"),
    "workbook renamed": ("a.csv", xlsx(FRAME), "'a.csv' is a binary file"),
    "page renamed": ("a.csv", b"\n<!DOCTYPE html>\n<table><tr><td>a</td></tr></table>", "'a.csv' is a web page"),
    "binary renamed": ("a.csv", bytes(1000) + b"abc", "'a.csv' is a binary file, not text"),
    "broken json": ("a.json", b'{"a": ', "'a.json' is not valid JSON"),
    "json number": ("a.json", b"5", "'a.json' must hold a list of sentences or of objects"),
    "deep json": ("a.json", b"[" * 100_000, "'a.json' is not valid JSON"),
    "no json line": ("a.jsonl", b"hello\nworld\n", "'a.jsonl' holds no valid JSON line"),
    "broken gzip": ("a.csv.gz", b"\x1f\x8bnope", "'a.csv.gz' is not a complete gzip file"),
    "broken parquet": ("a.parquet", b"PAR1nope", "'a.parquet' is not a readable parquet file"),
    "broken workbook": ("a.xlsx", b"PK\x03\x04nope", "'a.xlsx' is not a readable .xlsx workbook"),
    "damaged gzip": ("a.csv.gz", DAMAGED, "'a.csv.gz' is not a complete gzip file"),
    "empty objects": ("a.json", "[{}, {}]", "'a.json' has rows without any value"),
    "too many columns": ("a.csv", ",".join(f"c{i}" for i in range(1300)) + "\n", "'a.csv' has 1,300 columns, the limit is 1,000"),
}  # fmt: skip


def shared() -> pd.DataFrame:
    """A long text that a thousand rows share."""
    return pd.DataFrame({"text": ["long " * 4_000] * 1_000, "n": range(1_000)})


limited = partial(replace, LIMITS)
SMALL, MEDIUM = (limited(unpacked_bytes=size * MEGABYTE) for size in (2, 10))
LARGE = {  # each ends before it takes much: its content, or a function that makes it; the message; the limits
    "long line": ("a.txt", "text\n" + "x" * 1_001, "has more than 1,000 characters in line 2", limited(cell_characters=1_000)),
    "open quotation mark": (
        "a.csv", 'text,n\na,1\n"open,1\n' + "b,2\n" * 1_000,
        "in the row that begins in line 3. Look for a quotation mark", limited(cell_characters=1_000),
    ),
    "cells": ("a.csv", "a,b\n" + "x,y\n" * 4, "has 8 cells, the limit is 7. Keep only the columns you need", limited(cells=7)),
    "rows": ("a.csv", FILES["a.csv"], "has 3 rows, the limit is 2. Split the file", limited(rows=2)),
    "rows of parquet": ("a.parquet", FILES["a.parquet"], "has 3 rows, the limit is 2. Split the file", limited(rows=2)),
    "rows of json": ("a.jsonl", FILES["a.jsonl"], "has 3 rows, the limit is 2. Split the file", limited(rows=2)),
    "rows that do not fit": (
        "a.csv", "text,n\n" + "a,1\n" * 60 + "b\n" * 60_000,
        "more than 50,000 rows that cannot be read, the first is row 61: 1 cells", HOSTED,
    ),
    "columns while they come up": (
        "a.jsonl", lambda: "".join(f'{{"key{i}": 1}}\n' for i in range(50_000)), "has more than 1,000 columns, the limit is 1,000",
    ),
    "thousands of columns": (
        "a.parquet", lambda: parquet(pa.table({f"c{i}": pa.array([1]) for i in range(20_000)})),
        "has 20,000 columns, the limit is 1,000", limited(reading_seconds=12),
    ),
    "gzip bomb": ("a.txt.gz", b"a" * (3 * MEGABYTE), "'a.txt.gz' unpacks to more than 2 MB, the limit", SMALL),
    "zip bomb": ("a.xlsx", lambda: of_xml("0" * (3 * MEGABYTE)), "'a.xlsx' unpacks to 3 MB, the limit is 2 MB", SMALL),
    "shared text": ("a.xlsx", lambda: xlsx(shared()), "unpacks to 19 MB, the limit is 10 MB", MEDIUM),
    "shared text of parquet": ("a.parquet", lambda: parquet(shared()), "unpacks to 19 MB, the limit is 10 MB", MEDIUM),
    "text shared by 40,000 rows": (
        "a.parquet", lambda: parquet(pa.table({"text": dictionary("long " * 2_000, 40_000)})),
        "unpacks to 381 MB, the limit is 100 MB", HOSTED,
    ),
    "far corner": (
        "a.xlsx", lambda: workbook({"A1": "text", "A2": "first", "XFD1048576": "far"}),
        r"'a.xlsx' has (more than )?[\d,]+ rows, the limit is 50,000", HOSTED,
    ),
    "entities": ("a.xlsx", lambda: workbook({"A1": "a", "A2": "&j;"}, prolog=LAUGHS), "is not a readable .xlsx workbook", HOSTED),
    "tag of megabytes": (
        "a.xlsx", lambda: workbook({"A1": "text", "A2": "first"}, "<cols " + " ".join(f'a{i}="1"' for i in range(300_000)) + "/>"),
        "is not a readable .xlsx workbook",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", [*BAD, *LARGE])
def test_bad_files_get_a_message_with_a_way_out(case, read):
    name, content, message, *limits = (BAD | LARGE)[case]
    with pytest.raises(UserError, match=message):
        read(name, content() if callable(content) else content, *limits)


def test_a_one_gigabyte_file_is_refused_without_reading_it(tmp_path):
    path = tmp_path / "big.csv"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1024 * MEGABYTE)
    with pytest.raises(UserError, match="'big.csv' has 1,024 MB, the limit is 256 MB. Split the file"):
        read_table(path, LIMITS)


def test_a_name_of_five_thousand_characters_makes_a_short_message(write):
    with pytest.raises(UserError) as error:
        read_table(write("a.csv", "text\n"), LIMITS, "n" * 5_000 + ".csv")
    assert len(str(error.value)) < 250 and ".csv' has a header" in str(error.value)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_table_knows_what_it_takes_in_memory(name, read_here):
    table = read_here(name, FILES[name])
    held = sum(getsizeof(cell) for cell in table.frame.to_numpy().ravel())
    assert held < table.nbytes < held * 1.5
