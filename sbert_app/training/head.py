"""Save and load the softmax classifier of a trained encoder: `softmax_head/` in the model folder."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from sbert_app.models.files.folders import damaged, first_line, read_json, write_json
from sbert_app.training.objectives import Classification
from sbert_app.vectors import Vectors

FOLDER = "softmax_head"


def save_head(folder: Path, head: Classification, labels: tuple[str, ...]) -> None:
    """Write the head into a model folder. sentence-transformers ignores it."""
    target = folder / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    weights = {name: weight.detach().cpu().contiguous() for name, weight in head.state_dict().items()}
    save_file(weights, target / "model.safetensors")
    write_json(target / "config.json", {"concatenation": head.concatenation, "labels": labels})


def load_head(folder: Path) -> tuple[Classification, tuple[str, ...]] | None:
    """Return (head, labels) of a model folder, None if it has no head. Raises UserError if it is damaged."""
    config = read_json(folder / FOLDER / "config.json", folder.name)
    if config == {}:
        return None
    try:
        weights = load_file(folder / FOLDER / "model.safetensors")
        labels = tuple(config["labels"])
        blocks = len(Classification(1, 1, config["concatenation"]).head.weight[0])
        head = Classification(weights["head.weight"].shape[1] // blocks, len(labels), config["concatenation"])
        head.load_state_dict(weights)
    except Exception as error:  # safetensors and torch raise half a dozen types
        raise damaged(folder.name, f"{FOLDER}: {first_line(error)}") from error
    return head.eval(), labels


def predict_labels(head: Classification, u: Vectors, v: Vectors) -> NDArray[np.int64]:
    """The likeliest label of each pair. (n, dim), (n, dim) -> (n,)."""
    with torch.inference_mode():
        device = head.head.weight.device
        logits = head.logits(torch.from_numpy(u).to(device), torch.from_numpy(v).to(device))
        return logits.argmax(1).cpu().numpy()
