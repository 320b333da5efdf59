"""Which files a name stands for."""

import pytest

from sbert_app.bulk.reading import kind_of, list_files
from sbert_app.errors import UserError


def test_a_file_named_three_times_is_read_once(write, tmp_path):
    path = write("a.csv", "text\nx\n")
    (tmp_path / "link.csv").symlink_to(path)
    assert list_files([str(path), f"{tmp_path}/*.csv", str(tmp_path)]) == [path.resolve()]


def test_a_folder_is_read_with_its_folders_but_not_what_tools_leave_there(write, tmp_path):
    for name in ("b.jsonl.gz", "a.txt", "notes.pdf", "_SUCCESS.txt", ".hidden.csv"):
        write(name, "x\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "c.parquet").write_bytes(b"")
    names = [path.name for path in list_files([str(tmp_path)])]
    assert names == ["a.txt", "b.jsonl.gz", "c.parquet"]
    assert [path.name for path in list_files([f"{tmp_path}/**/*.parquet"])] == ["c.parquet"]


def test_a_name_with_the_signs_of_a_pattern_is_a_file_if_there_is_one(write):
    path = write("a[1].csv", "text\nx\n")
    assert list_files([str(path)]) == [path.resolve()]


def test_endings_are_read_in_any_case(tmp_path):
    assert [kind_of(tmp_path / name) for name in ("A.CSV", "b.jsonl.GZ", "c.xlsx", "csv")] == ["csv", "jsonl.gz", "", ""]


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
