"""Two copies behind a proxy, thirty visitors, one copy killed: who loses what? `python -m tests.attacks copies`

Needs `haproxy`, with the configuration that docs/hosting.md recommends.
"""

import asyncio
import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.attacks.bound import left
from tests.attacks.server import ROOT, RefusedError, Server, call, serving
from tests.browser.chromium import free_port

VISITORS, SECONDS, LINES = 30, 60, 60
CONFIGURATION = ROOT / "docs" / "copies" / "haproxy.cfg"
COOKIE = "sbert-studio-copy"
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def proxy(one: Server, two: Server) -> Iterator[str]:
    port = free_port()
    copies = {f"COPY_{name}": server.url.removeprefix("http://") for name, server in {"ONE": one, "TWO": two}.items()}
    process = subprocess.Popen([HAPROXY, "-f", CONFIGURATION, "-db"], env=os.environ | copies | {"BIND": f"127.0.0.1:{port}"})
    try:
        time.sleep(3)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


class Crowd:
    """What happened to the visitors: answers and refusals of each copy by phase, faults."""

    def __init__(self, url: str) -> None:
        self.url, self.phase = url, "both"
        self.answers, self.refused, self.homes = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
        self.errors: list[str] = []
        self.crossed = self.lost = self.moved = 0

    async def visit(self, number: int, end: float) -> None:
        """Index once, search again and again; whoever's copy is gone indexes anew on the other."""
        chance, corpus, home = random.Random(number), None, ""
        async with httpx.AsyncClient(timeout=120) as client:
            while time.monotonic() < end:
                phase = self.phase
                try:
                    if corpus is None:
                        lines = "\n".join(f"visitor{number}x: parcel {row} is late" for row in range(LINES))
                        corpus = (await call(client, self.url, "index_corpus", number, lines=lines))["corpus"]
                    hits = (await call(client, self.url, "search", number, corpus=corpus, query="late", top=3))["hits"]
                    self.crossed += sum(f"visitor{number}x" not in hit["sentence"] for hit in hits)
                    self.answers[self.phase, client.cookies.get(COOKIE, "")] += 1
                except RefusedError as refusal:
                    self.refused[str(refusal)] += 1
                    corpus, self.lost = None, self.lost + 1
                except httpx.HTTPError as error:
                    self.errors.append(f"{phase}: {type(error).__name__} {error}")
                if (now := client.cookies.get(COOKIE, "")) != home:
                    self.moved += bool(home)
                    self.homes[now] += not home
                    home = now
                await asyncio.sleep(chance.uniform(0.2, 1.0))


async def attack(home: Path) -> bool:
    with (
        serving(home / "one" / "home", hosted=True) as one,
        serving(home / "two" / "home", hosted=True) as two,
        proxy(one, two) as url,
    ):
        crowd, end = Crowd(url), time.monotonic() + min(SECONDS, left() / 3)
        visits = [asyncio.create_task(crowd.visit(number, end)) for number in range(VISITORS)]
        await asyncio.sleep((end - time.monotonic()) / 2)
        crowd.phase = "one killed"
        one.kill()
        await asyncio.gather(*visits)
        traced = two.log().count("Traceback")
    print(f"visitors by copy at first: {dict(crowd.homes)}; moved when one was killed: {crowd.moved}, corpora lost: {crowd.lost}")
    print(f"answers: {dict(crowd.answers)}; crossed {crowd.crossed}; tracebacks of the other copy {traced}")
    print(f"refused: {dict(crowd.refused)}")
    print(f"broken requests: {len(crowd.errors)} {sorted(set(crowd.errors))[:6]}")
    stayed = all(error.startswith("one killed") for error in crowd.errors)
    return stayed and not crowd.crossed and not traced and crowd.moved == crowd.homes["one"] and crowd.lost <= crowd.homes["one"]


def main(folder: Path) -> bool:
    """Whether nobody loses more than the copy that is killed had."""
    if HAPROXY is None:
        print("haproxy is not installed")
        return False
    return asyncio.run(attack(folder))
