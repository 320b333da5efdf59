"""Parquet and xlsx: what they hold, claim and hide."""

import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import read_table
from tests.tables.files import FRAME, HOSTED, LIMITS, parquet, workbook, xlsx


def test_later_sheets_are_mentioned(write, tmp_path):
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        FRAME.to_excel(book, sheet_name="Tickets", index=False)
        FRAME.to_excel(book, sheet_name="Other", index=False)
    assert read_table(tmp_path / "two.xlsx", LIMITS).notes == ("Read the first of 2 sheets, 'Tickets'.",)


def test_a_zip_bomb_in_a_workbook_is_refused_before_it_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (3 * MEGABYTE))
    with pytest.raises(UserError, match="'bomb.xlsx' unpacks to 3 MB, the limit is 2 MB"):
        read_table(tmp_path / "bomb.xlsx", replace(LIMITS, unpacked_bytes=2 * MEGABYTE))


@pytest.mark.parametrize("name", ["a.parquet", "a.xlsx"])
def test_one_long_text_named_a_thousand_times_is_refused(name, write):
    shared = pd.DataFrame({"text": ["long " * 4_000] * 1_000, "n": range(1_000)})
    path = write(name, {"a.parquet": parquet, "a.xlsx": xlsx}[name](shared))
    assert path.stat().st_size < MEGABYTE
    with pytest.raises(UserError, match=f"'{name}' unpacks to 19 MB, the limit is 10 MB"):
        read_table(path, replace(LIMITS, unpacked_bytes=10 * MEGABYTE))


def test_one_cell_at_the_far_corner_is_counted_and_not_filled_up_to(tmp_path):
    book = workbook({"A1": "text", "A2": "first", "XFD1048576": "far"}, tmp_path / "far.xlsx")
    with pytest.raises(UserError, match=r"'far.xlsx' has (more than )?[\d,]+ rows, the limit is 50,000"):
        read_table(book, HOSTED)


def test_a_false_dimension_is_not_believed(tmp_path):
    book = workbook({"A1": "text", "A2": "first"}, tmp_path / "false.xlsx", '<dimension ref="A1:XFD1048576"/>')
    assert read_table(book, HOSTED).frame.to_dict("records") == [{"text": "first"}]


def test_entities_of_a_workbook_are_not_expanded(tmp_path):
    laughs = (
        '<!DOCTYPE x [<!ENTITY a "lol">' + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)) + "]>"
    )
    with pytest.raises(UserError, match="is not a readable .xlsx workbook"):
        read_table(workbook({"A1": "text", "A2": "&j;"}, tmp_path / "laughs.xlsx", prolog=laughs), HOSTED)


def test_a_tag_of_megabytes_is_refused_before_it_is_parsed(tmp_path):
    tag = "<cols " + " ".join(f'a{i}="1"' for i in range(300_000)) + "/>"
    with pytest.raises(UserError, match="is not a readable .xlsx workbook"):
        read_table(workbook({"A1": "text", "A2": "first"}, tmp_path / "tags.xlsx", tag), LIMITS)


def test_a_sheet_is_read_as_it_looks(write):
    frame = pd.DataFrame({"text": ["a", None, "b", None], "n": [1.0, 0.5, None, None], "on": [True, None, False, None]})
    frame["day"] = pd.to_datetime(["2024-01-02", None, None, None])
    table = read_table(write("a.xlsx", xlsx(frame)), LIMITS)
    assert table.frame.to_numpy().tolist() == [
        ["a", "1", "True", "2024-01-02 00:00:00"],
        ["", "0.5", "", ""],
        ["b", "", "False", ""],
    ]


def test_lists_structs_and_bytes_of_a_parquet_file_become_text(write):
    frame = pd.DataFrame(
        {
            "list": [["a", "b"], []],
            "struct": [{"x": 1}, None],
            "bytes": ["ü".encode(), b"\xff\x00"],
            "day": pd.to_datetime(["2024-01-02", None]),
        }
    )
    table = read_table(write("a.parquet", parquet(frame)), LIMITS)
    assert table.frame.to_numpy().tolist() == [['["a", "b"]', '{"x": 1}', "ü", "2024-01-02 00:00:00"], ["[]", "", "\ufffd", ""]]


def test_a_text_that_a_million_rows_share_is_measured_before_it_is_repeated(tmp_path):
    shared = pa.DictionaryArray.from_arrays(pa.array(np.zeros(40_000, np.int32)), pa.array(["long " * 2_000]))
    pq.write_table(pa.table({"text": shared}), tmp_path / "shared.parquet")
    with pytest.raises(UserError, match="'shared.parquet' unpacks to 381 MB, the limit is 100 MB"):
        read_table(tmp_path / "shared.parquet", HOSTED)


def test_thousands_of_columns_are_counted_at_once(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({f"c{i}": pa.array([1]) for i in range(20_000)}), path)
    with pytest.raises(UserError, match="has 20,000 columns, the limit is 200"):
        read_table(path, replace(LIMITS, reading_seconds=12))
