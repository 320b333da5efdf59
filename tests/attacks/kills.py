"""Kill the app at random moments and start it again: `python -m tests.attacks kills`.

A child process indexes, saves, trains, caches and deletes over one home, in a loop, and reports what it has brought to an end.
It is killed with SIGKILL; then this process opens the home and checks: nothing reported as saved is lost, nothing reported as
deleted is back, nothing listed is damaged, and the run in progress can be resumed; every few kills it is trained to its end.
"""

import logging
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sbert_app.errors import UserError
from sbert_app.jobs.corpus.opening import delete_saved, open_saved
from sbert_app.jobs.fine_tune import running
from sbert_app.runs.records import DAMAGED, FINISHED, INTERRUPTED
from sbert_app.runtime.workbench import Workbench
from tests.attacks.bound import bounded
from tests.attacks.small_home import BASE, SENTENCES, build, checkpoints_at_once, index, plan, resumed, settings, training_data

STARTER = multiprocessing.get_context("forkserver")  # it imports everything once: a child starts in milliseconds
STARTER.set_forkserver_preload(["tests.attacks.kills"])
KILLS = 110
LONGEST_SECONDS = 1.5  # between the child's first report and its end
FINISH_EVERY = 5  # kills between two runs that are trained to their end
MOST = 6  # corpora and runs that the child keeps


# The child


class Reports:
    """Lines that outlive the process that wrote them, such as "+corpus ID" for one that is saved."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, what: str, name: str = "") -> None:
        with self.path.open("a") as file:
            file.write(f"{what} {name}\n")

    def take(self) -> list[str]:
        lines = self.path.read_text().split("\n")[:-1] if self.path.exists() else []
        self.path.unlink(missing_ok=True)
        return lines


def child(home: Path, reports: Reports, seed: int) -> None:
    """Use the home until killed."""
    logging.disable(logging.ERROR)
    bench = Workbench(settings(home))
    choice = np.random.default_rng(seed)
    bench.device.encode(bench.registry.encoder(BASE), ["warm"])
    reports.add("ready")
    while True:
        corpora(bench, reports, choice)
        runs(bench, reports)


def corpora(bench: Workbench, reports: Reports, choice: np.random.Generator) -> None:
    """Index and save a new corpus; delete the oldest where there are many."""
    before = {entry.id for entry in bench.library.list()}
    index(bench, [f"{sentence} {choice.random()}" for sentence in SENTENCES])
    for name in {entry.id for entry in bench.library.list()} - before:
        reports.add("+corpus", name)
    for name in sorted(before)[: max(0, len(before) - MOST)]:
        reports.add("~corpus", name)
        delete_saved(bench, name)
        reports.add("-corpus", name)


def runs(bench: Workbench, reports: Reports) -> None:
    """Train a new run to its end; delete the oldest where there are many."""
    for name in [info.id for info in running.rows(bench)][MOST:]:
        reports.add("~run", name)
        running.delete(bench, name)
        reports.add("-run", name)
    data = training_data(bench)
    run = running.create(bench, data, plan(data))
    reports.add("+run", run.id)
    with checkpoints_at_once():
        bench.worker.start(run)
        while running.state(bench, run.id).info.live:
            time.sleep(0.01)
    if running.state(bench, run.id).info.state == FINISHED:
        reports.add("+model", run.id)


# The parent


class Ledger:
    """What must be there, and what must not, as the children reported it."""

    def __init__(self) -> None:
        self.there: dict[str, set[str]] = {"corpus": set(), "run": set(), "model": set()}
        self.gone: set[str] = set()

    def read(self, lines: list[str]) -> None:
        for line in lines:
            what, _, name = line.strip().partition(" ")
            kind = what[1:]
            if what.startswith("+"):
                self.there[kind].add(name)
            elif what.startswith("~"):
                self.there[kind].discard(name)
                self.there["model"].discard(name)
            elif what.startswith("-"):
                self.gone.add(name)


def kill_once(home: Path, reports: Reports, seed: int) -> list[str]:
    """Start a child, let it work for a random while, kill it: what it reported."""
    process = STARTER.Process(target=child, args=(home, reports, seed))
    process.start()
    while not reports.path.exists():
        if process.exitcode is not None:
            raise RuntimeError(f"the child ended with {process.exitcode} before it was ready")
        time.sleep(0.005)
    time.sleep(np.random.default_rng(seed).uniform(0, LONGEST_SECONDS))
    process.kill()
    process.join()
    return reports.take()


def check(home: Path, ledger: Ledger, finish: bool, expected: list[float]) -> tuple[list[str], list[str]]:
    """Open the home anew: (what is lost, what is listed but damaged)."""
    bench = Workbench(settings(home))
    session = bench.sessions.open()
    listed = {entry.id: entry for entry in bench.library.list()}
    infos = {info.id: info for info in running.rows(bench)}
    lost = [f"corpus {name}" for name in ledger.there["corpus"] - listed.keys()]
    lost += [f"run {name}" for name in ledger.there["run"] - infos.keys()]
    lost += [f"{name} was deleted and is back" for name in ledger.gone & (listed.keys() | infos.keys())]
    lost += [f"model {name}" for name in ledger.there["model"] if name in infos and infos[name].state != FINISHED]
    damaged = [f"run {info.id}" for info in infos.values() if info.state == DAMAGED or info.live]
    for name in listed:
        try:
            open_saved(bench, session, name)
        except UserError as error:
            damaged.append(f"corpus {name}: {error}")
    for info in infos.values():
        damaged += problems(bench, info.id, expected)
    if finish:
        for run_id in [info.id for info in infos.values() if info.state == INTERRUPTED][:1]:
            info = resumed(bench, run_id).info
            if info.state != FINISHED:
                damaged.append(f"run {run_id} was resumed and is {info.state}: {info.message}")
    return lost, damaged


def problems(bench: Workbench, run_id: str, expected: list[float]) -> Iterator[str]:
    """What of a run cannot be used, or differs from the verdict that every run here comes to."""
    try:
        progress = running.state(bench, run_id)
        running.find(bench, run_id).split()
        if progress.info.has_model:
            bench.registry.encoder(progress.info.model)
        if progress.info.state == FINISHED and not (progress.result and np.allclose(progress.result.after, expected, atol=1e-4)):
            yield f"run {run_id} has another result"
    except UserError as error:
        yield f"run {run_id}: {error}"


def main(folder: Path, times: int = KILLS) -> bool:
    """Kill and check so often: whether nothing is lost or damaged."""
    logging.disable(logging.ERROR)
    ledger, lost, damaged = Ledger(), list[str](), list[str]()
    home, reports = folder / "home", Reports(folder / "reports")
    ids = build(home)
    result = running.state(Workbench(settings(home)), ids.finished).result
    assert result is not None
    ledger.there["model"].add(ids.finished)
    for seed in bounded(range(times)):
        ledger.read(kill_once(home, reports, seed))
        losses, damages = check(home, ledger, seed % FINISH_EVERY == 0, result.after)
        lost, damaged = lost + losses, damaged + damages
        for line in losses + damages:
            print(f"kill {seed}: {line}", flush=True)
        if seed % 10 == 9:
            print(f"{seed + 1} kills: lost {len(lost)}, damaged {len(damaged)}", flush=True)
    made = {kind: len(names) for kind, names in ledger.there.items()}
    print(f"{seed + 1} kills: lost {len(lost)}, damaged {len(damaged)}; {made}")
    return not (lost or damaged)
