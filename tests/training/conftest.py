"""Small real examples: the project's own labelled files, read once."""

import csv
from pathlib import Path

import numpy as np
import pytest

from sbert_app.models.hardware import Hardware, choose_hardware
from sbert_app.training.examples import Examples

LABELLED = Path(__file__).parents[2] / "assets" / "labelled"


@pytest.fixture(scope="session")
def cpu() -> Hardware:
    return choose_hardware("cpu", "fp32")


@pytest.fixture(scope="session")
def scored() -> Examples:
    """120 scored pairs, 0..1."""
    with (LABELLED / "requests_scored.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:120]
    sentences = [row["sentence1"] for row in rows], [row["sentence2"] for row in rows]
    return Examples("scored", sentences, np.array([float(row["score"]) / 5 for row in rows]), np.arange(1, 121))
