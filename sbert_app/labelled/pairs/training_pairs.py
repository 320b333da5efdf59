"""Remember which pairs a model was trained on, as digests beside its weights: a figure on these pairs says nothing about others."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.cache import keys_of
from sbert_app.labelled.example_set import Examples

FILE = "training_pairs.npy"
Digests = NDArray[np.uint64]


def digests(examples: Examples) -> Digests:
    """One digest for each example's pair, (n,), whatever its order, case and spaces; of triplets anchor and positive."""
    return keys_of(["\0".join(examples.pairs_of(position)[0]) for position in range(len(examples))])


def trained_on(folder: Path | None) -> Digests:
    """The digests beside a model's weights; none if they are not known."""
    nothing: Digests = np.empty(0, np.uint64)
    if folder is None:
        return nothing
    try:
        known: Digests = np.load(folder / FILE, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return nothing
    return known if known.dtype == np.uint64 and known.ndim == 1 else nothing


def remember(folder: Path, examples: Examples, before: Digests) -> None:
    """Write the digests of these examples and of what the model was trained on before."""
    np.save(folder / FILE, np.unique(np.concatenate([before, digests(examples)])))
