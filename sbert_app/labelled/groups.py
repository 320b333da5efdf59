"""Group examples that one part must hold together: by sentence, by pair, or by the value of a column."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sbert_app.labelled.example_set import Examples, normalise

Groups = NDArray[np.int64]  # (n,) each example's group, counted from 0

SENTENCES, PAIRS, COLUMN = "sentences", "pairs", "column"
SPLITS = (SENTENCES, PAIRS)  # a column is chosen by its name


def sentence_groups(examples: Examples) -> Groups:
    """Examples that are connected by equal sentences, directly or through other examples, are one group."""
    from scipy.sparse import coo_matrix  # a third of a second
    from scipy.sparse.csgraph import connected_components

    count, towers = len(examples), len(examples.sentences)
    normalised = [sentence for column in examples.normalised for sentence in column]
    node = _numbered(normalised).reshape(towers, count)
    anchors = np.tile(node[0], towers - 1)
    edges = coo_matrix((np.ones(len(anchors), dtype=bool), (anchors, node[1:].ravel())), shape=(node.max() + 1,) * 2)
    _, component = connected_components(edges, directed=False)
    return _numbered(component[node[0]].tolist())


def pair_groups(examples: Examples) -> Groups:
    """Examples of the same pair are one group; of triplets, the pair is anchor and positive."""
    return _numbered([examples.pairs_of(position)[0] for position in range(len(examples))])


def column_groups(values: Sequence[str]) -> Groups:
    """Examples of the same value are one group; case and spaces do not matter."""
    return _numbered([normalise(value) for value in values])


def _numbered(keys: Sequence[object]) -> Groups:
    """Number equal keys equally, in order of appearance."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
