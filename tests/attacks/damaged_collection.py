"""Damage a collection in a folder and use it: `python -m tests.attacks damaged_collection`.

Single bits are flipped, in every second case with all checksums made to fit again; hostile edits always have fitting checksums.
Each case is opened, searched, read and every third time written on in a child process. A fault is: a child that a signal ends, a
traceback, much memory or time, and rows that are none of the collection. Where checksums were not made to fit, the answer must be
that of the whole collection, or a sentence.
"""

import json
import logging
import os
import random
import resource
import shutil
import signal
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, ROW, embeddings_of
from sbert_app.collections.folder import FolderCollection
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN
from sbert_app.errors import UserError
from sbert_app.storage import SEAL, checksum, seal
from tests.attacks.bound import bounded
from tests.attacks.collection_edits import EDITS
from tests.collections.made import FACTS, clustered, rows
from tests.damaging import flip

FLIPS = 2_000
KINDS = (EXACT, IVF, HNSW, SCANN)
QUERIES = clustered(8, seed=99)
FILTERS: tuple[dict[str, Any] | None, ...] = (None, {"team": "Zürich"}, {"amount": {"from": 10, "to": 100}})
CASE_SECONDS, HANGING_SECONDS = 20, 120  # of a processor, and by the clock: the machine may be busy
MOST_MEGABYTES = 400  # that a child may take more than its parent
ADDRESS_SPACE = 16 << 30  # of a child, so that a wild allocation harms nobody else
REPORT_SECONDS = 10
SAME, SENTENCE, OTHER = "same answer", "a sentence", "other content with fitting checksums"
FAULTS = ("KILLED", "TRACEBACK", "SLOW", "MEMORY", "WRONG ROWS")

Answer = list[tuple[np.ndarray, np.ndarray]]
Damage = Callable[[Path, random.Random], None]


@dataclass(frozen=True)
class Case:
    """One damage of a copy of a collection. reseal: whether checksums are made to fit afterwards."""

    kind: str
    name: str
    damage: Damage
    reseal: bool


def build(folder: Path, kind: str) -> None:
    """Four parts of two files; some rows written twice, some taken out."""
    collection = FolderCollection.create(folder, FACTS)
    written_twice = rows(range(50, 90), seed=3, note="New: ")
    for part in (rows(range(1, 301)), rows(range(301, 601)), rows(range(1, 301), file=1), written_twice):
        collection.upsert(part)
    collection.trim(0, 580)
    collection.finish(replace(FACTS, index=kind))
    collection.close()


def answer(folder: Path, write: bool = False) -> Answer:
    """What is found, in all ways to read; write: also after a row was added."""
    collection = FolderCollection.open(folder)
    found = [collection.search(QUERIES, 10, filters) for filters in FILTERS]
    if write:
        collection.upsert(rows([700], file=1))
        collection.finish(collection.facts)
        found.append(collection.search(QUERIES, 10))
    held = content(folder)
    ids = collection.sample(10_000)
    if not np.array_equal(np.concatenate([table.column(ROW).to_numpy() for table in collection.scan(170)]), ids):
        raise WrongError("a scan gives other rows than a sample")
    for scores, hits in (*found, (None, ids[None])):
        _check(collection.fetch(hits.ravel()[hits.ravel() >= 0].tolist()), held, scores, hits)
    collection.close()
    return found


class WrongError(Exception):
    """Rows that are none of the collection, or not what it says of them."""


def content(folder: Path) -> dict[int, list[tuple[Any, ...]]]:
    """What the files hold under each id, read without the app: cells and embedding."""
    held: dict[int, list[tuple[Any, ...]]] = {}
    for name in json.loads((folder / "collection.json").read_bytes())["parts"]:
        batch = pa.ipc.open_stream((folder / "parts" / name).read_bytes()[8:]).read_next_batch()  # a part is one
        table = pa.Table.from_batches([batch])  # the footer says the same again
        for row, vector in zip(table.drop_columns([EMBEDDING]).to_pylist(), embeddings_of(table), strict=True):
            held.setdefault(row[ROW], []).append((tuple(row.values()), vector))
    return held


def _check(table: pa.Table, held: dict[int, list[tuple[Any, ...]]], scores: np.ndarray | None, hits: np.ndarray) -> None:
    """Raise WrongError unless each row is one of the files', each hit of a query another, with its cosine, best first."""
    cells = [tuple(row.values()) for row in table.drop_columns([EMBEDDING]).to_pylist()]
    for row in cells:
        if row not in [own for own, _ in held.get(row[0], ())]:
            raise WrongError(f"row {row[0]} is not what the files hold")
    for number, query in enumerate(hits):
        valid = query[query >= 0].tolist()
        if len(set(valid)) != len(valid):
            raise WrongError("a row is found twice")
        if scores is not None:
            if (np.diff(scores[number]) > 1e-6).any():
                raise WrongError("hits are out of order")
            for row, score in zip(valid, scores[number], strict=False):
                if min(abs(np.clip(vector @ QUERIES[number], -1, 1) - score) for _, vector in held[row]) > 1e-3:
                    raise WrongError(f"row {row} has another cosine")


def flip_any(folder: Path, chance: random.Random) -> None:
    """Flip one bit of one file, small files as often as large ones."""
    path = chance.choice(sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size))
    flip(path, chance.random(), chance.randrange(8))


def make_fit(folder: Path) -> None:
    """Give every file the checksum of what it holds now, where collection.json can be read."""
    if not all(path.is_file() or path.is_dir() for path in folder.rglob("*")):  # a device has no end
        return
    try:
        stored = json.loads((folder / "collection.json").read_bytes())
        lines = [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines() if line]
        parts = {name: _part_name(folder, name) for name in stored["parts"]}
        stored["parts"] = [parts[name] for name in stored["parts"]]
        stored["files"] = {name: checksum(folder / name) for name in stored["files"] if (folder / name).is_file()}
        for entry in (stored, *lines):
            entry.pop(SEAL, None)
            if "part" in entry:
                entry["part"] = parts.get(entry["part"], entry["part"])
    except (ValueError, TypeError, KeyError, OSError, AttributeError, RecursionError):
        return
    for old, new in parts.items():
        if (folder / "parts" / old).exists():
            (folder / "parts" / old).rename(folder / "parts" / new)
    (folder / "collection.json").write_text(seal(stored))
    (folder / "log.jsonl").write_text("".join(f"{seal(entry)}\n" for entry in lines))


def _part_name(folder: Path, name: str) -> str:
    path = folder / "parts" / name
    return f"{name[:24]}-{zlib.crc32(path.read_bytes()):08x}.arrow" if len(name) == 39 and path.is_file() else name


def outcome(case: Case, folder: Path, write: bool, whole: Answer) -> str:
    """In the child: use a damaged collection. A sentence, or what is wrong."""
    try:
        found = answer(folder, write)
    except UserError as error:
        return SENTENCE if str(error).count("\n") == 0 and "Traceback" not in str(error) else f"TRACEBACK: {error}"
    except WrongError as error:
        return f"WRONG ROWS: {error}"
    except BaseException:
        return "TRACEBACK: " + traceback.format_exc()[-1500:]
    same = all(np.array_equal(a[1], b[1]) and np.allclose(a[0], b[0], atol=1e-4) for a, b in zip(found, whole, strict=False))
    if not same and not case.reseal:
        return "WRONG ROWS: another answer than that of the whole collection"
    return SAME if same else OTHER


def in_child(function: Callable[[], str]) -> str:
    """What a forked process returns, or how it ended."""
    before, (reader, writer) = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(HANGING_SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (CASE_SECONDS, CASE_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            os.write(writer, function().encode()[:4_000])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        word = "SLOW" if number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL) else "KILLED"
        return f"{word}: {signal.Signals(number).name}"
    if usage.ru_maxrss - before > MOST_MEGABYTES * 1024:
        return f"MEMORY: {usage.ru_maxrss // 1024} MB"
    return text or "KILLED: no answer"


def cases(flips: int, edits: int) -> Iterator[Case]:
    for number in range(flips):
        yield Case(KINDS[number % 4], "a flipped bit", flip_any, reseal=number // 4 % 2 == 1)
    names = list(EDITS)
    for number in range(edits):
        name = names[number % len(names)]
        kind, edit = EDITS[name]
        yield Case(kind or KINDS[number // len(names) % 4], name, edit, reseal=True)


def attack(root: Path, flips: int, edits: int, out: Callable[[str], None]) -> Counter[str]:
    """The number of cases by outcome; faults are printed as they are found, the counts every ten seconds."""
    faiss.omp_set_num_threads(1)  # a forked child has no other threads
    logging.disable(logging.ERROR)
    counts: Counter[str] = Counter()
    total, last = flips + edits, time.monotonic()
    whole = {}
    for kind in KINDS:
        build(root / kind, kind)
        shutil.copytree(root / kind, root / "work")
        whole[kind] = answer(root / "work", write=True)
        shutil.rmtree(root / "work")
    for number, case in enumerate(bounded(cases(flips, edits))):
        chance = random.Random(number)
        shutil.copytree(root / case.kind, root / "work")
        case.damage(root / "work", chance)
        if case.reseal:
            make_fit(root / "work")
        result = in_child(lambda case=case, write=number % 3 == 0: outcome(case, root / "work", write, whole[case.kind]))  # type: ignore[misc]
        counts[result.split(":")[0]] += 1
        if result.split(":")[0] in FAULTS:
            out(f"case {number} ({case.kind}, {case.name}{', checksums fit' if case.reseal else ''}): {result}")
        shutil.rmtree(root / "work")
        if time.monotonic() - last > REPORT_SECONDS:
            last = time.monotonic()
            out(f"{number + 1:,} of {total:,} cases: {dict(counts)}")
    logging.disable(logging.NOTSET)
    return counts


def main(folder: Path, times: int = FLIPS) -> bool:
    """So many flips, and a hostile edit for each ten: whether there is no fault."""
    counts = attack(folder, times, times // 10, partial(print, flush=True))
    print(f"{sum(counts.values()):,} cases: {dict(counts)}", flush=True)
    return not any(counts[fault] for fault in FAULTS)
