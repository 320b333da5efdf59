"""What goes into a spreadsheet cannot run: cells and headers, whatever hides before the sign; one writer for page and shell."""

import base64
import csv
import io
import re

import pandas as pd
import pytest

from sbert_app.tables import read_table
from sbert_app.tables.table import csv_file, to_csv
from sbert_app.ui.kit import html
from tests.tables.files import LIMITS

FORMULAS = [
    "=1+1", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\tx", " =1", "\u00a0=1", "\u200b=1", "\ufeff=1",
    "\u202e=1", "\x01=1",
    "＝1+1", "＋1+1", "－1+1", "＠SUM(A1)", " \u200b＝1", "﹦1", "⁺1", "−1+1", "\ufe0f=1", "=HYPERLINK(\"http://x\",\"y\")",
]  # fmt: skip
HARMLESS = ["fine, really", "a=b", "'=1", "", "-0.5", "+3", "-1,5e-3", "– a dash", "😀 =", "日本語"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe_as_a_cell_and_as_a_header(text):
    header, row = csv.reader(io.StringIO(to_csv([{text: text}]), newline=""))
    assert header == row == [f"'{text}"]


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_and_plain_numbers_stay_as_they_are(text):
    assert list(csv.reader(io.StringIO(to_csv([{"a": text, "b": -1}]), newline=""))) == [["a", "b"], [text, "-1"]]


def test_a_cell_is_whole_where_semicolons_or_tabs_part_the_columns_and_records_may_differ_in_their_keys():
    assert to_csv([{"a": "x;=1+1", "b": "x\t=1"}]) == 'a,b\r\n"x;=1+1","x\t=1"\r\n'
    assert to_csv([{"a": 1}, {"b": None, "a": True}]) == "a,b\r\n1,\r\nTrue,\r\n"


def test_a_written_file_begins_with_its_mark_and_is_read_again(write):
    text = csv_file([{"text": "=1 and ü\n", "n": 1}, {"text": "x", "n": 2}])
    assert text.startswith("\ufeff") and csv_file([]) == ""
    table = read_table(write("a.csv", text), LIMITS)
    assert table.frame.to_dict("records") == [{"text": "'=1 and ü\n", "n": "1"}, {"text": "x", "n": "2"}]


def test_the_page_offers_what_this_writer_writes():
    links = html.downloads("hits", [{"＝a": " =1"}])
    assert base64.b64decode(re.search(r'hits.csv" href="data:text/csv;charset=utf-8;base64,([^"]*)"', links)[1]).decode() == (
        "\ufeff'＝a\r\n' =1\r\n"
    )


def test_the_shell_guards_the_rows_to_keep(shell, tmp_path):
    path, clean = tmp_path / "rows.csv", tmp_path / "clean.csv"
    pd.DataFrame({"text": ["=1+1", "the same", "the same", "another"], "=n": ["-0.5", "@x", "@x", "＝1"]}).to_csv(path, index=False)
    shell("duplicates", path, "--column", "text", "--clean", clean)
    with clean.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["text", "'=n"], ["'=1+1", "-0.5"], ["the same", "'@x"], ["another", "'＝1"]]
