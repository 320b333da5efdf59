"""Labelled sentences are read with guessed columns, learnt from, and refused with a sentence where nothing can be learnt."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.errors import UserError
from sbert_app.jobs.declaring.job import Call, Outcome
from sbert_app.jobs.transfer import TRANSFER, TransferOptions, _read
from sbert_app.tables import Table
from tests.jobs.refusals import refused


def table(rows: list[tuple[str, ...]], name: str = "labels.csv", columns: tuple[str, ...] = ("text", "label")) -> Table:
    return Table(name, pd.DataFrame(rows, columns=list(columns)), np.arange(1, len(rows) + 1))


def animals_and_bills(count: int, first: int = 0) -> list[tuple[str, str]]:
    animals, bills = "the {} sleeps in room {}", "the invoice of the {} is {} euros too high"
    kinds = ["cat", "dog", "horse", "bird", "fish"]
    rows = [(animals.format(kinds[i % 5], i), "animal") for i in range(first, first + count)]
    return rows + [(bills.format(kinds[i % 5], i), "bill") for i in range(first, first + count)]


def pairs(count: int, first: int = 0, name: str = "pairs.csv") -> Table:
    """Paraphrases with the label 1, and sentences on other things with 0."""
    rows = []
    for i in range(first, first + count):
        rows += [(f"the cat sleeps in room {i}", f"in room {i} a cat is asleep", "1")]
        rows += [(f"the dog sleeps in room {i}", f"the invoice number {i} is too high", "0")]
    return table(rows, name, ("sentence1", "sentence2", "label"))


def learnt(shared_bench, table: Table, **options) -> Outcome:
    *stages, outcome = TRANSFER.steps(Call(shared_bench, table=table), TransferOptions(**options))
    assert any("Embedding" in step.stage for step in stages)
    return outcome


def read(shared_bench, table: Table, **options):
    return _read(Call(shared_bench, table=table), TransferOptions(**options))


def test_what_embeddings_tell_apart_is_learnt(shared_bench):
    outcome = learnt(shared_bench, table(animals_and_bills(40)))
    result = outcome.summary
    assert result["accuracy"] > 0.95 and result["most_frequent"] == 0.5 and len(result["folds"]) == 10
    assert result["protocol"] == "nested cross-validation, 10 folds" and list(result["seconds"]) == ["embedding", "classifiers"]
    assert "80 sentences, 2 classes" in outcome.lines[0]


def test_a_test_and_a_dev_file_are_parts_of_their_own(shared_bench):
    held, dev = table(animals_and_bills(5, 100), "test.csv"), table(animals_and_bills(5, 200), "dev.csv")
    own = table([*animals_and_bills(30), (" ", "bill"), ("no label", "")])
    data = read(shared_bench, own, test=held, dev=dev)
    assert data.notes == (
        "Read as sentences with classes, columns text, label.",
        "1 row skipped, blank sentence: row 61",
        "1 row skipped, blank label: row 62",
    )
    assert len(data.sentences) == 80 and data.test.sum() == 10 and data.dev.sum() == 10
    assert data.sentences[np.flatnonzero(data.test)[0]] == "the cat sleeps in room 100"
    result = learnt(shared_bench, own, test=held, dev=dev).summary
    assert result["accuracy"] == 1.0 and result["protocol"] == "test part, weight decay chosen on the dev part"
    notes = learnt(shared_bench, own, test=replace(own, name="again.csv")).summary["notes"]
    assert notes[-2] == "again.csv: 1 row skipped, blank label: row 62"
    assert notes[-1] == "60 of the 60 different rows of the test part are also learnt from: its figure is too high."
    with pytest.raises(UserError, match="A dev part chooses a setting for a test part, and there is none"):
        read(shared_bench, own, dev=dev)  # its rows would be learnt


def test_classes_that_cannot_be_learnt_get_a_sentence(shared_bench):
    refused("1 different values", read, shared_bench, table([("a b", "x")] * 20))
    refused("The class 'rare' has 1 rows", read, shared_bench, table([*animals_and_bills(20), ("one more", "rare")]))


def test_columns_are_guessed_or_named(shared_bench):
    topics = table(animals_and_bills(20), columns=("question", "kind"))
    assert read(shared_bench, topics).classes == ["animal", "bill"]
    with pytest.raises(UserError, match=r"'labels.csv' has no column 'nowhere'. Its columns are: question, kind."):
        read(shared_bench, topics, label_column="nowhere")


def test_labelled_pairs_are_learnt_as_pairs(shared_bench):
    held = pairs(10, 100, "test.csv")
    data = read(shared_bench, pairs(30), test=held)
    assert len(data.sentences) == len(data.partners) == 80 and data.test.sum() == 20 and data.classes == ["0", "1"]
    assert data.partners[60] == "in room 100 a cat is asleep" and data.positive == 1
    outcome = learnt(shared_bench, pairs(30), test=held)
    result = outcome.summary
    assert result["accuracy"] == result["f1"] == 1.0 and result["l2"] and not result["c"] and not result["quick"]
    assert outcome.lines[0].startswith("accuracy 100.00, F1 100.00, most frequent class 50.00 (80 pairs, 2 classes; test part")
    named = read(shared_bench, pairs(30), text_column="sentence1")
    assert not named.partners and named.sentences[0] == "the cat sleeps in room 0"
    scored = pairs(30).frame.assign(score=[str(i % 7) for i in range(60)]).drop(columns="label")
    refused("'s.csv' has no column of labels", read, shared_bench, Table("s.csv", scored, np.arange(1, 61)))


def test_the_quick_form_says_so(shared_bench):
    outcome = learnt(shared_bench, table(animals_and_bills(40)), quick=True)
    result = outcome.summary
    assert result["accuracy"] > 0.95 and result["quick"] and len(result["folds"]) == len(result["c"]) == 5 and not result["l2"]
    assert "quick: scikit-learn's logistic regression, nested cross-validation, 5 folds" in outcome.lines[0]
