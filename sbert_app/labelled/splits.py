"""Split examples into train, dev (to choose the checkpoint) and held-out (to evaluate it) parts that share no pair."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.labelled.example_set import Examples

HELD_OUT_SHARE, HELD_OUT_MOST = 0.2, 2_000
DEV_SHARE, DEV_MOST = 0.1, 1_000
PARTS = ("train", "dev", "held_out")
STRATA = 5  # scores are split evenly within fifths of their range


@dataclass(frozen=True)
class Split:
    """The three parts of the examples."""

    train: Examples
    dev: Examples
    held_out: Examples
    leaks: int  # examples dropped from train and dev, because dev or held-out has one of their pairs
    shared: int  # held-out sentences that also occur in training, in other pairs

    @property
    def fingerprint(self) -> str:
        """Hash of all examples, 16 hex digits."""
        parts = [[*part.sentences, part.targets.tolist()] for part in (self.train, self.dev, self.held_out)]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def split(examples: Examples, dev: Examples | None = None, held_out: Examples | None = None, seed: int = 0) -> Split:
    """Cut off the parts that are not passed: seeded, stratified by label or score, equal pairs in the same part."""
    train = examples
    if held_out is None:
        train, held_out = _cut(train, _share(len(train), HELD_OUT_SHARE, HELD_OUT_MOST), seed)
    if dev is None:
        share = _share(len(train), DEV_SHARE / (1 - HELD_OUT_SHARE), DEV_MOST)
        train, dev = _cut(train, share, seed + 1)
    clean_dev = _without_pairs(dev, held_out)
    clean = _without_pairs(train, clean_dev, held_out)
    leaks = len(train) - len(clean) + len(dev) - len(clean_dev)
    trained = {sentence for column in clean.sentences for sentence in column}
    shared = len({sentence for column in held_out.sentences for sentence in column} & trained)
    return Split(clean, clean_dev, held_out, leaks, shared)


def _share(count: int, share: float, most: int) -> float:
    return min(share, most / count)


def _cut(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """Return (larger part, smaller part): walk through groups of equal pairs by stratum, taking every 1/share-th."""
    groups: dict[tuple[str, str], list[int]] = {}
    for position in range(len(examples)):
        groups.setdefault(examples.pairs_of(position)[0], []).append(position)
    members = list(groups.values())
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(members))
    strata = _strata(examples)
    order = order[np.argsort([strata[members[i][0]] for i in order], kind="stable")]
    offset = generator.random()
    steps = np.floor(np.arange(len(order) + 1) * share + offset)
    smaller = np.diff(steps) > 0
    positions = [np.array(sorted(p for i in order[part] for p in members[i]), dtype=np.int64) for part in (~smaller, smaller)]
    return examples.take(positions[0]), examples.take(positions[1])


def _strata(examples: Examples) -> NDArray[np.int64]:
    if examples.kind == "scored":
        return np.minimum((examples.targets * STRATA).astype(np.int64), STRATA - 1)
    return examples.targets.astype(np.int64)


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
    """The split that `to_frame` wrote. facts: kind, labels, positive, score_range, leaks, shared."""
    train, dev, held_out = (_examples(frame[frame["part"] == part], facts) for part in PARTS)
    return Split(train, dev, held_out, leaks=facts["leaks"], shared=facts["shared"])


def _examples(frame: pd.DataFrame, facts: dict[str, Any]) -> Examples:
    sentences = tuple(frame[name].tolist() for name in frame.columns if name.startswith("sentence"))
    return Examples(
        kind=facts["kind"],
        sentences=sentences,
        targets=frame["target"].to_numpy(np.float64),
        rows=frame["row"].to_numpy(np.int64),
        labels=tuple(facts["labels"]),
        positive=facts["positive"],
        score_range=tuple(facts["score_range"]),
    )
