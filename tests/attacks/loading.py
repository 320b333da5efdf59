"""Load two models at once, again and again, warm and in fresh processes: `python -m tests.attacks loading`.

What is counted as wrong: a load that fails, a model of another number type than asked for, or other embeddings or scores
than a model that was loaded alone.
"""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.registry import Registry
from sbert_app.settings import Settings
from tests.attacks.bound import bounded

ROOT = Path(__file__).parents[2]
SENTENCES = ["The parcel never came.", "My package did not arrive.", "How do I change my password?"]
LOADS: dict[str, Callable[[Registry], Any]] = {
    "encoder": lambda registry: Encoder.from_folder(registry.folder(DEFAULT_ENCODER), registry.hardware),
    "copy": lambda registry: registry.trainable(),
    "cross": lambda registry: registry.cross_encoder(DEFAULT_CROSS_ENCODER),
}
PRECISIONS = {"encoder": torch.bfloat16, "copy": torch.float32, "cross": torch.bfloat16}
COUPLES = [couple for couple in combinations_with_replacement(LOADS, 2) if couple != ("cross", "cross")]
LOADED = 40
TOLERANCE = 0.02  # bf16 against bf16 gives the same numbers; another number type or a mixed one does not come close


def double_load(couple: tuple[str, str], home: Path) -> list[Any]:
    """Load both in two threads that start together, each for a registry of its own. A load that failed is its error."""
    barrier = threading.Barrier(2)

    def load(name: str) -> Any:
        registry = Registry(Settings(home=home, device="cpu", precision="bf16"))
        barrier.wait()
        try:
            return LOADS[name](registry)
        except Exception as error:
            return error

    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(load, couple))


def outputs(model: Any) -> np.ndarray:
    """What a model makes of the sentences: embeddings, or scores of each with the first."""
    if isinstance(model, CrossEncoder):
        return model.score([(SENTENCES[0], sentence) for sentence in SENTENCES])
    return model.encode(SENTENCES)


def faults(couple: tuple[str, str], models: list[Any], expected: dict[str, np.ndarray]) -> list[str]:
    """What is wrong with the two models, [] where nothing is. expected: outputs of models loaded alone, by name."""
    return [text for name, model in zip(couple, models, strict=True) if (text := _fault(name, model, expected[name]))]


def _fault(name: str, model: Any, expected: np.ndarray) -> str:
    if isinstance(model, Exception):
        return f"{name}: {type(model).__name__}: {model}"[:200]
    module = model.transformer
    types = {parameter.dtype for parameter in module.parameters()}
    if types != {PRECISIONS[name]}:
        return f"{name}: holds {', '.join(map(str, types))}"
    try:
        values = outputs(model)
    except Exception as error:
        return f"{name}: first batch: {type(error).__name__}: {error}"[:200]
    return "" if np.abs(values - expected).max() <= TOLERANCE else f"{name}: other numbers than alone"


def alone(home: Path, names: Iterable[str] = LOADS) -> dict[str, np.ndarray]:
    """The outputs of each model, loaded when nothing else is."""
    return {name: outputs(LOADS[name](Registry(Settings(home=home, device="cpu", precision="bf16")))) for name in set(names)}


def fresh_process(couple: tuple[str, str]) -> list[str]:
    """The faults of a double load that is the first thing a new process does."""
    command = [sys.executable, "-m", "tests.attacks.loading", *couple]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.splitlines() if run.returncode == 0 else [f"exit status {run.returncode}: {run.stderr[-300:]}"]


def warm(couples: Iterable[tuple[str, str]], home: Path) -> Iterator[list[str]]:
    """The faults of each double load in this process, whose imports are done."""
    expected = alone(home)
    for couple in couples:
        yield faults(couple, double_load(couple, home), expected)


def child(couple: tuple[str, str]) -> None:
    """Print the faults of one double load, a line each."""
    with tempfile.TemporaryDirectory() as home:
        models = double_load(couple, Path(home))
        for fault in faults(couple, models, alone(Path(home), couple)):
            print(fault.replace("\n", " "))


def count(way: str, loads: Iterable[list[str]]) -> int:
    """Print each fault as it comes, and how many double loads were wrong at the end."""
    results = []
    for texts in bounded(loads):
        results.append(bool(texts))
        if texts:
            print(f"{way} {len(results)}: {'; '.join(texts)}", flush=True)
        elif len(results) % 10 == 0:
            print(f"{way}: {sum(results)} wrong of {len(results)} so far", flush=True)
    print(f"{way}: {sum(results)} wrong of {len(results)}", flush=True)
    return sum(results)


def main(folder: Path, times: int = LOADED) -> bool:
    """Count wrong double loads, warm and in fresh processes: whether there is none."""
    couples = list(islice(cycle(COUPLES), times))
    return not count("warm", warm(couples, folder)) + count("fresh", map(fresh_process, couples))


if __name__ == "__main__":  # in the process that `fresh_process` starts
    child((sys.argv[1], sys.argv[2]))
