"""Split examples into train, dev (to choose the checkpoint) and held-out (to evaluate it) parts that share no pair."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.labelled import example_set
from sbert_app.labelled.columns import NAMES_OF_PARTS
from sbert_app.labelled.example_set import COLUMN, GIVEN, NAMED, PAIRS, SENTENCES, Examples, Separation
from sbert_app.vectors import Integers, Mask

HELD_OUT_SHARE, HELD_OUT_MOST = 0.2, 2_000
DEV_SHARE, DEV_MOST = 0.1, 1_000
SMALLEST, LARGEST = 0.5, 2.5  # a part is useful from half to two and a half times the wanted size
PARTS = ("train", "dev", "held_out")
GROUPS = {SENTENCES: example_set.sentence_groups, PAIRS: example_set.pair_groups}
STRATA = 5  # scores are split evenly within fifths of their range


@dataclass(frozen=True)
class Column:
    """A column to split by: its name, and its value for each example."""

    name: str
    values: Sequence[str]

    def parts(self) -> dict[str, NDArray[np.intp]]:
        """The positions of the examples of each of PARTS, where the values name them, such as train, dev and test; else none."""
        named = np.array([NAMES_OF_PARTS.get(value.strip().lower(), "") for value in self.values])
        parts = {part: np.flatnonzero(named == part) for part in PARTS if part in named}
        return parts if "" not in named and "train" in parts and len(parts) > 1 else {}


@dataclass(frozen=True)
class Split:
    """The three parts of the examples."""

    train: Examples
    dev: Examples
    held_out: Examples
    leaks: int  # examples dropped from train and dev, because dev or held-out has one of their pairs
    shared: int  # held-out sentences that also occur in training, in other pairs
    separation: Separation = field(default_factory=Separation)

    @property
    def fingerprint(self) -> str:
        """Hash of all examples, 16 hex digits."""
        parts = [[*part.sentences, part.targets.tolist()] for part in (self.train, self.dev, self.held_out)]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def split(
    examples: Examples, dev: Examples | None = None, held_out: Examples | None = None, by: str = SENTENCES,
    column: Column | None = None,
) -> Split:  # fmt: skip
    """Cut off the parts that are not passed: seeded, stratified by label or score, what belongs together in the same part.

    by: SENTENCES or PAIRS; a column comes before it, and may name the parts. Raises UserError if its values cannot be split.
    """
    wanted, name, named = COLUMN if column else by, column.name if column else "", column.parts() if column else {}
    held_out_by, dev_by, connected = GIVEN, GIVEN, 0
    pool = examples  # in no part yet
    if named:
        pool, column = examples.take(named["train"]), None
        if held_out is None and "held_out" in named:
            held_out, held_out_by = examples.take(named["held_out"]), NAMED
        if dev is None and "dev" in named:
            dev, dev_by = examples.take(named["dev"]), NAMED
    if held_out is None:
        levels: tuple[str, ...] = (COLUMN,) if column else (SENTENCES, PAIRS) if by == SENTENCES else (PAIRS,)
        chosen, held_out_by, connected = _cut(pool, column, levels, HELD_OUT_SHARE, HELD_OUT_MOST, seed=0)
        held_out, pool = pool.take(np.flatnonzero(chosen)), pool.take(np.flatnonzero(~chosen))
        column = column and Column(column.name, list(compress(column.values, ~chosen)))
    if dev is None:
        levels = (PAIRS,) if PAIRS in (wanted, held_out_by) else (COLUMN, SENTENCES, PAIRS) if column else (SENTENCES, PAIRS)
        chosen, dev_by, _ = _cut(pool, column, levels, DEV_SHARE / (1 - HELD_OUT_SHARE), DEV_MOST, seed=1)
        dev, pool = pool.take(np.flatnonzero(chosen)), pool.take(np.flatnonzero(~chosen))
    clean_dev = _without_pairs(dev, held_out)
    clean = _without_pairs(pool, clean_dev, held_out)
    leaks = len(pool) - len(clean) + len(dev) - len(clean_dev)
    shared = len(set(chain(*held_out.normalised)) & set(chain(*clean.normalised)))
    return Split(clean, clean_dev, held_out, leaks, shared, Separation(wanted, held_out_by, dev_by, name, connected))


def _cut(pool: Examples, column: Column | None, levels: Sequence[str], share: float, most: int, seed: int) -> tuple[Mask, str, int]:
    """Choose a part by the first level that allows one of a useful size. Returns which examples it has, that level, and the size
    of the largest group of the levels before it. Raises UserError if no level does."""
    strata = (np.minimum(pool.targets * STRATA, STRATA - 1) if pool.kind == "scored" else pool.targets).astype(np.int64)
    count, largest = max(1, round(min(share * len(pool), most))), 0
    for level in levels:
        groups = example_set.column_groups(column.values) if level == COLUMN and column else GROUPS[level](pool)
        chosen = _choose(groups, strata, count, seed)
        if SMALLEST * count <= chosen.sum() <= LARGEST * count or (level == PAIRS and chosen.any()):
            return chosen, level, largest
        largest = int(np.bincount(groups).max())
    if column is None:
        raise UserError("Nearly all rows hold the same pair, so no three parts can be cut. Add rows with other sentences.")
    raise UserError(
        f"The column '{column.name}' cannot split these {len(pool):,} examples: {largest:,} have the same value, "
        f"and no values add up to about {count:,}. Choose another column, or none."
    )


def _choose(groups: Integers, strata: Integers, count: int, seed: int) -> Mask:
    """Choose whole groups of about `count` examples, in random order: first those that fit and bring each stratum closer to its
    share, then those that bring the number closer to `count`."""
    generator = np.random.default_rng(seed)
    members = [Counter[int]() for _ in range(int(groups.max()) + 1)]
    for group, stratum in zip(groups.tolist(), strata.tolist(), strict=True):
        members[group][stratum] += 1
    missing, left = _targets(strata, count, generator), count
    order = generator.permutation(len(members)).tolist()
    chosen = np.zeros(len(members), dtype=bool)
    for group, by_stratum in [*((group, True) for group in order), *((group, False) for group in order)]:
        size = members[group].total()
        # By how much taking the group lowers the squared distance to the targets of the strata.
        gain = sum((2 * missing[stratum] - number) * number for stratum, number in members[group].items())
        if not chosen[group] and (size <= left and gain > 0 if by_stratum else size < 2 * left):
            chosen[group] = True
            left -= size
            missing.subtract(members[group])
    if not chosen.any() and len(members) > 1:
        chosen[int(np.argmin(np.bincount(groups)))] = True
    return chosen[groups]


def _targets(strata: Integers, count: int, generator: np.random.Generator) -> Counter[int]:
    """Distribute `count` over the strata by their sizes, the largest remainders rounded up."""
    names, sizes = np.unique(strata, return_counts=True)
    shares = sizes * count / len(strata)
    order = generator.permutation(len(names))
    order = order[np.argsort(np.floor(shares)[order] - shares[order], kind="stable")]
    targets = np.floor(shares).astype(np.int64)
    targets[order[: count - int(targets.sum())]] += 1
    return Counter(dict(zip(names.tolist(), targets.tolist(), strict=True)))


def _without_pairs(examples: Examples, *others: Examples) -> Examples:
    """The examples that share no pair with the others."""
    used = {pair for other in others for i in range(len(other)) for pair in other.pairs_of(i)}
    clean = [i for i in range(len(examples)) if used.isdisjoint(examples.pairs_of(i))]
    return examples if len(clean) == len(examples) else examples.take(np.array(clean, dtype=np.int64))


def to_frame(split: Split) -> pd.DataFrame:
    """A table of all examples, one row each, with their part."""
    frames = []
    for part in PARTS:
        examples: Examples = getattr(split, part)
        columns = {f"sentence{i}": column for i, column in enumerate(examples.sentences, 1)}
        frames.append(pd.DataFrame({"part": part, **columns, "target": examples.targets, "row": examples.rows}))
    return pd.concat(frames, ignore_index=True)


def from_frame(frame: pd.DataFrame, facts: dict[str, Any]) -> Split:
    """The split that `to_frame` wrote. facts: kind, labels, positive, score_range, leaks, shared; split, except in older runs."""
    sentences = tuple(frame[name].tolist() for name in frame.columns if name.startswith("sentence"))
    targets, rows = frame["target"].to_numpy(np.float64), frame["row"].to_numpy(np.int64)
    labels, score_range = tuple(facts["labels"]), tuple(facts["score_range"])
    examples = Examples(facts["kind"], sentences, targets, rows, labels, facts["positive"], score_range)
    train, dev, held_out = (examples.take(np.flatnonzero((frame["part"] == part).to_numpy())) for part in PARTS)
    return Split(train, dev, held_out, facts["leaks"], facts["shared"], Separation(**facts.get("split", {})))
