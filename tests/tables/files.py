"""One small table in every format."""

import io
import json
import re
import zipfile
from dataclasses import replace

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


def parquet(table: pd.DataFrame | pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table, stream)
    return stream.getvalue()


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


def workbook(cells: dict[str, str], before: str = "", prolog: str = "") -> bytes:
    """An .xlsx with the texts at their places, rows in order. before: XML ahead of the rows; prolog: ahead of the sheet."""
    rows: dict[str, str] = {}
    for place, text in cells.items():
        number = re.sub(r"\D", "", place)
        rows[number] = rows.get(number, "") + f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'
    data = "".join(f'<row r="{number}">{row}</row>' for number, row in rows.items())
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(xlsx(pd.DataFrame({"a": ["b"]})))) as plain, zipfile.ZipFile(stream, "w") as archive:
        for entry in plain.namelist():
            text = plain.read(entry).decode()
            if entry == "xl/worksheets/sheet1.xml":
                text = re.sub(r"<sheetData>.*</sheetData>", f"<sheetData>{data}</sheetData>", text)
                text = prolog + re.sub(r"<dimension[^>]*>", before, text)
            archive.writestr(entry, text)
    return stream.getvalue()
