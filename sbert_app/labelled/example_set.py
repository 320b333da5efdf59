"""Labelled examples as arrays, without the table readers, which a machine that only trains need not have; which belong together."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Array, Integers, distinct
from sbert_app.wording import amount

Groups = NDArray[np.int64]  # (n,) each example's group, counted from 0 in order of appearance
SENTENCES, PAIRS, COLUMN = "sentences", "pairs", "column"
SPLITS = (SENTENCES, PAIRS)  # a column is chosen by its name
GIVEN = "file"  # a part that is a file of its own
NAMED = "named"  # a part that the values of a column name
NAMES = {SENTENCES: "by sentences", PAIRS: "by pairs", GIVEN: "a file of its own"}
MEANINGS = {
    SENTENCES: "Examples that share a sentence stay together, so no held-out sentence occurs in training.",
    PAIRS: "No pair is in two parts, but a held-out sentence may occur in training, in another pair.",
    GIVEN: "The held-out part is your own file. Training examples with a pair of it were removed.",
    NAMED: "The column '{}' names the held-out rows. Training examples with a pair of them were removed.",
    COLUMN: "Each value of the column '{}' is in one part only, so the verdict is about values not trained on.",
}
FILE = "training_pairs.npy"
Digests = NDArray[np.uint64]


@dataclass(frozen=True)
class Examples:
    """n examples in file order. `sentences` holds 2 or 3 columns of n; `rows` their row numbers in the file, counted from 1."""

    kind: str  # one of columns.KINDS
    sentences: tuple[list[str], ...]
    targets: Array  # (n,) scored: the score as 0..1; labelled: the label's number; else 0
    rows: Integers
    labels: tuple[str, ...] = ()
    positive: int = -1  # labelled: the number of the label that means "the same"
    score_range: tuple[float, float] = (0.0, 1.0)  # scored: what 0 and 1 were in the file

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, positions: Integers) -> "Examples":
        """The examples at these positions, in this order."""
        columns = tuple([column[i] for i in positions.tolist()] for column in self.sentences)
        return replace(self, sentences=columns, targets=self.targets[positions], rows=self.rows[positions])

    def for_ranking(self) -> "Examples":
        """The examples that ranking can learn from: of labelled pairs those whose label means "the same"."""
        return self.take(np.flatnonzero(self.gold == 1)) if self.kind == "labelled" else self

    @property
    def gold(self) -> Array:
        """Expected similarity of each pair, (n,), 0..1: the score, or 1 for the label that means "the same", else 0."""
        return (self.targets == self.positive).astype(np.float64) if self.kind == "labelled" else self.targets

    @property
    def normalised(self) -> list[list[str]]:
        """The sentence columns with case and spaces normalised: equal texts are the same sentence."""
        return [[normalise(sentence) for sentence in column] for column in self.sentences]

    @property
    def groups(self) -> Integers:
        """For each example its group, (n,): those with the same first sentence are one, and are resampled together."""
        return np.unique(self.normalised[0], return_inverse=True)[1].astype(np.int64)

    def pairs_of(self, position: int) -> list[tuple[str, str]]:
        """The sentence pairs of one example, normalised, each in alphabetical order."""
        anchor, *others = (normalise(column[position]) for column in self.sentences)
        return [(min(anchor, other), max(anchor, other)) for other in others]


def normalise(text: str) -> str:
    """The text without differences of case and spaces."""
    return " ".join(text.casefold().split())


def sentence_groups(examples: Examples) -> Groups:
    """Examples that are connected by equal sentences, directly or through other examples, are one group."""
    from scipy.sparse import coo_matrix  # a third of a second
    from scipy.sparse.csgraph import connected_components

    count, towers = len(examples), len(examples.sentences)
    node = distinct([sentence for column in examples.normalised for sentence in column])[1].reshape(towers, count)
    anchors = np.tile(node[0], towers - 1)
    edges = coo_matrix((np.ones(len(anchors), dtype=bool), (anchors, node[1:].ravel())), shape=(node.max() + 1,) * 2)
    _, component = connected_components(edges, directed=False)
    return distinct(component[node[0]].tolist())[1]


def pair_groups(examples: Examples) -> Groups:
    """Examples of the same pair are one group; of triplets, the pair is anchor and positive."""
    return distinct([examples.pairs_of(position)[0] for position in range(len(examples))])[1]


def column_groups(values: Sequence[str]) -> Groups:
    """Examples of the same value are one group; case and spaces do not matter."""
    return distinct([normalise(value) for value in values])[1]


@dataclass(frozen=True)
class Separation:
    """How the held-out and the dev part were cut. `connected`: examples in one group, if that prevented the wanted split."""

    wanted: str = PAIRS  # SENTENCES, PAIRS or COLUMN
    held_out: str = PAIRS  # the same, GIVEN or NAMED
    dev: str = PAIRS
    column: str = ""
    connected: int = 0

    @property
    def name(self) -> str:
        """How the held-out part was cut, in a few words."""
        return f"by the values of '{self.column}'" if self.held_out in (COLUMN, NAMED) else NAMES[self.held_out]

    def sentences(self) -> list[str]:
        """What the held-out part does not share with training, and what could not be done as wanted."""
        meaning = MEANINGS[self.held_out].format(self.column)
        if self.wanted == SENTENCES and self.held_out == PAIRS:
            reason = (
                f"A split by sentences is not possible: {self.connected:,} examples are connected by shared sentences, so too few "
                "are left to hold out. The data is split by pairs."
            )
            return [reason, meaning]
        if self.dev not in (self.wanted, GIVEN, NAMED):
            return [meaning, f"The part for choosing the checkpoint is split {NAMES[self.dev]}."]
        return [meaning]


def shared_warning(shared: int) -> str:
    """The warning about held-out sentences that also occur in training, "" if there are none."""
    if not shared:
        return ""
    occur = amount(shared, "held-out sentence occurs", "held-out sentences occur")
    return f"{occur} also in training, in other pairs: on new sentences the result may be lower."


def digests(examples: Examples) -> Digests:
    """One digest for each example's pair, (n,), whatever its order, case and spaces; of triplets anchor and positive."""
    from sbert_app.corpus.cache import keys_of  # it knows the data home, which a bare GPU machine has not

    return keys_of(["\0".join(examples.pairs_of(position)[0]) for position in range(len(examples))])


def seen_by(known: Digests, examples: Examples) -> int:
    """How many of the examples are among those that a model was trained on, as far as is known."""
    return int(np.isin(digests(examples), known).sum()) if len(known) else 0


def trained_on(folder: Path | None) -> Digests:
    """The digests beside a model's weights; none if they are not known."""
    if folder is not None:
        with suppress(OSError, ValueError, EOFError):
            known: Digests = np.load(folder / FILE, allow_pickle=False)
            if known.dtype == np.uint64 and known.ndim == 1:
                return known
    return np.empty(0, np.uint64)


def remember(folder: Path, examples: Examples, before: Digests) -> None:
    """Write the digests of these examples and of what the model was trained on before."""
    np.save(folder / FILE, np.unique(np.concatenate([before, digests(examples)])))
