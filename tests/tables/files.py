"""One small table in every format."""

import io
import json

import pandas as pd

from sbert_app.settings import Limits

LIMITS = Limits()
ROWS = [
    {"text": "first, with comma", "team": "A"},
    {"text": 'second "quoted"', "team": ""},
    {"text": "dritte Zeile ü 😀", "team": "B"},
]


def parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def xlsx(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_excel(stream, index=False)
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
