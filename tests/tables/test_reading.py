"""Every format, and every kind of bad file with the message it gets."""

import os
from dataclasses import replace
from sys import getsizeof

import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import read_table, table_from_lines
from tests.tables.files import FILES, FRAME, LIMITS, ROWS, xlsx


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_table(name, write):
    table = read_table(write(name, FILES[name]), LIMITS)
    assert table.frame.to_dict("records") == ROWS
    assert table.rows.tolist() == [1, 2, 3]
    assert table.skipped == ()


def test_pasted_lines_skip_blank_ones_and_keep_their_numbers():
    table = table_from_lines("one\n\n  \nfour\n", LIMITS)
    assert table.frame["text"].tolist() == ["one", "four"] and table.rows.tolist() == [1, 4]


BAD = {
    "unknown ending": ("a.docx", b"x", "'a.docx' is not a format this app reads. Use one of csv, tsv"),
    "no ending": ("data", b"x", "'data' is not a format this app reads"),
    "empty": ("a.csv", b"", "'a.csv' is empty. Choose a file with at least one sentence"),
    "blank": ("a.csv", b"\n\n", "'a.csv' has no rows"),
    "header only": ("a.csv", b"text,n\n", "'a.csv' has a header but no rows"),
    "wrong encoding": ("a.csv", "text\n日本語".encode("shift_jis"), r"'a.csv' is not UTF-8 text \(line 2\). Save it as UTF-8"),
    "picture renamed": ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "'a.csv' is a binary file .* Export it as CSV"),
    "workbook renamed": ("a.csv", xlsx(FRAME), "'a.csv' is a binary file"),
    "binary renamed": ("a.csv", bytes(1000) + b"abc", "'a.csv' is a binary file, not text"),
    "broken json": ("a.json", b'{"a": ', "'a.json' is not valid JSON"),
    "json number": ("a.json", b"5", "'a.json' must hold a list of sentences or of objects"),
    "deep json": ("a.json", b"[" * 100_000, "'a.json' is not valid JSON"),
    "no json line": ("a.jsonl", b"hello\nworld\n", "'a.jsonl' holds no valid JSON line"),
    "broken gzip": ("a.csv.gz", b"\x1f\x8bnope", "'a.csv.gz' is not a complete gzip file"),
    "broken parquet": ("a.parquet", b"PAR1nope", "'a.parquet' is not a readable parquet file"),
    "broken workbook": ("a.xlsx", b"PK\x03\x04nope", "'a.xlsx' is not a readable .xlsx workbook"),
    "too many columns": ("a.csv", ",".join(f"c{i}" for i in range(300)) + "\n", "'a.csv' has 300 columns, the limit is 200"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_a_message_with_a_way_out(case, write):
    name, content, message = BAD[case]
    with pytest.raises(UserError, match=message):
        read_table(write(name, content), LIMITS)


def test_a_one_gigabyte_file_is_refused_without_reading_it(tmp_path):
    path = tmp_path / "big.csv"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1024 * MEGABYTE)
    with pytest.raises(UserError, match="'big.csv' has 1,024 MB, the limit is 256 MB. Split the file"):
        read_table(path, LIMITS)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_too_many_rows_name_both_numbers(name, write):
    with pytest.raises(UserError, match="has 3 rows, the limit is 2. Split the file"):
        read_table(write(name, FILES[name]), replace(LIMITS, rows=2))


def test_a_name_of_five_thousand_characters_makes_a_short_message(write):
    with pytest.raises(UserError) as error:
        read_table(write("a.csv", "text\n"), LIMITS, "n" * 5_000 + ".csv")
    assert len(str(error.value)) < 250 and ".csv' has a header" in str(error.value)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_table_knows_what_it_takes_in_memory(name, write):
    table = read_table(write(name, FILES[name]), LIMITS)
    held = sum(getsizeof(cell) for cell in table.frame.to_numpy().ravel())
    assert held < table.nbytes < held * 1.5
