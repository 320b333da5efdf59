"""The names of the bundled models and of runs. Apart from the registry, which imports torch: most need the names alone."""

import re

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
DEFAULT_CROSS_ENCODER = "cross-MiniLM-L6-stsb"
RUN_NAME = re.compile(r"runs/[\w-]+")  # a model that was fine-tuned here
NEW_POLY = "new/poly-encoder"  # over the bundled encoder: no word-level network, and only its codes are untrained
