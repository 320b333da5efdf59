"""Hostile edits of a collection in a folder: what a bit that flips does not do. Checksums are made to fit afterwards.

EDITS: by name, the kind of index that it is for ("" for each) and what changes the files.
"""
# ruff: noqa: E501 - a table is easier to read in long lines

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, ROW, SENTENCE, embedding_column
from sbert_app.corpus.faiss_index import HNSW, IVF, SCANN

Edit = Callable[[Path, random.Random], None]
OBJECT, PART = "collection.json", "parts/*.arrow"


def _of(pattern: str, change: Callable[[Path], object]) -> Edit:
    """Change one of the files of this name."""

    def edit(folder: Path, chance: random.Random) -> None:
        change(chance.choice(sorted(folder.glob(pattern))))

    return edit


def _stored(*keys: str, value: Any) -> Edit:
    """Replace a value of collection.json."""

    def change(path: Path) -> None:
        content = inner = json.loads(path.read_bytes())
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value(inner[keys[-1]]) if callable(value) else value
        path.write_text(json.dumps(content))

    return _of(OBJECT, change)


def _whole(name: str, data: bytes) -> Edit:
    return _of(name, lambda path: path.write_bytes(data))


def _instead(name: str, make: Callable[[Path], object]) -> Edit:
    return _of(name, lambda path: (path.unlink(), make(path)))


def _array(name: str, change: Callable[[np.ndarray], Any]) -> Edit:
    return _of(f"{name}-*.npy", lambda path: np.save(path, change(np.load(path)), allow_pickle=True))


def _table(change: Callable[[pa.Table], pa.Table], **options: Any) -> Edit:
    """Write a part again as another table."""

    def write(path: Path) -> None:
        table, how = change(pa.ipc.open_file(path).read_all()), pa.ipc.IpcWriteOptions(**options)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=how) as out:
            out.write_table(table)

    return _of(PART, write)


def _column(name: str, change: Callable[[pa.Table], Any]) -> Edit:
    def changed(table: pa.Table) -> pa.Table:
        number = table.schema.get_field_index(name)
        return table.set_column(number, table.schema.field(name), change(table))

    return _table(changed)


def _buffer(column: str, number: int, change: Callable[[np.ndarray], None], kind: type) -> Edit:
    """Overwrite a buffer of a column in the file itself: what Arrow would never write."""

    def overwrite(path: Path) -> None:
        data = path.read_bytes()
        chunk = pa.ipc.open_file(pa.BufferReader(data)).read_all().column(column).chunk(0)
        content = chunk.buffers()[number].to_pybytes()
        values = np.frombuffer(content, dtype=kind).copy()
        change(values)
        path.write_bytes(data.replace(content, values.tobytes(), 1))

    return _of(PART, overwrite)


def _index(change: Callable[[Any], Any]) -> Edit:
    def write(path: Path) -> None:
        index = faiss.read_index(str(path))
        faiss.write_index(change(index) or index, str(path))

    return _of("index-*.faiss", write)


def _of_hnsw(name: str, value: int, places: slice) -> Edit:
    """Overwrite numbers of a graph."""

    def change(index: Any) -> None:
        values = faiss.vector_to_array(getattr(index.hnsw, name))
        values[places] = value
        faiss.copy_array_to_vector(values, getattr(index.hnsw, name))

    return _index(change)


def _set(name: str, value: Any, inner: str = "") -> Edit:
    return _index(lambda index: setattr(getattr(index, inner) if inner else index, name, value))


def _list_ids(value: int) -> Edit:
    def change(index: Any) -> None:
        lists = index.invlists
        for number in range(index.nlist):
            if size := lists.list_size(number):
                ids = faiss.rev_swig_ptr(lists.get_ids(number), size)
                ids[:] = value

    return _index(change)


def _offset(place: int, value: int) -> Edit:
    """Overwrite where a sentence begins."""
    return _buffer(SENTENCE, 1, lambda values: values.__setitem__(place, value), np.int32)


def _nan(table: pa.Table) -> Any:
    vectors = np.full((len(table), table.schema.field(EMBEDDING).type.list_size), np.nan, dtype=np.float32)
    return embedding_column(vectors)


def _bomb(table: pa.Table) -> pa.Table:
    return table.set_column(1, table.schema.field(1), pa.array(["a" * 4_000_000] * len(table), pa.string()))


BIG = 10**30
EDITS: dict[str, tuple[str, Edit]] = {
    **{f"{OBJECT} is {name}": ("", _whole(OBJECT, data)) for name, data in {
        "empty": b"", "null": b"null", "a list": b"[]", "nested": b"[" * 200_000, "no text": b"\xff\xfe{}", "a number": b"1" * 5_000,
        "an empty object": b"{}",
    }.items()},
    **{f"{'.'.join(keys)} is {str(value)[:20]}": ("", _stored(*keys, value=value)) for keys, value in [
        (("facts", "columns"), "team"), (("facts", "columns"), [1, None]), (("facts", "columns"), []), (("facts", "columns"), None),
        (("facts", "dim"), BIG), (("facts", "dim"), 0), (("facts", "dim"), -1), (("facts", "dim"), 33), (("facts", "dim"), "32"),
        (("facts", "dim"), 1e308), (("facts", "dim"), True), (("facts", "scales"), {"day": "nothing"}), (("facts", "scales"), []),
        (("facts", "scales"), {"nowhere": "numbers"}), (("facts", "files"), []), (("facts", "files"), "ab"), (("facts", "index"), "x"),
        (("facts", "index"), IVF), (("facts", "index"), HNSW), (("facts", "index"), ["exact"]), (("facts", "recall"), "x"),
        (("facts", "recall"), float("nan")), (("facts", "recall_queries"), -1), (("facts", "model"), None), (("facts", "model"), {}),
        (("facts", "sentence"), "\ud800"), (("facts",), None), (("facts",), []), (("parts",), []), (("parts",), None), (("parts",), 3),
        (("parts",), ["../../../../etc/passwd"]), (("parts",), [None]), (("parts",), {}), (("generation",), -1), (("generation",), BIG),
        (("generation",), None), (("rows",), 0), (("rows",), BIG), (("rows",), "x"), (("reads",), [-1, -1]), (("reads",), [BIG, BIG]),
        (("reads",), [10**9, 10**9]), (("reads",), [1]), (("reads",), "ab"), (("files",), {}), (("files",), None), (("format",), 99),
        (("files",), {"/dev/zero": "00000000"}),
    ]},
    "parts twice": ("", _stored("parts", value=lambda names: names * 2)),
    "parts reversed": ("", _stored("parts", value=lambda names: names[::-1])),
    "a part less": ("", _stored("parts", value=lambda names: names[1:])),
    **{f"a device as {name}": ("", _instead(name, lambda path: path.symlink_to("/dev/zero"))) for name in (OBJECT, "parts/*.arrow", "ids-*", "index-*")},
    **{f"a pipe as {name}": ("", _instead(name, os.mkfifo)) for name in (OBJECT, "parts/*.arrow", "places-*", "index-*")},
    **{f"{name}: {how}": ("", _array(name, change)) for name in ("ids", "places") for how, change in {
        "reversed": lambda values: values[::-1], "swapped": np.random.default_rng(0).permutation, "all one": lambda values: values * 0 + 5, "floats": np.float64,
        "two-dimensional": lambda values: values[:, None], "objects": lambda values: values.astype(object), "short": lambda v: v[:-1],
        "negative": lambda values: values - 500, "beyond": lambda values: values + 10**6, "huge": lambda values: values + 2**62,
        "other ends": lambda values: values.byteswap().view(values.dtype.newbyteorder()), "none": lambda values: values[:0],
        "by one": lambda values: values + 1,
    }.items()},
    **{f"parts: {how}": ("", _table(change)) for how, change in {
        "other columns": lambda table: table.drop_columns([SENTENCE]), "renamed": lambda table: table.rename_columns(["x", *table.column_names[1:]]),
        "no rows": lambda table: table.slice(0, 0), "a row less": lambda table: table.slice(1), "in another order": lambda table: table.take(
            pa.array(np.arange(len(table))[::-1])),
        "dictionaries": lambda table: table.set_column(1, SENTENCE, table.column(SENTENCE).dictionary_encode()),
    }.items()},
    "parts: compressed": ("", _table(lambda table: table, compression="zstd")),
    "parts: a bomb": ("", _table(lambda table: _bomb(table.slice(0, 500)), compression="zstd")),
    "parts: empty cells": ("", _column(SENTENCE, lambda table: pa.array([None] * len(table), pa.string()))),
    "parts: empty ids": ("", _column(ROW, lambda table: pa.array([None] * len(table), pa.int64()))),
    "parts: no numbers": ("", _column(EMBEDDING, _nan)),
    "parts: an offset beyond": ("", _offset(5, 1_000_000)),
    "parts: the last offset beyond": ("", _offset(-1, 2**31 - 1)),
    "parts: a negative offset": ("", _offset(3, -7)),
    "parts: decreasing offsets": ("", _buffer(SENTENCE, 1, lambda values: values.sort() or values.__setitem__(slice(None), values[::-1].copy()), np.int32)),
    "parts: no UTF-8": ("", _buffer(SENTENCE, 2, lambda values: values.fill(0xFF), np.uint8)),
    **{f"{name} is {how}": ("", _whole(name, data)) for name in ("parts/*.arrow", "index-*", "places-*") for how, data in {
        "empty": b"", "zeros": bytes(5_000), "a zip": b"PK\x03\x04" + bytes(500), "ARROW1": b"ARROW1\0\0" + b"\xff" * 400,
    }.items()},
    "the index of others": ("", _index(lambda index: faiss.IndexFlatIP(32))),
    "an index in an index": ("", _index(lambda index: faiss.IndexIDMap(faiss.IndexFlatIP(32)))),
    "an index of one dimension": ("", _index(lambda index: faiss.IndexScalarQuantizer(1, faiss.ScalarQuantizer.QT_fp16))),
    "another measure": ("", _set("metric_type", faiss.METRIC_L2)),
    "an index of more rows": ("", _set("ntotal", 10**9)),
    "an index of no rows": ("", _index(lambda index: index.reset())),
    **{f"lists name row {row}": (kind, _list_ids(row)) for kind in (IVF, SCANN) for row in (-5, 10**6, 2**62, 7)},
    "more lists": (IVF, _set("nlist", 10**8)),
    "many lists read": (IVF, _set("nprobe", 10**15)),
    "an odd way to search": (SCANN, _set("implem", 77)),
    "blocks of 7": (SCANN, _set("bbs", 7)),
    "more pieces of a code": (SCANN, _set("M2", 4_096)),
    "numbers of 8 bits": (SCANN, _set("nbits", 8, "pq")),
    "neighbours beyond": (HNSW, _of_hnsw("neighbors", 10**8, slice(0, 200))),
    "negative neighbours": (HNSW, _of_hnsw("neighbors", -77, slice(0, 200))),
    "levels beyond": (HNSW, _of_hnsw("levels", 10**6, slice(0, 50))),
    "offsets beyond": (HNSW, _of_hnsw("offsets", 2**40, slice(1, 50))),
    "neighbours per level": (HNSW, _of_hnsw("cum_nneighbor_per_level", 10**6, slice(1, 3))),
    "an entry beyond": (HNSW, _set("entry_point", 10**8, "hnsw")),
    "a level beyond": (HNSW, _set("max_level", 10**6, "hnsw")),
    "wide searches": (HNSW, _set("efSearch", 2**31 - 1, "hnsw")),
}  # fmt: skip
