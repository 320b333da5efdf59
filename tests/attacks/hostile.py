"""More than forty small files that cost a careless reader gigabytes or hours."""

import gzip
import io
import json
import resource
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from sbert_app.settings import MEGABYTE
from tests.tables import files
from tests.tables.files import LAUGHS, STRINGS, cell, dictionary, of_xml, row

MAKING_BYTES = 4096 * MEGABYTE
STYLES = '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs>{}</cellXfs></styleSheet>'
HEAD = row(1, cell("A1", "text"), cell("B1", "n"))


def lying(data: bytes, name: bytes, size: int) -> bytes:
    """An archive whose entry `name` claims to unpack to `size` bytes, in both of its headers."""
    changed, start = bytearray(data), 0
    for mark, offset, length in ((b"PK\x03\x04", 22, 30), (b"PK\x01\x02", 24, 46)):
        start = 0
        while (start := data.find(mark, start)) >= 0:
            if data[start + length : start + length + len(name)] == name:
                changed[start + offset : start + offset + 4] = size.to_bytes(4, "little")
            start += 4
    return bytes(changed)


def parquet(columns: dict[str, object], **options: object) -> bytes:
    return files.parquet(pa.table(columns), dictionary_pagesize_limit=1024 * MEGABYTE, **options)


def packed(piece: str | bytes, megabytes: int, start: bytes = b"", end: bytes = b"") -> bytes:
    """A gzip of `piece` again and again."""
    piece = piece.encode() if isinstance(piece, str) else piece
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6) as file:
        file.write(start)
        block = piece * max(1, MEGABYTE // len(piece))
        for _ in range(megabytes):
            file.write(block)
        file.write(end)
    return stream.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "far corner.xlsx": lambda: of_xml(HEAD + row(1_048_576, cell("XFD1048576"))),
    "far column.xlsx": lambda: of_xml(HEAD + row(2, cell("XFD2"))),
    "beyond the far column.xlsx": lambda: of_xml(HEAD + row(2, cell("ZZZZZZZ2"))),
    "beyond the last row.xlsx": lambda: of_xml(HEAD + row(2_000_000_000, cell("A2000000000"))),
    "false dimension.xlsx": lambda: of_xml(HEAD + row(2, cell("A2")), before='<dimension ref="A1:XFD1048576"/>'),
    "wide rows.xlsx": lambda: of_xml(HEAD + "".join(row(i, cell(f"XFD{i}")) for i in range(2, 50_000))),
    "a million cells in a row.xlsx": lambda: of_xml(HEAD + row(2, "<c><v>1</v></c>" * 3_000_000)),
    "a million empty rows.xlsx": lambda: of_xml(HEAD + "<row/>" * 10_000_000),
    "a long row in small letters.xlsx": lambda: of_xml(HEAD + row(2, cell("A2", "x" * 90_000_000))),
    "shared strings.xlsx": lambda: of_xml(HEAD + row(2, cell("A2")), "<si><t>a</t></si>" * 5_000_000),
    "one long shared string.xlsx": lambda: of_xml(
        HEAD + "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(2, 40_000)),
        f"<si><t>{'long ' * 1_000_000}</t></si>",
    ),
    "deep xml.xlsx": lambda: of_xml(HEAD + "<a>" * 8_000_000),
    "many attributes.xlsx": lambda: of_xml(HEAD + "<row " + " ".join(f'a{i}="1"' for i in range(1_000_000)) + "/>"),
    "billion laughs.xlsx": lambda: of_xml(HEAD + row(2, cell("A2", "&j;")), prolog=LAUGHS),
    "laughing strings.xlsx": lambda: of_xml(HEAD, **{"xl/sharedStrings.xml": LAUGHS + STRINGS.format("<si><t>&j;</t></si>")}),
    "external entity.xlsx": lambda: of_xml(
        HEAD + row(2, cell("A2", "&x;")), prolog='<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    ),
    "zip bomb.xlsx": lambda: of_xml(HEAD, **{"xl/media/image1.png": "0" * (300 * MEGABYTE)}),
    "zip claims less.xlsx": lambda: lying(of_xml(HEAD + "<row/>" * 10_000_000), b"xl/worksheets/sheet1.xml", 100_000),
    "zip claims more.xlsx": lambda: lying(of_xml(HEAD), b"xl/worksheets/sheet1.xml", 4_000_000_000),
    "styles bomb.xlsx": lambda: of_xml(HEAD + row(2, cell("A2")), **{"xl/styles.xml": STYLES.format("<xf/>" * 10_000_000)}),
    **{f"newlines.{kind}.gz": lambda: packed("\n", 99) for kind in ("csv", "tsv", "txt", "json", "jsonl")},
    **{f"ones.{kind}.gz": lambda: packed("1\n", 99) for kind in ("csv", "tsv", "txt", "jsonl")},
    "ones.json.gz": lambda: packed("1,", 99, b"[", b"1]"),
    **{f"one long {what}.gz": lambda: packed("1", 99) for what in ("line.csv", "line.txt", "number.json")},
    "one long line with an emoji.txt.gz": lambda: packed("a", 99, "😀".encode()),
    "a thousand bytes to one.txt.gz": lambda: packed("\0", 300),
    "commas.csv.gz": lambda: packed(",", 99),
    "tabs.tsv.gz": lambda: packed("\t", 99),
    "a wide header.csv.gz": lambda: packed("name,", 9, b"", b"\n1\n"),
    "comma rows.csv.gz": lambda: packed(f"{',' * 199}1\n", 99, f"{'a,' * 199}b\n".encode()),
    "ragged rows.csv.gz": lambda: packed("1,2,3\n", 99, b"a,b\n1,2\n"),
    "open quote.csv": lambda: b'text,n\n"never closed,1\n' + b"row,1\n" * 1_000_000,
    "open quote.csv.gz": lambda: packed("row,1\n", 99, b'text,n\n"never closed,1\n'),
    "quotes.csv.gz": lambda: packed('"', 99, b"text,n\n"),
    "quoted line ends.csv.gz": lambda: packed('"\n', 99, b"text,n\n"),
    "quoted cells.tsv.gz": lambda: packed('"\t"\n', 99, b'"a"\t"b"\n'),
    "keys.jsonl": lambda: "".join(f"{json.dumps({f'key{i}': i})}\n" for i in range(50_000)).encode(),
    "empty objects.jsonl.gz": lambda: packed("{}\n", 50, json.dumps({f"key{i}": "" for i in range(200)}).encode() + b"\n"),
    "lists.json.gz": lambda: packed("[],", 99, b"[", b"[]]"),
    "lists.jsonl.gz": lambda: packed("[[],[]]\n", 99),
    "a line of lists.jsonl.gz": lambda: packed("[],", 9, b"[", b"[]]\n"),
    "objects.json.gz": lambda: packed('{"a":{}},', 99, b"[", b"{}]"),
    "keys of one object.json": lambda: json.dumps({f"key{i}": i for i in range(500_000)}).encode(),
    "deep lists.json": lambda: b"[" * 5_000_000,
    "deep objects.json": lambda: b'{"a":' * 1_000_000,
    "deep lines.jsonl": lambda: (b"[" * 900 + b"]" * 900 + b"\n") * 2_000,
    "one long string.json.gz": lambda: packed("a", 200, b'["', b'"]'),
    "one string.json.gz": lambda: packed("a", 90, b'["', b'"]'),
    "broken lines.jsonl.gz": lambda: packed("x\n", 99),
    "shared text.parquet": lambda: parquet({"text": dictionary("long " * 4_000, 1_000_000)}),
    "shared megabytes.parquet": lambda: parquet({"text": dictionary("long " * 2_000_000, 49_000)}),
    "shared bytes.parquet": lambda: parquet({"text": dictionary(b"x" * 1_000_000, 49_000)}),
    "lists.parquet": lambda: parquet({"text": pa.array([["a"] * 1_000] * 40_000)}),
    "long lists.parquet": lambda: parquet({"text": pa.array([["long " * 4_000]] * 5_000)}),
    "one long list.parquet": lambda: parquet({"text": pa.array([list(range(1_000_000))] * 5)}),
    "structs.parquet": lambda: parquet({"text": pa.array([{"a": {"b": "c"}}] * 40_000)}),
    "nulls.parquet": lambda: parquet({"text": pa.nulls(100_000_000)}),
    "many columns.parquet": lambda: parquet({f"c{i}": pa.array([1]) for i in range(20_000)}),
    "wide nulls.parquet": lambda: parquet({f"c{i}": pa.nulls(49_000) for i in range(200)}),
    "one long cell.parquet": lambda: parquet({"text": pa.array(["x" * 80_000_000])}, compression="gzip"),
    "foreign letters.txt.gz": lambda: packed("é".encode("cp1252"), 99),
    "carriage returns.csv.gz": lambda: packed("\r", 99),
    "wide characters.csv.gz": lambda: packed("a\n".encode("utf-16-le"), 99, b"\xff\xfe"),
    f"{'long name ' * 20}.csv": lambda: b"text\n" + b"\0" * 1_000,
}


def write_all(folder: Path) -> None:
    """Make every file, in no more than `MAKING_BYTES` of memory: a slip here must not take the machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (MAKING_BYTES, MAKING_BYTES))
    for name, make in FILES.items():
        (folder / name).write_bytes(make())
