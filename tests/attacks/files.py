"""Hostile files: each must end in seconds and a few hundred MB, with a table or a sentence, while others are answered."""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from sbert_app.errors import UserError
from sbert_app.settings import HOSTED_LIMITS, MEGABYTE, Limits
from sbert_app.tables import read_table
from tests.attacks.bound import bounded
from tests.attacks.hostile import write_all

MOST_SECONDS, MOST_MEGABYTES, MOST_SLOWDOWN = 15.0, 500.0, 2.0
SENTENCE = "A cheap sentence, encoded again and again."


@dataclass(frozen=True)
class Outcome:
    """How the reading of one file ended."""

    name: str
    seconds: float
    megabytes: float  # the peak of this process and its children, beyond what was there before
    sound: bool

    @property
    def good(self) -> bool:
        return self.sound and self.seconds <= MOST_SECONDS and self.megabytes <= MOST_MEGABYTES


def main(folder: Path) -> bool:
    """Read every file with both limits, then once more beside a similarity; print the figures."""
    maker = multiprocessing.get_context("spawn").Process(target=write_all, args=(folder,))
    maker.start()  # in a process of its own: making them takes the memory that reading them must not
    maker.join()
    if maker.exitcode:
        raise RuntimeError("the hostile files could not be made")
    paths = sorted(folder.iterdir())
    good = len(paths) >= 40
    for name, limits in (("hosted", HOSTED_LIMITS), ("local", Limits())):
        print(f"\n== {len(paths)} files, {name} limits", flush=True)
        good &= _show([_read(path, limits) for path in bounded(paths)])
    return good & _slowdown(paths)


def _read(path: Path, limits: Limits) -> Outcome:
    sound, start = True, time.perf_counter()
    with _peak() as peak:
        try:
            table = read_table(path, limits)
            message = f"{len(table.frame):,} rows, {len(table.frame.columns)} columns, {len(table.skipped):,} skipped"
            del table
        except UserError as error:
            message = str(error)
        except Exception as error:
            message, sound = f"{type(error).__name__}: {error}", False
    outcome = Outcome(path.name, time.perf_counter() - start, peak[0] / MEGABYTE, sound)
    figures = f"{outcome.seconds:6.2f} s {outcome.megabytes:6.0f} MB {path.stat().st_size / 1024:9.1f} KB"
    print(f"{' ' if outcome.good else '!'} {figures}  {path.name[:36]:36} {message[:150]}", flush=True)
    return outcome


@contextmanager
def _peak() -> Iterator[list[int]]:
    """The most bytes that this process and its children held together meanwhile, beyond what they held before."""
    process, ended = psutil.Process(), threading.Event()
    before = process.memory_info().rss
    peak = [0]

    def watch() -> None:
        while not ended.wait(0.01):
            total = process.memory_info().rss
            for child in process.children(recursive=True):
                with suppress(psutil.Error):  # it ended meanwhile
                    total += child.memory_info().rss
            peak[0] = max(peak[0], total - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def _show(outcomes: list[Outcome]) -> bool:
    slowest, largest = max(outcomes, key=lambda o: o.seconds), max(outcomes, key=lambda o: o.megabytes)
    print(f"worst: {slowest.seconds:.1f} s ({slowest.name}), {largest.megabytes:.0f} MB ({largest.name})")
    return all(outcome.good for outcome in outcomes)


def _slowdown(paths: list[Path]) -> bool:
    """How much longer one sentence takes to encode while the files are read, median against median."""
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.engine.hardware import choose_hardware
    from sbert_app.models.files.finding import checked_bundled_folder

    encoder = Encoder.from_folder(checked_bundled_folder(), choose_hardware(), "bundled")
    reading, done = threading.Event(), threading.Event()
    alone, beside = [], []

    def encode_all() -> None:
        while not done.is_set():
            start, was_reading = time.perf_counter(), reading.is_set()
            encoder.encode([SENTENCE])
            if was_reading == reading.is_set():
                (beside if was_reading else alone).append(time.perf_counter() - start)
            time.sleep(0.02)

    other = threading.Thread(target=encode_all)
    encoder.encode([SENTENCE] * 3)
    other.start()
    for path in bounded(paths):  # alternately, so that whatever else the machine does falls on both
        time.sleep(0.5)
        reading.set()
        with suppress(UserError):
            read_table(path, HOSTED_LIMITS)
        reading.clear()
    done.set()
    other.join()
    ratio = np.median(beside) / np.median(alone)
    for name, times in {"alone": alone, "beside": beside}.items():
        p50, p95 = np.quantile(times, (0.5, 0.95)) * 1e3
        print(f"one sentence {name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, {len(times)} times")
    print(f"{ratio:.2f} times as long")
    return bool(ratio <= MOST_SLOWDOWN)
