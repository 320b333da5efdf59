"""Train, dev and held-out parts that share no pair: dev picks the checkpoint, held-out alone judges it."""

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
    """Three parts. `leaks`: training examples that were left out, since a pair of theirs is in dev or held-out.

    `shared`: held-out sentences that also occur in training, in other pairs.
    """

    train: Examples
    dev: Examples
    held_out: Examples
    leaks: int
    shared: int

    @property
    def fingerprint(self) -> str:
        """Differs between splits that hold other examples. 16 hex digits."""
        parts = [[*part.sentences, part.targets.tolist()] for part in (self.train, self.dev, self.held_out)]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def split(examples: Examples, dev: Examples | None = None, held_out: Examples | None = None, seed: int = 0) -> Split:
    """Cut off what is not given: seeded, the same share of every label or score range, equal pairs on one side."""
    train = examples
    if held_out is None:
        train, held_out = _cut(train, _share(len(train), HELD_OUT_SHARE, HELD_OUT_MOST), seed)
    if dev is None:
        share = _share(len(train), DEV_SHARE / (1 - HELD_OUT_SHARE), DEV_MOST)
        train, dev = _cut(train, share, seed + 1)
    kept_dev = _without_pairs(dev, held_out)
    kept = _without_pairs(train, kept_dev, held_out)
    leaks = len(train) - len(kept) + len(dev) - len(kept_dev)
    known = {sentence for column in kept.sentences for sentence in column}
    shared = len({sentence for column in held_out.sentences for sentence in column} & known)
    return Split(kept, kept_dev, held_out, leaks, shared)


def _share(count: int, share: float, most: int) -> float:
    return min(share, most / count)


def _cut(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """(the larger part, the smaller part): walk through the groups stratum by stratum and take every 1/share-th."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place in range(len(examples)):
        groups.setdefault(examples.pairs_of(place)[0], []).append(place)
    members = list(groups.values())
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(members))
    strata = _strata(examples)
    order = order[np.argsort([strata[members[i][0]] for i in order], kind="stable")]
    offset = generator.random()
    steps = np.floor(np.arange(len(order) + 1) * share + offset)
    taken = np.diff(steps) > 0
    places = [np.array(sorted(p for i in order[side] for p in members[i]), dtype=np.int64) for side in (~taken, taken)]
    return examples.take(places[0]), examples.take(places[1])


def _strata(examples: Examples) -> NDArray[np.int64]:
    if examples.kind == "scored":
        return np.minimum((examples.targets * STRATA).astype(np.int64), STRATA - 1)
    return examples.targets.astype(np.int64)


def _without_pairs(examples: Examples, *others: Examples) -> Examples:
    """The examples none of whose pairs occurs in the others."""
    taken = {pair for other in others for place in range(len(other)) for pair in other.pairs_of(place)}
    free = [place for place in range(len(examples)) if taken.isdisjoint(examples.pairs_of(place))]
    return examples if len(free) == len(examples) else examples.take(np.array(free, dtype=np.int64))


def to_frame(split: Split) -> pd.DataFrame:
    """All examples with their part, one row each."""
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
