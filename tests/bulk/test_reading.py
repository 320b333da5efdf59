"""Files as streams: which a name stands for; hostile ones are read as far as they go, and say where they end."""

import gzip
import tracemalloc

import pandas as pd
import pytest

from sbert_app.bulk.reading import Tally, chunks, list_files
from sbert_app.errors import UserError
from tests.bulk.conftest import write_frame


def rows_of(path):
    """All rows as (number, cells), and what was left out."""
    tally, rows = Tally(), []
    for chunk in chunks(path, tally):
        rows += [(n, {c: chunk.cells[c][i] for c in chunk.cells}) for i, n in enumerate(chunk.numbers)]
    return rows, tally


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.txt", "a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_every_format_gives_the_same_rows_as_strings(name, tmp_path):
    cells = [["007", "Grüße, 東京"], ["NA", 'said "no"'], ["", "x"]]
    frame = pd.DataFrame(cells, columns=["id", "text"]).replace("", None)
    rows, tally = rows_of(write_frame(tmp_path / name, frame))
    assert rows == [(i, {"id": a, "text": b}) for i, (a, b) in enumerate(cells, 1)] and not tally.reasons


def test_bad_rows_of_a_csv_are_counted_and_keep_their_numbers(write):
    rows, tally = rows_of(write("a.csv", "id,text\n1,one\n2\n3,three,more\n\n5,five\n"))
    assert [(number, row["text"]) for number, row in rows] == [(1, "one"), (5, "five")]
    assert dict(tally.reasons) == {"1 cells where the header has 2": 1, "3 cells where the header has 2": 1}
    assert tally.examples[0] == "a.csv, row 2: 1 cells where the header has 2"


def test_wrapped_prose_is_read_by_paragraphs(write):
    line = "of which each is nearly as long as the one above it"
    paragraphs = [f"{n} lines, {line}\n{line}, or so\n{line} too\nis." for n in range(5)]
    rows, _ = rows_of(write("a.txt", "\n\n".join(paragraphs)))
    assert [number for number, _ in rows] == [1, 2, 3, 4, 5]
    assert [row["text"] for _, row in rows] == [paragraph.replace("\n", " ") for paragraph in paragraphs]


def test_a_json_line_that_is_no_object_is_a_bad_row(write):
    rows, tally = rows_of(write("a.jsonl", '{"text": "a", "n": 1.0}\n[1]\n"b"\n\n{"text": null}\n{"text": "\\ud800"}\n{bad\n'))
    assert [(number, row["text"]) for number, row in rows] == [(1, "a"), (5, ""), (6, "?")]
    assert rows[0][1]["n"] == "1.0" and tally.reasons["not a JSON object"] == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text\n" + "x\n" * 3001 + '"never closed' + "y" * 11_000_000, "more than 10,000,000 characters in line 3,003"),
        ("a.csv", b"text\n\xff\xfe\x00\x81\x8d\n", "is not UTF-8 text"),
        ("a.csv.gz", gzip.compress(b"text\n" + b"word\n" * 9000)[:-9], "is not a complete gzip file"),
        ("a.parquet", b"PAR1 not really", "is not a readable parquet file"),
        ("a.csv", "", "has no rows"),
    ],
)
def test_a_file_that_breaks_says_why(name, content, message, write):
    path = write(name, content)
    with pytest.raises(UserError, match=message):
        rows_of(path)


def test_a_large_file_is_never_in_memory(write):
    row = f"sentence of some length to make the file large,{'m' * 200}\n"
    path = write("large.csv", f"text,more\n{row * 60_000}")
    tracemalloc.start()
    count = sum(len(chunk.numbers) for chunk in chunks(path, Tally()))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 60_000 and most < 6e6 < path.stat().st_size / 2


def test_a_file_named_three_times_is_read_once(write, tmp_path):
    path = write("a.csv", "text\nx\n")
    (tmp_path / "link.csv").symlink_to(path)
    assert list_files([str(path), f"{tmp_path}/*.csv", str(tmp_path)])[0] == [path.resolve()]


def test_a_folder_is_read_with_its_folders_but_not_what_tools_leave_there(write, tmp_path):
    for name in ("b.jsonl.GZ", "A.TXT", "notes.pdf", "csv", "_SUCCESS.txt", ".hidden.csv"):
        write(name, "x\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "c.parquet").write_bytes(b"")
    files, others = ([path.name for path in paths] for paths in list_files([str(tmp_path)]))
    assert files == ["A.TXT", "b.jsonl.GZ", "c.parquet"] and others == ["csv", "notes.pdf"]
    assert [path.name for path in list_files([f"{tmp_path}/**/*.parquet"])[0]] == ["c.parquet"]


def test_a_name_with_the_signs_of_a_pattern_is_a_file_if_there_is_one(write):
    path = write("a[1].csv", "text\nx\n")
    assert list_files([str(path)]) == ([path.resolve()], [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.csv", "There is no file '.*nowhere.csv'. Check the path."),
        ("*.nothing", "There is no file"),
        ("a.xlsx", "'a.xlsx' is not a format that can be indexed as a stream"),
        ("empty", "The folder '.*empty' holds no file that can be indexed"),
    ],
)
def test_a_name_that_stands_for_nothing_is_refused(name, message, write, tmp_path):
    write("a.xlsx", b"PK")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=message):
        list_files([str(tmp_path / name)])


def test_lines_that_a_stray_quotation_mark_has_swallowed_are_counted(tmp_path):
    (tmp_path / "a.csv").write_text("text,n\n" + 'say "no",1\n"never closed,2\n' + "a row,3\n" * 2_000)
    tally = Tally()
    assert sum(len(chunk.numbers) for chunk in chunks(tmp_path / "a.csv", tally)) == 1
    assert list(tally.reasons.values()) == [1, 2_000] and "first in line 3" in str(tally.reasons)
