"""Two instances over one home: one is killed while it indexes and trains, again and again; the other must notice nothing.

`python -m tests.attacks two_instances`
"""

import asyncio
import contextlib
import itertools
import random
import time
from pathlib import Path

import httpx

from sbert_app.corpus.library import Library
from sbert_app.runs.run import Runs
from tests.attacks.bound import bounded
from tests.attacks.server import RefusedError, Server, call, labelled, serving, upload

KILLS, LONGEST_SECONDS, ROWS, LINES = 5, 12.0, 120, 60
TRAINED = {"objective": "regression", "epochs": 1, "batch_size": 8}


class Instance:
    """A running app, and what it has answered as done: sizes of corpora, ids of trainings. A corpus is known by its size."""

    def __init__(self, server: Server, sizes: "itertools.count[int]") -> None:
        self.server, self._sizes = server, sizes
        self.corpora: set[int] = set()
        self.runs: set[str] = set()
        self.faults: list[str] = []

    async def work(self, client: httpx.AsyncClient) -> None:
        """Index and search, and train beside it, until this is cancelled or something fails."""
        await asyncio.gather(self._index(client), self._train(client))

    async def _index(self, client: httpx.AsyncClient) -> None:
        while True:
            size = next(self._sizes)
            lines = "\n".join(f"corpus {size}: parcel {number} is late" for number in range(size))
            indexed = await call(client, self.server.url, "index_corpus", 1, lines=lines)
            self.corpora.add(size)
            found = await call(client, self.server.url, "search", 1, corpus=indexed["corpus"], query="late", top=3)
            if not all(f"corpus {size}:" in hit["sentence"] for hit in found["hits"]):
                self.faults.append(f"a search in corpus {size} found rows of another")

    async def _train(self, client: httpx.AsyncClient) -> None:
        while True:
            sent = await upload(client, self.server.url, "labelled.csv", labelled(ROWS))
            result = await call(client, self.server.url, "fine_tune", 2, file=sent, **TRAINED)
            if "verdict" in result:
                self.runs.add(result["run"])
            else:
                self.faults.append(f"training {result['run']} ended {result['state']}: {result['message']}")


async def attack(home: Path, kills: int) -> list[str]:
    """The faults after so many kills."""
    sizes, chance, killed = itertools.count(LINES), random.Random(0), list[Instance]()
    with serving(home, hosted=False) as server:
        other = Instance(server, sizes)
        async with httpx.AsyncClient(timeout=600) as client:
            going = asyncio.create_task(other.work(client))
            for number in bounded(range(kills)):
                with contextlib.ExitStack() as stack:
                    victim = Instance(await asyncio.to_thread(stack.enter_context, serving(home, hosted=False)), sizes)
                    killed.append(victim)
                    work = asyncio.create_task(victim.work(client))
                    await asyncio.sleep(chance.uniform(2, LONGEST_SECONDS))
                    victim.server.kill()
                    with contextlib.suppress(httpx.HTTPError):
                        await asyncio.wait_for(work, 60)
                theirs = sum(len(each.corpora) for each in killed), sum(len(each.runs) for each in killed)
                ours = f"{len(other.corpora)} corpora and {len(other.runs)} trainings"
                print(f"{number + 1} kills: {ours} of the other, {theirs[0]} and {theirs[1]} of the killed ones", flush=True)
                if going.done():
                    break
            until = time.monotonic() + 120
            while not other.runs and not going.done() and time.monotonic() < until:
                await asyncio.sleep(0.5)
            failed = [str(going.exception() or "") for _ in range(going.done())]
            going.cancel()
        return [*failed, *lost(home, [other, *killed]), *(["a traceback in its log"] if "Traceback" in server.log() else [])]


def lost(home: Path, instances: list[Instance]) -> list[str]:
    """What was answered as done and is not in the home, and what else was wrong."""
    listed = {corpus.rows for corpus in Library(home / "corpora").list()}
    finished = {info.id for info in Runs(home / "runs").list() if info.state == "finished"}
    faults = [fault for instance in instances for fault in instance.faults]
    for instance in instances:
        faults += [f"the corpus of {size} rows is gone" for size in sorted(instance.corpora - listed)]
        faults += [f"the training {run} is gone" for run in sorted(instance.runs - finished)]
    return faults


def main(folder: Path, times: int = KILLS) -> bool:
    """Whether the other instance notices no kill, and nothing is lost."""
    try:
        faults = asyncio.run(attack(folder / "home", times))
    except RefusedError as refusal:
        faults = [str(refusal)]
    for fault in faults:
        print(fault, flush=True)
    print(f"faults: {len(faults)}", flush=True)
    return not faults
