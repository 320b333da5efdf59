"""What does the running app hold? Memory at rest and after each job, and the processor's use when nothing is asked of it."""

import tempfile
import time
from pathlib import Path

import psutil
from gradio_client import Client, handle_file

from tests.attacks.server import serving
from tests.benchmarks import data

SENTENCES = 10_000
IDLE_SECONDS = 20
TICKETS = "assets/examples/support_tickets.csv"
PAIRS = "assets/labelled/requests_scored.csv"


def report() -> dict[str, object]:
    """Megabytes resident when the app is ready, ten seconds after each job, and at the end; per cent of a core at rest."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "home", hosted=False) as server:
        process = psutil.Process(server.process_id)
        time.sleep(30)  # the default encoder is converted meanwhile
        memory = {"ready": server.megabytes()}
        idle = _share_of_a_core(process)
        client = Client(server.url, verbose=False)
        corpus = client.predict(lines="\n".join(data.many_sentences(SENTENCES)), api_name="/index_corpus")["corpus"]
        jobs = {
            f"index {SENTENCES:,} sentences": {},
            "search": {"corpus": corpus, "query": "a man plays the guitar", "api_name": "/search"},
            "duplicates": {"corpus": corpus, "api_name": "/duplicates"},
            "map": {"corpus": corpus, "api_name": "/cluster_map"},
            "fine-tune": {"file": handle_file(PAIRS), "epochs": 1, "api_name": "/fine_tune"},
            "timing": {"sentences": 1_000, "api_name": "/timing"},
            "evaluate": {"file": handle_file(PAIRS), "api_name": "/evaluate"},
        }
        for name, call in jobs.items():
            if call:
                client.predict(**call)
            time.sleep(10)
            memory[f"after {name}"] = server.megabytes()
        time.sleep(60)
        return {"memory_megabytes": memory | {"at the end": server.megabytes()}, "idle_share": [idle, _share_of_a_core(process)]}


def _share_of_a_core(process: psutil.Process) -> float:
    """The processor time of a process at rest, 0..1 of one core."""
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE_SECONDS)
    return (sum(process.cpu_times()[:2]) - before) / IDLE_SECONDS
