"""What the tests of models share."""

import shutil
from pathlib import Path

import pytest

from sbert_app.models.registry import Registry
from sbert_app.settings import Settings


@pytest.fixture
def registry(tmp_path):
    """A registry of its own home, in fp32 on the CPU."""
    return Registry(Settings(home=tmp_path / "home", device="cpu", precision="fp32"))


@pytest.fixture
def mine(registry, model_folder) -> Path:
    """A copy of the bundled folder under models/."""
    return Path(shutil.copytree(model_folder, registry.settings.models / "mine"))
