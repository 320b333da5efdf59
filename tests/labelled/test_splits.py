"""Three parts that share no pair, and by default no sentence."""

import itertools
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sbert_app.errors import UserError
from sbert_app.labelled.example_set import COLUMN, GIVEN, PAIRS, SENTENCES
from sbert_app.labelled.examples import Examples
from sbert_app.labelled.splits import Column, from_frame, split, to_frame


def labelled(pairs, targets):
    sentences = [a for a, _ in pairs], [b for _, b in pairs]
    labels = ("no", "yes")
    return Examples("labelled", sentences, np.array(targets, dtype=float), np.arange(1, len(pairs) + 1), labels, 1)


def keys(part):
    return {pair for i in range(len(part)) for pair in part.pairs_of(i)}


def sentences_of(part):
    return {" ".join(sentence.casefold().split()) for column in part.sentences for sentence in column}


def three(parts):
    return parts.train, parts.dev, parts.held_out


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(20, 150), st.integers(2, 200), st.sampled_from(["aA", "bB"]))
def test_no_pair_is_in_two_parts_by_sentences_no_sentence_and_nothing_is_lost(seed, count, width, case):
    """From few sentences, which connect nearly everything (then the split says that it is by pairs), to many."""
    first, shift, targets = np.random.default_rng(seed).integers(0, [[width], [5], [2]], size=(3, count)).tolist()
    examples = labelled([(f"a {a}", f"{case[t]}  {a + b}") for a, b, t in zip(first, shift, targets, strict=True)], targets)
    try:
        parts = split(examples)
    except UserError:
        pairs = [pair for i in range(len(examples)) for pair in examples.pairs_of(i)]
        assert max(map(pairs.count, pairs)) > len(pairs) / 2
        return
    assert sum(map(len, three(parts))) + parts.leaks == len(examples)
    assert not any(keys(one) & keys(other) for one, other in itertools.combinations(three(parts), 2))
    if parts.separation.held_out == SENTENCES:
        assert not sentences_of(parts.held_out) & (sentences_of(parts.train) | sentences_of(parts.dev)) and parts.shared == 0
    if parts.separation.dev == SENTENCES:
        assert not sentences_of(parts.dev) & sentences_of(parts.train)
        assert parts.leaks == 0


def test_components_of_any_shape_stay_whole_and_the_sizes_stay_near():
    """Chains, stars and single pairs, 1 to 12 examples each, of both labels."""
    generator = np.random.default_rng(5)
    pairs = []
    for component in range(200):
        size = int(generator.integers(1, 13))
        star = component % 2
        pairs += [(f"{component} {0 if star else i}", f"{component} {i + 1}") for i in range(size)]
    targets = generator.integers(0, 2, size=len(pairs))
    parts = split(labelled(pairs, targets), by=SENTENCES)
    assert parts.separation.held_out == parts.separation.dev == SENTENCES
    for one, other in itertools.combinations(three(parts), 2):
        assert not {s.split()[0] for s in sentences_of(one)} & {s.split()[0] for s in sentences_of(other)}
    assert len(parts.held_out) == pytest.approx(0.2 * len(pairs), rel=0.05)
    assert len(parts.dev) == pytest.approx(0.1 * len(pairs), rel=0.1)
    assert all(abs(part.targets.mean() - targets.mean()) < 0.06 for part in three(parts))


def test_examples_that_are_all_connected_are_split_by_pairs_and_that_is_said():
    pairs = list(itertools.combinations([f"sentence {i}" for i in range(15)], 2))
    parts = split(labelled(pairs, [i % 2 for i in range(len(pairs))]))
    assert (parts.separation.wanted, parts.separation.held_out, parts.separation.connected) == (SENTENCES, PAIRS, 105)
    assert "105 examples are connected by shared sentences" in parts.separation.sentences()[0]
    assert parts.shared > 0 and len(parts.held_out) == 21


def test_a_large_component_stays_in_training():
    chain = [(f"c{i}", f"c{i + 1}") for i in range(600)]
    parts = split(labelled([*chain, *((f"a{i}", f"b{i}") for i in range(400))], [i % 2 for i in range(1000)]))
    assert (len(parts.train), len(parts.dev), len(parts.held_out)) == (700, 100, 200)
    assert parts.separation.held_out == SENTENCES and "c7" in sentences_of(parts.train)


def test_by_pairs_is_the_split_that_shares_sentences():
    pairs = [(f"a{i // 2}", f"b{i}") for i in range(400)]
    targets = [i % 2 for i in range(400)]
    assert split(labelled(pairs, targets)).shared == 0
    by_pairs = split(labelled(pairs, targets), by=PAIRS)
    assert by_pairs.shared > 10 and by_pairs.separation.wanted == by_pairs.separation.held_out == PAIRS


def test_by_a_column_each_value_is_in_one_part():
    topics = [f"Topic {'x' if i % 3 else 'X'}{i % 20}" for i in range(600)]
    examples = labelled([(f"a{i}", f"b{i}") for i in range(600)], [(i // 20) % 2 for i in range(600)])
    parts = split(examples, column=Column("topic", topics))
    topic_of = dict(zip(examples.rows.tolist(), (topic.casefold() for topic in topics), strict=True))
    values = [{topic_of[row] for row in part.rows.tolist()} for part in three(parts)]
    assert all(not one & other for one, other in itertools.combinations(values, 2)) and len(set.union(*values)) == 20
    assert (len(parts.train), len(parts.dev), len(parts.held_out)) == (420, 60, 120)
    assert (parts.separation.held_out, parts.separation.column) == (COLUMN, "topic")
    assert "'topic'" in parts.separation.sentences()[0]


def test_a_column_that_names_the_parts_is_followed():
    examples = labelled([(f"a {i}", f"b {i}") for i in range(40)], [i % 2 for i in range(40)])
    parts = split(examples, column=Column("part", [*["train"] * 25, *["Validation"] * 5, *["test"] * 10]))
    assert [part.rows.tolist() for part in three(parts)] == [[*range(1, 26)], [*range(26, 31)], [*range(31, 41)]]
    assert parts.separation.sentences()[0].startswith("The column 'part' names the held-out rows.")


def test_a_column_that_cannot_split_and_one_pair_only_are_refused():
    examples = labelled([(f"a{i}", f"b{i}") for i in range(100)], [i % 2 for i in range(100)])
    for values in (["same"] * 100, ["large"] * 96 + ["small"] * 4):
        with pytest.raises(UserError, match="The column 'topic' cannot split these 100 examples: (100|96) have the same value"):
            split(examples, column=Column("topic", values))
    with pytest.raises(UserError, match="Nearly all rows hold the same pair"):
        split(labelled([("a", "b")] * 30, [i % 2 for i in range(30)]))


def test_two_values_of_a_column_are_split_and_the_dev_part_otherwise():
    examples = labelled([(f"a{i}", f"b{i}") for i in range(100)], [i % 2 for i in range(100)])
    parts = split(examples, column=Column("source", ["one"] * 60 + ["two"] * 40))
    assert len(parts.held_out) == 40 and (parts.separation.held_out, parts.separation.dev) == (COLUMN, SENTENCES)
    assert "The part for choosing the checkpoint is split by sentences." in parts.separation.sentences()


def test_shares_and_strata():
    targets = [1] * 250 + [0] * 750
    parts = split(labelled([(f"a{i}", f"b{i}") for i in range(1000)], targets))
    assert (len(parts.train), len(parts.dev), len(parts.held_out)) == (700, 100, 200)
    assert all(abs(part.targets.mean() - 0.25) < 0.02 for part in (parts.train, parts.dev, parts.held_out))


def test_leaks_into_given_parts_are_counted_and_removed():
    train = labelled([(f"a{i}", f"b{i}") for i in range(50)], [i % 2 for i in range(50)])
    held_out = labelled([("B7", " a7"), ("x", "y")] * 10, [0, 1] * 10)  # pair 7 the other way round, in other writing
    parts = split(train, dev=train.take(np.array([3, 4])), held_out=held_out)
    assert parts.leaks == 3 and len(parts.train) == 47
    assert parts.shared == 0
    parts = split(train, held_out=labelled([("a1", "new")] * 20, [0, 1] * 10), dev=held_out)
    assert parts.shared == 1
    assert (parts.separation.held_out, parts.separation.dev) == (GIVEN, GIVEN)


def test_triplets_leak_by_either_pair():
    sentences = ["a", "b", "c"], ["p", "q", "r"], ["n", "m", "o"]
    train = Examples("triplets", sentences, np.zeros(3), np.arange(1, 4))
    held_out = replace(train, sentences=(["A", "z"], ["z1", "z2"], ["N", "z3"]), targets=np.zeros(2), rows=np.arange(1, 3))
    assert split(train, dev=held_out, held_out=held_out).train.sentences[0] == ["b", "c"]


def test_a_split_survives_its_file():
    parts = split(labelled([(f"a{i}", f'b{i}, "x"\n') for i in range(50)], [i % 2 for i in range(50)]))
    facts = {"kind": "labelled", "labels": ["no", "yes"], "positive": 1, "score_range": [0, 1], "leaks": 0, "shared": 0}
    old = from_frame(to_frame(parts), facts)  # of a version without the choice
    assert old.fingerprint == parts.fingerprint and old.separation.held_out == PAIRS
    assert from_frame(to_frame(parts), facts | {"split": asdict(parts.separation)}).separation == parts.separation
