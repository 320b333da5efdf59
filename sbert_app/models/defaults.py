"""The names of the bundled models, of drafts and runs. Apart from the registry, which imports torch: most need the names alone."""

import re

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
DEFAULT_CROSS_ENCODER = "cross-MiniLM-L6-stsb"
RUN_NAME = re.compile(r"runs/[\w-]+")  # a model that was fine-tuned here
NEW_POLY = "new/poly-encoder"  # over the bundled encoder: no word-level network, and only its codes are untrained
PREFIX = "draft/"  # before an encoder's name: its draft in int8


def is_draft(name: str) -> bool:
    return name.startswith(PREFIX)


def full_name(name: str) -> str:
    """The name of the model that a draft is of; any other name as it is."""
    return name.removeprefix(PREFIX)
