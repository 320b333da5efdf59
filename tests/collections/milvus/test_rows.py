"""Rows become records that fit into Milvus: each id once, texts cut between characters, calls of a bounded size."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, METADATA, ROW, SENTENCE, Facts, embedding_column
from sbert_app.collections.milvus.rows import batches, table
from sbert_app.corpus.values import UNREADABLE, VALUE

FACTS = Facts("m", "f", 4, "text", ("team", "amount"), {"amount": "number"}, ("a.csv",))


def rows_of(sentences, facts=FACTS, ids=None, **cells):
    """A table of these rows; cells: of the columns, "" by default."""
    count = len(sentences)
    columns = {METADATA + column: cells.get(column, [""] * count) for column in facts.columns}
    embeddings = embedding_column(np.eye(facts.dim)[np.arange(count) % facts.dim])
    values = {ROW: ids or list(range(1, count + 1)), SENTENCE: sentences, **columns, EMBEDDING: embeddings}
    return pa.Table.from_pydict(values, schema=facts.schema)


def records_of(rows, facts=FACTS):
    return [record for part in batches(rows, facts) for record in part]


def test_a_record_has_every_field_so_that_nothing_of_an_older_one_stays():
    first, second = records_of(rows_of(["Hello", "hello"], team=["Über", None], amount=["2,5 kg", "2.5"]))
    fields = {"c0": "Über", "f0": "über", "c1": "2,5 kg", "f1": "", "n1": None, "s1": UNREADABLE}
    fields |= {"sentence": "Hello", "folded": "hello", "row": 1}
    assert {name: value for name, value in first.items() if name != EMBEDDING} == fields
    fields = {"c0": None, "f0": "", "c1": "2.5", "f1": "", "n1": 2.5, "s1": VALUE, "sentence": "hello", "folded": "", "row": 2}
    assert {name: value for name, value in second.items() if name != EMBEDDING} == fields


def test_of_rows_with_one_id_the_last_is_written():
    records = records_of(rows_of(["a", "b", "c", "d"], ids=[7, 5, 7, 5]))
    assert [(record[ROW], record[SENTENCE]) for record in records] == [(7, "c"), (5, "d")]
    assert records_of(rows_of([])) == records_of(FACTS.schema.empty_table()) == []


def test_records_become_the_rows_that_they_were():
    rows = rows_of(["a", ""], team=["x", None], amount=["1", ""])
    assert table(records_of(rows), FACTS).equals(rows) and table([], FACTS).equals(rows.slice(0, 0))


def test_numbers_without_end_are_as_large_as_json_can_hold():
    records = records_of(rows_of(["a"] * 4, amount=["inf", "-inf", "nan", "1e400"]))
    assert [record["n1"] for record in records] == [1.7976931348623157e308, -1.7976931348623157e308, None, 1.7976931348623157e308]


def test_what_is_longer_than_milvus_takes_is_cut_between_characters():
    facts = replace(FACTS, columns=tuple(f"column {place}" for place in range(200)), scales={"column 0": "number"})
    cells = {column: ["ü€" * 500] for column in facts.columns}
    (record,) = records_of(rows_of(["Ⱥ€" * 20_000], facts, **cells), facts)
    metadata = {name: value for name, value in record.items() if name[0] in "cfn" and name[1:].isdigit()}
    assert len(json.dumps(metadata, ensure_ascii=False).encode()) <= 65_536 and len(metadata) == 401
    assert {value.replace("ü€", "") for value in metadata.values() if value} <= {"", "ü"} and record["c199"].startswith("ü€ü€")
    assert record[SENTENCE] == "Ⱥ€" * 13_107 and record["folded"] == "ⱥ€" * 10_922 + "ⱥ"
    (short,) = records_of(rows_of(["€" * 30_000]))
    assert short[SENTENCE] == "€" * 21_845


def test_calls_are_small_enough_for_a_server():
    parts = list(batches(rows_of(["A" * 60_000] * 700), FACTS))
    sizes = [sum(len(record[SENTENCE]) + len(record["folded"]) for record in part) for part in parts]
    assert sum(map(len, parts)) == 700 and len(parts) > 1 and max(sizes) < 32 << 20
    assert [len(part) for part in batches(rows_of(["a"] * 5_001), FACTS)] == [5_000, 1]
