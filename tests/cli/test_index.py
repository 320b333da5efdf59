"""The command `index`: what it prints, and its exit status."""

import json

import pytest

TICKETS = "text,team\n" + "".join(f"Ticket number {i} is about parcels,{'A' if i % 2 else 'B'}\n" for i in range(40)) + ",C\n"


@pytest.fixture
def tickets(write):
    return write("tickets.csv", TICKETS)


def test_index_prints_one_object_and_progress_on_stderr(shell, tickets, tmp_path):
    out, err = shell("index", tickets, "--store", tmp_path / "store", "--json")
    result = json.loads(out)
    assert (result["rows"], result["collection_rows"], result["index"]) == (40, 40, "exact")
    assert result["left_out"] == {"blank sentence": 1} and result["encoded_per_second"] > 0
    assert err.startswith("About ") and "column 'text', model all-MiniLM-L6-v2" in err and "\nEncoding: 40 of about " in err


def test_in_words_with_rows_and_files_that_are_not_of_this_run(shell, tickets, tmp_path):
    first, *others = shell("index", tickets, "--out", tmp_path / "out")[0].splitlines()
    assert first.startswith("40 rows of 1 file: 40 encoded now, 0 before, 40 written, in ")
    left_out = ["Left out: 1 row, blank sentence", "  tickets.csv, row 41: blank sentence"]
    assert others == [f"Parquet files in {tmp_path / 'out'}", *left_out]
    shell("index", tickets, "--store", tmp_path / "store")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "more.csv").write_text("text\nA parcel came late\n")
    (folder / "table.xlsx").write_bytes(b"PK")
    lines = shell("index", folder, "--store", tmp_path / "store")[0].splitlines()
    assert lines[1:] == [
        f"{tmp_path / 'store'}: 41 rows, 40 of them of other files, index exact",
        f"Passed over, of other formats: 1 file, such as {folder / 'table.xlsx'}",
    ]


def test_few_rows_are_indexed_whatever_the_index(shell, write, tmp_path):
    few = write("few.csv", "text\n" + "".join(f"row number {i}\n" for i in range(15)))
    assert "15 rows, index scann" in shell("index", few, "--store", tmp_path / "store", "--index", "scann")[0]
    assert "row number 3" in shell("search", "--store", tmp_path / "store", "--query", "row number 3", "--top", "1")[0]


def test_a_file_that_is_left_out_gives_status_1(shell, tickets, write, tmp_path):
    write("broken.parquet", "PAR1")
    out, _ = shell("index", tmp_path, "--out", tmp_path / "out", status=1)
    assert "Not indexed: " in out and "'broken.parquet' is not a readable parquet file" in out


def test_ray_that_is_not_installed_is_named(shell, tickets, monkeypatch, tmp_path):
    monkeypatch.setattr("sbert_app.bulk.indexing.find_spec", lambda name: None)
    _, err = shell("index", tickets, "--out", tmp_path / "out", "--engine", "ray", status=2)
    assert err.endswith("Install it with: pip install -r requirements-scale.txt. Or leave out --engine.\n")
