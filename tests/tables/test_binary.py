"""Parquet and xlsx: what they hold, claim and hide. (What is refused: test_reading.)"""

import io

import openpyxl
import pandas as pd

from tests.tables.files import FRAME, HOSTED, parquet, workbook, xlsx


def test_sheets_with_the_same_columns_are_read_as_one_and_others_are_named(read_here):
    june, notes = FRAME.assign(**{"": ["", "beside the table", ""]}), pd.DataFrame({"Note": ["Both months are whole"]})
    table = read_here("a.xlsx", xlsx(FRAME, Notes=notes, June=june, Blank=pd.DataFrame()))
    assert table.notes == (
        "Read the sheets 'Sheet1', 'June', whose columns are the same, as one table, rows counted on; its column 'sheet' says "
        "which. Not read: Notes, Blank.",
    )
    assert table.frame["sheet"].tolist() == ["Sheet1"] * len(FRAME) + ["June"] * len(FRAME)
    assert table.rows.tolist() == [*range(1, 1 + 2 * len(FRAME))]
    first = FRAME.columns[0]
    assert table.frame[first].tolist() == 2 * FRAME[first].tolist() and table.frame.iloc[len(FRAME) + 1, -1] == "beside the table"


def test_a_first_sheet_with_a_remark_alone_is_passed_over(read_here):
    note, data = pd.DataFrame({"Note": ["From the shop, 2026"]}), pd.DataFrame({"text": [f"row {i}" for i in range(12)]})
    table = read_here("a.xlsx", xlsx(note, Data=data))
    assert table.frame["text"].tolist()[:2] == ["row 0", "row 1"] and table.notes == ("Read the sheet 'Data'. Not read: Sheet1.",)


def test_a_title_above_the_header_is_left_out(read_here):
    cells = {"A1": "Survey 2026", "A3": "id", "B3": "day", "C3": "answer", "A4": "1", "B4": "Monday", "C4": "good"}
    table = read_here("a.xlsx", workbook(cells | {"A5": "2", "C5": "bad"}))
    assert [*table.frame.columns] == ["id", "day", "answer"] and table.rows.tolist() == [1, 2]
    assert table.frame.to_numpy().tolist() == [["1", "Monday", "good"], ["2", "", "bad"]]
    assert table.notes == ("1 row above the header left out.",)


def test_the_zeros_that_a_format_shows_are_there(read_here):
    book, stream = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    for row in (["text", "ean", "count"], ["pan", 123456789, 7], ["lid", 4006381333931.0, 8]):
        sheet.append(row)
    for cell in sheet["B"]:
        cell.number_format = "0" * 13
    book.save(stream)
    table = read_here("a.xlsx", stream.getvalue())
    assert table.frame["ean"].tolist() == ["0000123456789", "4006381333931"] and table.frame["count"].tolist() == ["7", "8"]


def test_a_false_dimension_is_not_believed(read_here):
    book = workbook({"A1": "text", "A2": "first"}, '<dimension ref="A1:XFD1048576"/>')
    assert read_here("a.xlsx", book, HOSTED).frame.to_dict("records") == [{"text": "first"}]


def test_a_sheet_is_read_as_it_looks(read_here):
    frame = pd.DataFrame({"text": ["a", None, "b", None], "n": [1.0, 0.5, None, None], "on": [True, None, False, None]})
    frame["day"] = pd.to_datetime(["2024-01-02", None, None, None])
    assert read_here("a.xlsx", xlsx(frame)).frame.to_numpy().tolist() == [
        ["a", "1", "True", "2024-01-02"], ["", "0.5", "", ""], ["b", "", "False", ""],
    ]  # fmt: skip


def test_lists_structs_and_bytes_of_a_parquet_file_become_text(read_here):
    days = pd.to_datetime(["2024-01-02", None])
    columns = {"list": [["a", "b"], []], "struct": [{"x": 1}, None], "bytes": ["ü".encode(), b"\xff\x00"], "day": days}
    cells = read_here("a.parquet", parquet(pd.DataFrame(columns))).frame.to_numpy().tolist()
    assert cells == [['["a", "b"]', '{"x": 1}', "ü", "2024-01-02"], ["[]", "", "\ufffd", ""]]
