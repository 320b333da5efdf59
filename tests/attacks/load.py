"""Fifty visitors at once for three minutes beside one training, then sixty-five heavy jobs. `python -m tests.attacks load`"""

import asyncio
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tests.attacks.bound import left
from tests.attacks.server import CROSS, MODEL, RefusedError, Server, call, serving

CLIENTS, SECONDS, IDLE_SECONDS = 50, 180, 30
THINK_SECONDS = 0.5  # a person reads; a script may not
LINES = 60  # of each visitor's corpus
WORDS = "invoice parcel refund login crash colour printer kettle garden train window ticket river salary music battery".split()
GOALS = {"similarity": 2.0, "search": 3.0}  # seconds, 95 of 100
TRAINING = "assets/labelled/requests_scored.csv"


class Visitors:
    """Each visitor has lines with a name of their own in them: an answer that holds another's name has crossed."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.refused: list[str] = []
        self.errors: list[str] = []
        self.crossed = 0

    async def visit(self, client: httpx.AsyncClient, number: int, end: float) -> None:
        """Index, then compare, search and now and then index again."""
        chance = random.Random(number)
        corpus = await self._index(client, number, chance)
        while time.monotonic() < end:
            kind = chance.random()
            if kind < 0.1 or corpus is None:
                corpus = await self._index(client, number, chance) or corpus
            elif kind < 0.5:
                result = await self.timed(
                    client, "search", [corpus, f"the {chance.choice(WORDS)} is late", 10, None, False, False, CROSS], number
                )
                self.crossed += sum(f"visitor{number}x" not in hit["sentence"] for hit in (result or {"hits": []})["hits"])
            else:
                await self.timed(
                    client, "similarity", [f"the {chance.choice(WORDS)}", f"a {chance.choice(WORDS)}", MODEL, ""], number
                )
            await asyncio.sleep(chance.uniform(0, 2 * THINK_SECONDS))

    async def _index(self, client: httpx.AsyncClient, number: int, chance: random.Random) -> str | None:
        lines = "\n".join(f"visitor{number}x: the {chance.choice(WORDS)} {i} of the {chance.choice(WORDS)}" for i in range(LINES))
        result = await self.timed(client, "index_corpus", [None, lines, [], MODEL], number)
        return result["corpus"] if result else None

    async def timed(self, client: httpx.AsyncClient, name: str, data: list[Any], number: int) -> Any:
        start = time.perf_counter()
        try:
            result = await call(client, self.server.url, name, data, number)
        except RefusedError as refusal:
            self.refused.append(f"{name}: {refusal}")
            return None
        except Exception as error:
            self.errors.append(f"{name}: {type(error).__name__} {error}")
            return None
        self.seconds[name].append(time.perf_counter() - start)
        return result

    def table(self) -> bool:
        """Print what was measured; whether the goals were reached."""
        for name, seconds in sorted(self.seconds.items()):
            p50, p95 = np.quantile(seconds, [0.5, 0.95])
            print(f"{name:14} {len(seconds):6,} answers  p50 {p50:6.2f} s  p95 {p95:6.2f} s  worst {max(seconds):6.2f} s")
        print(f"refused with a sentence {len(self.refused)}, errors {len(self.errors)}, crossed answers {self.crossed}")
        for text in sorted(set(self.refused + self.errors))[:8]:
            print(f"   {text[:160]}")
        reached = all(np.quantile(self.seconds[name], 0.95) <= goal for name, goal in GOALS.items())
        return reached and not self.errors and not self.refused and not self.crossed


async def training(client: httpx.AsyncClient, url: str, end: float) -> int:
    """One run after the other until the end, as one more visitor; how many were finished."""
    finished = 0
    while time.monotonic() < end:
        with Path(TRAINING).open("rb") as file:
            uploaded = await client.post(f"{url}/gradio_api/upload", files={"files": file})
        sent = {"path": uploaded.json()[0], "meta": {"_type": "gradio.FileData"}}
        data = [sent, "", "quick", MODEL, "a secret of the sixteenth", None, None, None, None, False, None, None]
        result = await call(client, url, "fine_tune", data, CLIENTS)
        finished += bool(result and "verdict" in result)
    return finished


async def heavy(client: httpx.AsyncClient, server: Server) -> bool:
    """Sixty-five races at once: the last is refused with a sentence, while a comparison and a new page are served."""
    jobs = [
        asyncio.create_task(call(client, server.url, "timing", [None, "", [], 10_000, 2, MODEL, False], 100 + number))
        for number in range(64)
    ]
    await asyncio.sleep(6)
    sentence = ""
    try:
        await call(client, server.url, "timing", [None, "", [], 10_000, 2, MODEL, False], 400)
    except RefusedError as refusal:
        sentence = str(refusal)
    start = time.perf_counter()
    score = (await call(client, server.url, "similarity", ["a cat", "a kitten", MODEL, ""], 401))["score"]
    compared = time.perf_counter() - start
    start = time.perf_counter()
    page = await client.get(server.url)
    opened = time.perf_counter() - start
    print(f"the 65th heavy job: {sentence!r}")
    print(f"beside them /similarity {score:.2f} in {compared:.2f} s, a new page {page.status_code} in {opened:.2f} s")
    for job in jobs:
        job.cancel()
    return "Too busy" in sentence and page.status_code == 200


async def attack(server: Server) -> bool:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=600, limits=limits) as client:
        before, peak = server.megabytes(), 0.0
        visitors, end = Visitors(server), time.monotonic() + min(SECONDS, left() / 2)
        tasks = [asyncio.create_task(visitors.visit(client, number, end)) for number in range(CLIENTS)]
        trained = asyncio.create_task(training(client, server.url, end))
        while not all(task.done() for task in [*tasks, trained]):
            peak = max(peak, server.megabytes())
            await asyncio.sleep(1)
        await asyncio.gather(*tasks)
        reached = visitors.table()
        print(f"trainings finished beside them: {await trained}")
        bounded = await heavy(client, server)
    await asyncio.sleep(IDLE_SECONDS)
    print(
        f"memory: {before:,.0f} MB at the start, {peak:,.0f} MB at most, {server.megabytes():,.0f} MB after {IDLE_SECONDS} s idle"
    )
    traced = server.log().count("Traceback")
    print(f"tracebacks in the log: {traced}")
    return reached and bounded and not traced


def main() -> int:
    """The exit status: 1 where a goal is missed."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "home", hosted=True) as server:
        return 0 if asyncio.run(attack(server)) else 1
