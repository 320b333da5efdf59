"""Where the checks run, on which weights and which sentences. Imports nothing that a bare GPU machine lacks."""

import csv
import json
import os
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from sbert_app.labelled.example_set import Examples
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.files.finding import bundled_folder

ROOT = Path(__file__).parents[2]
CARRIED = ROOT / ".carry" / "all-MiniLM-L6-v2"
ADAPTER = ROOT / "assets" / "cross_encoder"
DEVICE = os.environ.get("SBERT_CUDA_CHECKS_DEVICE", "cuda")  # "cpu": a dry run of what needs no GPU
TICKETS = 60 if DEVICE == "cpu" else 600

CPU = Hardware(torch.device("cpu"), torch.float32)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def available() -> bool:
    return DEVICE == "cpu" or torch.cuda.is_available()


def hardware(dtype: torch.dtype = torch.float32) -> Hardware:
    return Hardware(torch.device(DEVICE), dtype)


def model_folder() -> Path:
    """The carried weights, else those of the installed package. Raises FileNotFoundError where there are neither."""
    if (CARRIED / "model.safetensors").exists():
        return CARRIED
    with suppress(ImportError):  # where tests.cuda.bare plays a machine without the package
        if folder := bundled_folder():
            return folder
    raise FileNotFoundError(f"No weights: run `python -m tests.cuda.carry` where the package is, and bring {CARRIED.parent}.")


def merge_adapter(base: Path, adapter: Path, target: Path) -> Path:
    """Write the cross-encoder that `base` and a LoRA adapter make, by hand: W + (alpha / r) B A, and the adapter's head."""
    settings = json.loads((adapter / "adapter_config.json").read_text())
    parts = {key.removeprefix("base_model.model."): part.float() for key, part in _weights(adapter / "adapter_model.safetensors")}
    weights = {f"bert.{key}": weight.float() for key, weight in _weights(base / "model.safetensors")}
    for key in [key for key in parts if ".lora_A." in key]:
        change = parts.pop(key.replace("lora_A", "lora_B")) @ parts.pop(key)
        weights[key.replace("lora_A.", "")] += change * settings["lora_alpha"] / settings["r"]
    target.mkdir(parents=True, exist_ok=True)
    save_file(weights | parts, target / "model.safetensors", metadata={"format": "pt"})
    for path in base.glob("*.*"):
        if (path.suffix in (".json", ".txt") and "tokenizer" in path.name) or path.stem in ("vocab", "special_tokens_map"):
            shutil.copy(path, target)
    labels = json.loads((adapter / "labels.json").read_text())["labels"]
    config = json.loads((base / "config.json").read_text())
    config |= {"architectures": ["BertForSequenceClassification"], "id2label": {str(i): f"LABEL_{i}" for i in range(labels)}}
    config["label2id"] = {name: int(number) for number, name in config["id2label"].items()}
    (target / "config.json").write_text(json.dumps(config))
    return target


def _weights(path: Path) -> list[tuple[str, torch.Tensor]]:
    return [(key, weight) for key, weight in load_file(path).items() if not key.endswith("position_ids")]


@cache
def tickets() -> list[str]:
    """Some example tickets: real sentences of many lengths, always there."""
    with (ROOT / "assets" / "examples" / "support_tickets.csv").open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)][:TICKETS]


@cache
def words() -> list[str]:
    """The words of the example files, each once."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "assets" / "examples").glob("*.csv"))]
    return sorted({word for text in texts for word in text.lower().split() if word.isalpha()})


def made_sentences(count: int, length: int, seed: int = 0) -> list[str]:
    """`count` distinct sentences of `length` random words each."""
    generator, known = np.random.default_rng(seed), np.array(words())
    return [" ".join(row) for row in known[generator.integers(0, len(known), (count, length))]]


@cache
def scored(count: int = 64) -> Examples:
    """The first labelled pairs of the project's own file, scores as 0..1."""
    with (ROOT / "assets" / "labelled" / "requests_scored.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:count]
    columns = [row["sentence1"] for row in rows], [row["sentence2"] for row in rows]
    return Examples("scored", columns, np.array([float(row["score"]) for row in rows]) / 5, np.arange(1, len(rows) + 1))


def examples(kind: str) -> Examples:
    """The same pairs as examples of any kind: with a label for a high score, or with another's sentence as the negative."""
    pairs = scored()
    first, second = pairs.sentences
    if kind == "labelled":
        return Examples(kind, pairs.sentences, (pairs.targets > 0.5) * 1.0, pairs.rows, ("other", "same"), positive=1)
    columns = (first, second, [*second[1:], second[0]]) if kind == "triplets" else pairs.sentences
    return Examples(kind, columns, pairs.targets if kind == "scored" else np.zeros(len(pairs)), pairs.rows)
