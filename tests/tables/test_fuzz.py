"""Whatever a file holds: a table that keeps its promises, or a sentence."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables import FORMATS, Table
from sbert_app.tables.reading import read_content
from sbert_app.tables.table import to_csv
from sbert_app.wording import storable
from tests.tables.files import FILES, parquet

pytestmark = pytest.mark.fuzz

LIMITS = Limits(rows=20, columns=6, cells=60, cell_characters=2_000, unpacked_bytes=20_000)
ODD = st.sampled_from(
    ["", " ", "=1+1", "😀", "שלום", "\0", "\ud83d", '"', "\"\"", ",", ";", "\t", "|", "\r", "\n", "\u2028", "\ufeff",
     "1e999", "9" * 400, "NaN",
     "sep=", "text", "x" * 3_000, "{", "[", "</t>", "_x0000_", "#N/A"]
)  # fmt: skip
CELLS = st.one_of(ODD, st.text(max_size=20), st.lists(ODD, max_size=3).map("".join))
ROWS = st.lists(st.lists(CELLS, max_size=8), max_size=25)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), CELLS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(CELLS, inner, max_size=8)),
    max_leaves=12,
)
NAMES = st.lists(CELLS.map(storable), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "file"


def check(file, kind, data):
    """Read the bytes in this process: starting one for each would take a second."""
    file.write_bytes(data)
    try:
        table = Table.of(read_content(file, f"a.{kind}", LIMITS))
    except UserError as error:
        assert 10 < len(str(error)) < 600
        return
    cells = table.frame.to_numpy().ravel().tolist()
    assert len(table.frame) == len(table.rows) <= LIMITS.rows and table.frame.size <= LIMITS.cells
    assert np.all(np.diff(table.rows) > 0) and not {skip.row for skip in table.skipped} & set(table.rows.tolist())
    assert 0 < len(set(table.frame.columns)) == len(table.frame.columns) <= LIMITS.columns
    for text in (*cells, *table.frame.columns):
        assert type(text) is str and "\0" not in text and len(text) <= 10_000
        text.encode()
    assert all(column.strip() for column in table.frame.columns) and table.nbytes >= sum(map(len, cells))


@given(st.sampled_from(FORMATS), st.one_of(st.binary(max_size=400), CELLS.map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes(file, kind, data):
    check(file, kind, gzip.compress(data) if kind.endswith(".gz") else data)


@given(st.sampled_from(sorted(FILES)), st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=8))
def test_flipped_bytes(file, name, flips):
    data = bytearray(FILES[name] if isinstance(FILES[name], bytes) else FILES[name].encode())
    if name.endswith(".gz"):
        data = bytearray(gzip.compress(bytes(data)))
    for place, byte in flips:
        data[int(place * len(data))] = byte
    check(file, name.partition(".")[2], bytes(data))


@given(st.sampled_from(["csv", "tsv", "txt"]), ROWS, st.sampled_from(",;\t|"), st.sampled_from(["utf-8", "utf-16", "cp1252"]))
def test_any_rows(file, kind, rows, sign, codec):
    stream = io.StringIO()
    csv.writer(stream, delimiter=sign, escapechar="\\").writerows(rows)
    check(file, kind, stream.getvalue().encode(codec, "replace"))


@given(st.sampled_from(["jsonl", "json"]), st.lists(JSON, max_size=25))
def test_any_records(file, kind, records):
    lines = (json.dumps(record) + "\n" for record in records)
    check(file, kind, ("".join(lines) if kind == "jsonl" else json.dumps(records)).encode())


@given(ROWS)
def test_any_sheet(file, rows):
    import openpyxl
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = openpyxl.Workbook()
    sheet = book.active
    stream = io.BytesIO()
    for row in rows:
        try:
            sheet.append([storable(cell) for cell in row])
        except IllegalCharacterError:
            continue
    book.save(stream)
    check(file, "xlsx", stream.getvalue())


@given(NAMES, st.lists(JSON, max_size=25), st.booleans())
def test_any_parquet(file, names, values, as_bytes):
    texts = [json.dumps(value, ensure_ascii=as_bytes).encode("utf-8", "surrogatepass") for value in values]
    if as_bytes:
        columns = [pa.array(texts, pa.binary())] * len(names)
    else:
        columns = [pa.array(texts, pa.binary()).cast(pa.string(), safe=False).dictionary_encode(), pa.array([[t] for t in texts])]
        columns = (columns * len(names))[: len(names)]
    check(file, "parquet", parquet(pa.Table.from_arrays(columns, names=names)))


@given(st.lists(st.dictionaries(CELLS, st.one_of(CELLS, st.floats(), st.none()), min_size=1, max_size=4), min_size=1, max_size=6))
def test_whatever_is_written_cannot_run(records):
    csv.field_size_limit(10**6)
    for row in csv.reader(io.StringIO(to_csv(records), newline="")):
        for cell in row:
            begins = cell.lstrip()[:1]
            assert begins not in ("=", "@", "＝", "＠") and (begins not in ("+", "-") or cell[1:2].isdigit() or cell == "-inf")
