"""What does a person wait for? The whole command `encode` beside a whole script of sentence-transformers at its defaults, in turns.

Both are processes of their own: they import, load the same files, encode, save. `encode` neither reads nor fills the embedding
cache, so a second time measures the home, not the cache. `--quick`: one round, 500 and 2,000 sentences.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import checked_bundled_folder
from sbert_app.models.registry import Registry
from sbert_app.settings import Settings
from tests.benchmarks import data
from tests.benchmarks.timing import show as show_table

COUNTS, ROUNDS = (500, 2_000, 5_000, 10_000), int(os.environ.get("ROUNDS", "3"))
CHARACTERS = range(80, 221)  # about 27 tokens
OURS = [f"{home}, {time}" for home in ("fresh", "converted") for time in ("first", "second")]
THEIRS = "sentence-transformers"
SCRIPT = """
import sys, time
import numpy as np
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
with open(sys.argv[2], encoding="utf-8") as file:
    sentences = file.read().splitlines()
start = time.perf_counter()
embeddings = model.encode(sentences)
print(len(sentences) / (time.perf_counter() - start))
np.save(sys.argv[3], embeddings)
"""

Run = tuple[float, float]  # seconds of the whole process; sentences a second while it encoded


def report() -> dict[str, Any]:
    """Seconds, rates and ratios by precision, number of sentences and side."""
    counts, rounds = (COUNTS[:2], 1) if "--quick" in sys.argv else (COUNTS, ROUNDS)
    precisions = dict.fromkeys((choose_hardware("cpu").precision, "fp32"))
    sentences = [text for text in data.many_sentences(60_000) if len(text) in CHARACTERS and text.isprintable()]
    table: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for precision in precisions:
            registry = Registry(
                Settings(home=Path(folder) / "converted", device="cpu", precision=precision, engine="auto"), patience=0
            )
            registry.encoder()
            registry.acceleration.wait()
            table[precision] = {count: _measured(Path(folder), sentences[:count], precision, rounds) for count in counts}
    return table


def _measured(folder: Path, sentences: list[str], precision: str, rounds: int) -> dict[str, dict[str, float]]:
    file, out = folder / "sentences.txt", folder / "out.npy"
    file.write_text("\n".join(sentences), encoding="utf-8")
    runs: dict[str, list[Run]] = {name: [] for name in (*OURS, THEIRS)}
    loads = [psutil.getloadavg()[0]]
    for _ in range(rounds):
        for name in ("fresh", "converted"):
            home = folder / "home"
            shutil.rmtree(home, ignore_errors=True)
            if name == "converted":
                shutil.copytree(folder / name, home)
            runs[f"{name}, first"].append(_ours(home, file, out, precision))
            theirs, rate = _timed([sys.executable, "-c", SCRIPT, str(checked_bundled_folder()), str(file), str(out)], {})
            runs[THEIRS].append((theirs, float(rate)))
            runs[f"{name}, second"].append(_ours(home, file, out, precision))
        loads.append(psutil.getloadavg()[0])
    theirs = [median(values) for values in zip(*runs[THEIRS], strict=True)]
    table = {}
    for name, values in runs.items():
        seconds, rate = (median(column) for column in zip(*values, strict=True))
        table[name] = {"seconds": seconds, "rate": rate, "ratio": theirs[0] / seconds, "rate_ratio": rate / theirs[1]}
        print(f"  {precision} {len(sentences):,} {name}: {table[name]}", flush=True)
    return {**table, "load": {"median": median(loads)}}


def _ours(home: Path, file: Path, out: Path, precision: str) -> Run:
    env = {"SBERT_STUDIO_HOME": str(home), "SBERT_STUDIO_PRECISION": precision, "SBERT_STUDIO_DEVICE": "cpu"}
    seconds, printed = _timed([sys.executable, "-m", "sbert_app", "encode", str(file), "--out", str(out), "--json"], env)
    return seconds, json.loads(printed)["sentences_per_second"]


def _timed(command: list[str], more: dict[str, str]) -> tuple[float, str]:
    env = {name: value for name, value in (os.environ | more).items() if name != "OMP_NUM_THREADS"}
    begin = time.perf_counter()
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    return time.perf_counter() - begin, done.stdout.splitlines()[-1]


def show(results: dict[str, Any]) -> None:
    """Print the results as a table: times that sentence-transformers takes as long, and in brackets its ratio while encoding."""
    rows = []
    for precision in ("bf16", "fp32"):
        for count, row in results.get(precision, {}).items():
            cells = [f"{row[name]['ratio']:.2f} ({row[name]['rate_ratio']:.2f}), {row[name]['seconds']:.1f} s" for name in OURS]
            theirs = f"{row[THEIRS]['seconds']:.1f} s, {row[THEIRS]['rate']:.0f}/s"
            rows.append((f"{precision}, {int(count):,}", *cells, theirs, f"{row['load']['median']:.1f}"))
    show_table((f"whole commands; {results['machine']}; {results['date']}", *OURS, THEIRS, "load"), rows)
