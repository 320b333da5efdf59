"""Parquet and xlsx: what they hold, claim and hide."""

import zipfile
from dataclasses import replace

import pandas as pd
import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import read_table
from tests.tables.files import FRAME, LIMITS, parquet, xlsx


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
