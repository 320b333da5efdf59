"""Three parts that share no pair."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sbert_app.labelled.examples import Examples
from sbert_app.labelled.splits import from_frame, split, to_frame


def labelled(pairs, targets):
    sentences = [a for a, _ in pairs], [b for _, b in pairs]
    labels = ("no", "yes")
    return Examples("labelled", sentences, np.array(targets, dtype=float), np.arange(1, len(pairs) + 1), labels, 1)


def keys(part):
    return {pair for i in range(len(part)) for pair in part.pairs_of(i)}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 1)), min_size=20, max_size=120))
def test_no_pair_is_on_two_sides_and_nothing_is_lost(rows):
    examples = labelled([(f"s {a}", f"S  {b}") for a, b, _ in rows], [t for *_, t in rows])
    parts = split(examples)
    assert not keys(parts.train) & keys(parts.held_out)
    assert not keys(parts.train) & keys(parts.dev)
    assert not keys(parts.dev) & keys(parts.held_out)
    assert len(parts.train) + len(parts.dev) + len(parts.held_out) + parts.leaks == len(examples)


def test_shares_and_strata():
    targets = [1] * 250 + [0] * 750
    parts = split(labelled([(f"a{i}", f"b{i}") for i in range(1000)], targets))
    assert (len(parts.train), len(parts.dev), len(parts.held_out)) == (700, 100, 200)
    assert all(abs(part.targets.mean() - 0.25) < 0.02 for part in (parts.train, parts.dev, parts.held_out))


def test_the_same_seed_gives_the_same_split():
    examples = labelled([(f"a{i}", f"b{i}") for i in range(100)], [i % 2 for i in range(100)])
    assert split(examples, seed=3).fingerprint == split(examples, seed=3).fingerprint != split(examples, seed=4).fingerprint


def test_leaks_into_given_parts_are_counted_and_removed():
    train = labelled([(f"a{i}", f"b{i}") for i in range(50)], [i % 2 for i in range(50)])
    held_out = labelled([("B7", " a7"), ("x", "y")] * 10, [0, 1] * 10)  # pair 7 the other way round, in other writing
    parts = split(train, dev=train.take(np.array([3, 4])), held_out=held_out)
    assert parts.leaks == 3 and len(parts.train) == 47
    assert parts.shared == 0
    parts = split(train, held_out=labelled([("a1", "new")] * 20, [0, 1] * 10), dev=held_out)
    assert parts.shared == 1


def test_triplets_leak_by_either_pair():
    sentences = ["a", "b", "c"], ["p", "q", "r"], ["n", "m", "o"]
    train = Examples("triplets", sentences, np.zeros(3), np.arange(1, 4))
    held_out = replace(train, sentences=(["A", "z"], ["z1", "z2"], ["N", "z3"]), targets=np.zeros(2), rows=np.arange(1, 3))
    assert split(train, dev=held_out, held_out=held_out).train.sentences[0] == ["b", "c"]


def test_a_split_survives_its_file():
    parts = split(labelled([(f"a{i}", f'b{i}, "x"\n') for i in range(50)], [i % 2 for i in range(50)]))
    facts = {"kind": "labelled", "labels": ["no", "yes"], "positive": 1, "score_range": [0, 1], "leaks": 0, "shared": 0}
    assert from_frame(to_frame(parts), facts).fingerprint == parts.fingerprint
