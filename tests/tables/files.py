"""One small table in every format."""

import io
import json
import re
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sbert_app.settings import HOSTED_LIMITS, Limits

LIMITS = Limits()
HOSTED = replace(HOSTED_LIMITS, reading_seconds=600)  # a busy machine fails no test
ROWS = [
    {"text": "first, with comma", "team": "A"},
    {"text": 'second "quoted"', "team": ""},
    {"text": "dritte Zeile ü 😀", "team": "B"},
]


def parquet(table: pd.DataFrame | pa.Table, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table, stream, **options)
    return stream.getvalue()


def dictionary(text: str | bytes, rows: int) -> pa.DictionaryArray:
    """A text that so many rows share, held once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def xlsx(frame: pd.DataFrame, **more: pd.DataFrame) -> bytes:
    """A workbook with this sheet and more, by their titles."""
    with pd.ExcelWriter(stream := io.BytesIO()) as book:
        for title, sheet in {"Sheet1": frame, **more}.items():
            sheet.to_excel(book, sheet_name=title, index=False)
    return stream.getvalue()


FRAME = pd.DataFrame(ROWS)
FILES = {
    "a.csv": FRAME.to_csv(index=False),
    "a.csv.gz": FRAME.to_csv(index=False),
    "semicolon.csv": FRAME.to_csv(index=False, sep=";"),
    "bom.csv": "\ufeff" + FRAME.to_csv(index=False),
    "utf16.csv": FRAME.to_csv(index=False).encode("utf-16"),
    "a.tsv": "text\tteam\nfirst, with comma\tA\nsecond \"quoted\"\t\ndritte Zeile ü 😀\tB\n",
    "quoted.tsv": '"text"\t"team"\n"first, with comma"\t"A"\n"second ""quoted"""\t""\n"dritte Zeile ü 😀"\t"B"\n',
    "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "a.jsonl.gz": "".join(json.dumps(row) + "\n" for row in ROWS),
    "a.json": json.dumps(ROWS),
    "wrapped.json": json.dumps({"data": ROWS}),
    "a.parquet": parquet(FRAME),
    "a.xlsx": xlsx(FRAME),
}  # fmt: skip


SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}<sheetData>{}</sheetData></worksheet>'
STRINGS = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</sst>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "{}">{}]>'.format(
    "lol" * 10, "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
)  # a billion of them is &j;


def cell(place: str, text: str = "x") -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def row(number: object, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def of_xml(rows: str, strings: str = "", before: str = "", prolog: str = "", **parts: str) -> bytes:
    """An .xlsx with the rows' XML. before: XML between the sheet's start and its rows; parts: other files by name."""
    sheet = {"xl/worksheets/sheet1.xml": prolog + SHEET.format(before, rows), "xl/sharedStrings.xml": STRINGS.format(strings)}
    plain, stream = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(plain)
    with zipfile.ZipFile(plain) as empty, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ({name: empty.read(name) for name in empty.namelist()} | sheet | parts).items():
            archive.writestr(name, text)
    return stream.getvalue()


def workbook(cells: dict[str, str], before: str = "", prolog: str = "") -> bytes:
    """An .xlsx with the texts at their places, rows in order."""
    rows: dict[str, list[str]] = {}
    for place, text in cells.items():
        rows.setdefault(re.sub(r"\D", "", place), []).append(cell(place, text))
    return of_xml("".join(row(number, *each) for number, each in rows.items()), before=before, prolog=prolog)
