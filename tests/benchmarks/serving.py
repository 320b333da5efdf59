"""How much of the encoder's rate reaches clients? 16 at once at `POST /v1/embeddings`, beside `Encoder.encode` in the same run.

Clients share the two cores with the server, so they do as little as they can: requests are made beforehand, answers are only read.
What OpenAI's own client costs on top is measured beside it.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from sbert_app.models.bundled import bundled_encoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.files.finding import DEFAULT_ENCODER, checked_bundled_folder
from tests.attacks.server import MODEL, serving
from tests.benchmarks import data
from tests.benchmarks.models import on_torch
from tests.benchmarks.timing import in_turns, milliseconds, seconds_of

CLIENTS = 16
COUNT = 4_096  # sentences a round, each sent once
SIZES = (1, 32)  # sentences a request

Times = list[float]


async def _client(url: str, requests: list[bytes], times: Times) -> None:
    """Send requests over one connection, each after the answer to the one before."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1 << 24)
    while requests:
        begin = time.perf_counter()
        writer.write(requests.pop())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
        times.append((time.perf_counter() - begin) * 1e3)
        if " 200 " not in head.splitlines()[0]:
            raise RuntimeError(head)
    writer.close()


def _request(url: str, sentences: Sequence[str], encoding: str) -> bytes:
    body = json.dumps({"model": MODEL, "input": sentences, "encoding_format": encoding}).encode()
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


def served(url: str, sentences: Sequence[str], size: int, encoding: str = "base64") -> tuple[float, Times]:
    """(sentences/s, milliseconds of each request) of 16 clients."""
    requests = [_request(url, sentences[start : start + size], encoding) for start in range(0, len(sentences), size)]
    times: Times = []

    async def together() -> None:
        await asyncio.gather(*(_client(url, requests, times) for _ in range(CLIENTS)))

    return len(sentences) / seconds_of(lambda: asyncio.run(together())), times


def through_openai(url: str, sentences: Sequence[str]) -> tuple[float, Times]:
    """The same, a sentence a request, by OpenAI's own client, on 16 threads of one process."""
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

    def send(sentence: str) -> float:
        return 1e3 * seconds_of(lambda: client.embeddings.create(model=MODEL, input=[sentence]))

    begin = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as threads:
        times = list(threads.map(send, sentences))
    return len(sentences) / (time.perf_counter() - begin), times


def report() -> dict[str, Any]:
    sentences = data.many_sentences(COUNT)
    encoder = on_torch()
    own = bundled_encoder(checked_bundled_folder(), encoder.hardware, DEFAULT_ENCODER)

    def alone(encoder: Encoder, at_a_time: int) -> tuple[float, Times]:
        """Of CLIENTS at a time: what no server can exceed, all their sentences in one batch, and no time in between."""
        parts = [sentences[start : start + at_a_time] for start in range(0, COUNT, at_a_time)]
        return COUNT / (sum(milliseconds(encoder.encode, parts)) / 1e3), []

    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "home", hosted=False) as server:
        ways = {"in_process": partial(alone, encoder, COUNT), f"in_process_{CLIENTS}_at_a_time": partial(alone, own, CLIENTS)}
        for size in SIZES:
            ways[f"{size}_a_request"] = partial(served, server.url, sentences, size)
        ways["32_a_request_as_float"] = partial(served, server.url, sentences, 32, "float")
        ways["1_a_request_openai_client"] = partial(through_openai, server.url, sentences[:1024])
        in_turns(ways, 1)  # warm
        results = in_turns(ways)
    rates = {name: float(np.median([rate for rate, _ in rounds])) for name, rounds in results.items()}
    return {
        "clients": CLIENTS,
        "sentences_per_second": rates,
        "share_of_in_process": {name: rate / rates["in_process"] for name, rate in rates.items()},
        "milliseconds_p50_p95": {
            name: np.percentile([value for _, times in rounds for value in times], (50, 95)).tolist()
            for name, rounds in results.items()
            if not name.startswith("in_process")
        },
    }
