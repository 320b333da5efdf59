"""Five hundred visits one after the other: the page, a corpus, some requests. `python -m tests.attacks visits`

Memory must be flat after the first hundred.
"""

import asyncio
from pathlib import Path

import httpx

from tests.attacks.bound import bounded
from tests.attacks.server import Server, call, serving

VISITS, FIRST = 500, 100
LINES = 200
GROWTH = 0.05  # of the memory after the first visits: what may come and go
REPORT_EVERY = 50


async def visit(client: httpx.AsyncClient, server: Server, number: int) -> None:
    """Open the page, index a corpus of one's own, search it, compare two sentences, and every tenth time find its duplicates."""
    (await client.get(server.url)).raise_for_status()
    lines = "\n".join(f"visit {number}, sentence {i} of {i * number % 97} words about {i % 13} things" for i in range(LINES))
    corpus = (await call(client, server.url, "index_corpus", number, lines=lines))["corpus"]
    hits = (await call(client, server.url, "search", number, corpus=corpus, query="many things", top=10))["hits"]
    assert len(hits) == 10
    await call(client, server.url, "similarity", number, sentence1=f"a cat {number}", sentence2=f"a kitten {number}")
    if number % 10 == 0:
        await call(client, server.url, "duplicates", number, corpus=corpus, threshold=0.85, top=10)


async def attack(server: Server, times: int) -> bool:
    memory: list[float] = []
    async with httpx.AsyncClient(timeout=120) as client:
        for number in bounded(range(1, times + 1)):
            await visit(client, server, number)
            memory.append(server.megabytes())
            if number % REPORT_EVERY == 0:
                print(f"{number:4} visits  {memory[-1]:,.0f} MB", flush=True)
    first = min(FIRST, len(memory))
    growth = memory[-1] / memory[first - 1] - 1
    traced = server.log().count("Traceback")
    print(f"memory after {first} visits {memory[first - 1]:,.0f} MB, after {len(memory)} {memory[-1]:,.0f} MB ({growth:+.1%})")
    print(f"tracebacks in the log: {traced}")
    return growth <= GROWTH and not traced


def main(folder: Path, times: int = VISITS) -> bool:
    """Whether memory does not grow and nothing fails."""
    with serving(folder / "home", hosted=True) as server:
        return asyncio.run(attack(server, times))
