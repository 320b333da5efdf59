"""What does the running app hold? The work of a person's forty minutes, as fast as it goes: memory after each step, and at rest."""

import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from gradio_client import Client, handle_file

from tests.attacks.server import serving
from tests.benchmarks import data

ROUNDS = int(os.environ.get("ROUNDS", "3"))  # each with another corpus
ROWS = 5_000  # of 30 to 190 tokens
QUERIES = 40
IDLE_SECONDS = 20
PAIRS = "assets/labelled/requests_scored.csv"
CLASSES = "assets/labelled/instructions_labelled.csv"
SYSTEMS = ["sbert", "sbert-max", "cross-encoder", "word-vectors", "tf-idf", "word-overlap", "svr"]
GOALS = {"end": 2_000, "peak": 2_600}  # megabytes resident


def report() -> dict[str, object]:
    """Megabytes when the app is ready, after each step of each round, and after a minute of rest; per cent of a core at rest."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "home", hosted=False) as server:
        process = psutil.Process(server.process.pid)
        time.sleep(30)  # the default encoder is converted meanwhile
        memory = {"ready": _held(server.process.pid)}
        idle, client = _share_of_a_core(process), Client(server.url, verbose=False)
        for number in range(ROUNDS):
            for name in _round(client, number, Path(folder) / "home"):
                memory[f"{number + 1}: {name}"] = _held(server.process.pid)
                print(f"{number + 1}: {name:22}", memory[f"{number + 1}: {name}"], flush=True)
        time.sleep(60)
        memory["at rest"] = _held(server.process.pid)
        print(memory["at rest"], flush=True)
        return {"memory_megabytes": memory, "goals": GOALS, "idle_share": [idle, _share_of_a_core(process)]}


def _round(client: Client, number: int, home: Path) -> Iterator[str]:
    """Use every tab once; yield the name of each step that was done."""
    sentences = _texts(number)
    corpus = client.predict(lines="\n".join(sentences), api_name="/index_corpus")["corpus"]
    yield f"index {ROWS:,} rows"
    for sentence in sentences[:QUERIES]:
        client.predict(corpus=corpus, query=" ".join(sentence.split()[:8]), ranking="maxsim", api_name="/search")
    yield f"{QUERIES} searches"
    for sentence in sentences[:10]:
        client.predict(corpus=corpus, query=" ".join(sentence.split()[:8]), rerank=True, api_name="/search")
    yield "10 searches, re-ranked"
    for method in ("k-means", "HDBSCAN"):
        client.predict(corpus=corpus, method=method, api_name="/cluster_map")
        yield f"map, {method}"
    client.predict(corpus=corpus, api_name="/duplicates")
    yield "duplicates"
    for i in range(0, 2 * QUERIES, 2):
        client.predict(sentences[i][:200], sentences[i + 1][:200], api_name="/similarity")
    yield f"{QUERIES} comparisons"
    last: Any = client.predict(file=handle_file(PAIRS), epochs=1, api_name="/fine_tune")
    yield "fine-tune"
    client.predict(lines="\n".join(sentences[:500]), model=last["model"], api_name="/index_corpus")
    yield "index 500 with it"
    client.predict(sentences=1_000, api_name="/timing")
    yield "timing"
    client.predict(file=handle_file(PAIRS), systems=SYSTEMS, api_name="/evaluate")
    yield "evaluate pairs"
    client.predict(file=handle_file(CLASSES), systems=["sbert", "tf-idf"], api_name="/evaluate")
    yield "evaluate classes"


def _texts(number: int) -> list[str]:
    """Rows of three to ten real sentences, others in each round."""
    chance, sentences = random.Random(number), data.many_sentences(50_000)
    return [" ".join(chance.sample(sentences, chance.randint(3, 10))).replace("\n", " ") for _ in range(ROWS)]


def _held(process_id: int) -> dict[str, int]:
    """Megabytes resident now and at most since the last look; of those now the share of the heap and of mapped files."""
    of = Path(f"/proc/{process_id}")
    status = _fields((of / "status").read_text())
    pss = _fields((of / "smaps_rollup").read_text().split("\n", 1)[1])
    (of / "clear_refs").write_text("5")  # the peak counts anew
    kept = {"resident": status["VmRSS"], "peak": status["VmHWM"], "heap": pss["Pss_Anon"], "files": pss["Pss_File"]}
    return {name: kilobytes * 1_024 // 1_000_000 for name, kilobytes in kept.items()} | {"threads": status["Threads"]}


def _fields(text: str) -> dict[str, int]:
    """The numbers of the lines "Name:  12 kB"."""
    fields = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {name: int(value.split()[0]) for name, value in fields if value.split() and value.split()[0].isdigit()}


def _share_of_a_core(process: psutil.Process) -> float:
    """The processor time of a process at rest, 0..1 of one core."""
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE_SECONDS)
    return (sum(process.cpu_times()[:2]) - before) / IDLE_SECONDS
