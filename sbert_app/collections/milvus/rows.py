"""Rows of a collection as Milvus stores them, and back; a random sample of their ids."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, FILE_BITS, METADATA, ROW, SENTENCE, Facts, embedding_column, embeddings_of
from sbert_app.collections.milvus.filters import fields_of, finite, fold
from sbert_app.corpus.values import values_on
from sbert_app.vectors import Rows

TEXT_BYTES = 65_535  # of a VARCHAR
NUMBER_BYTES = 48  # of a number, its state and their names as JSON, at most
JSON_BYTES = 65_536  # of all fields of a row that are not in the schema
ROWS_A_CALL, BYTES_A_CALL = 5_000, 30 << 20
FILES, ROUNDS, IDS_A_CALL = 64, 50, 4_096
Record = dict[str, Any]


def schema_for(facts: Facts) -> Any:
    """The schema of a collection: id, embedding, sentence and its folded text; what belongs to columns is in dynamic fields."""
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field(ROW, DataType.INT64, is_primary=True)
    schema.add_field(EMBEDDING, DataType.FLOAT_VECTOR, dim=facts.dim)
    for name in (SENTENCE, fields_of(facts.sentence, facts).folded):
        schema.add_field(name, DataType.VARCHAR, max_length=TEXT_BYTES)
    return schema


def batches(rows: pa.Table, facts: Facts) -> Iterator[list[Record]]:
    """Rows of `facts.schema` as records, each id once (the last row of it), in lists that fit into one call.

    A sentence is cut to 65,535 bytes, all metadata of a row to 65,536: the limits of Milvus.
    """
    ids = rows.column(ROW).to_numpy()
    last = len(ids) - 1 - np.unique(ids[::-1], return_index=True)[1]
    batch, size = list[Record](), 0
    for record, length in _records(rows.take(pa.array(np.sort(last))), facts):
        if batch and (len(batch) == ROWS_A_CALL or size + length > BYTES_A_CALL):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += length
    if batch:
        yield batch


def output_fields(facts: Facts) -> list[str]:
    """The fields that `table` needs."""
    return [ROW, SENTENCE, EMBEDDING, *(fields_of(column, facts).text for column in facts.columns)]


def table(records: Sequence[Mapping[str, Any]], facts: Facts) -> pa.Table:
    """Records as Milvus returns them as a table of `facts.schema`, in this order, without those of files that no facts name.

    Raises ValueError, KeyError or TypeError for records that were not written from such a table.
    """
    records = [record for record in records if 0 <= record[ROW] >> FILE_BITS < len(facts.files)]
    embeddings = np.asarray([record[EMBEDDING] for record in records], dtype=np.float32).reshape(-1, facts.dim)
    names = {METADATA + column: fields_of(column, facts).text for column in facts.columns}
    texts = {name: [record.get(field) for record in records] for name, field in {SENTENCE: SENTENCE, **names}.items()}
    if not np.isfinite(embeddings.astype(np.float16)).all() or None in texts[SENTENCE]:
        raise ValueError("a row without a sentence, or an embedding of other than numbers")
    columns = {ROW: [record[ROW] for record in records], **texts, EMBEDDING: embedding_column(embeddings)}
    return pa.Table.from_pydict(columns, schema=facts.schema)


def _records(rows: pa.Table, facts: Facts) -> Iterator[tuple[Record, int]]:
    """Each row as a record, and about how many bytes it is."""
    texts = {column: rows.column(facts.field(column)).to_pylist() for column in facts.columns}
    numbers = [_numbers(rows, column, scale, facts) for column, scale in facts.scales.items()]
    ids, sentences, embeddings = rows.column(ROW).to_pylist(), rows.column(SENTENCE).to_pylist(), embeddings_of(rows)
    for place, embedding in enumerate(embeddings):
        cells, length = _fitted({column: values[place] for column, values in texts.items()}, facts)
        own = {field: values[place] for fields in numbers for field, values in fields.items()}
        sentence = _cut(sentences[place] or "", TEXT_BYTES)
        folded = {fields_of(facts.sentence, facts).folded: _cut(_folded(sentence), TEXT_BYTES)}
        length += 4 * len(embedding) + 8 * len(sentence)  # of up to 4 bytes a character, and folded once more
        yield {ROW: ids[place], EMBEDDING: embedding, SENTENCE: sentence, **folded, **cells, **own}, length


def _numbers(rows: pa.Table, column: str, scale: str, facts: Facts) -> dict[str, list[Any]]:
    """The fields of a column's numbers and states."""
    column_read, fields = values_on(scale, facts.cells(rows, [column])[column]), fields_of(column, facts)
    numbers = [None if np.isnan(value) else finite(value) for value in column_read.values.tolist()]
    return {fields.number: numbers, fields.state: column_read.states.tolist()}


def _fitted(cells: Mapping[str, str | None], facts: Facts) -> tuple[Record, int]:
    """The fields of a row's cells, all cells cut to the same length if they are too long together, and their bytes as JSON.

    Every record has every field, because milvus-lite keeps the old value of a field that a newer record does not have.
    """
    limit = JSON_BYTES
    while True:
        record: Record = {}
        for column, cell in cells.items():
            text = None if cell is None else _cut(cell, limit)
            fields = fields_of(column, facts)
            record |= {fields.text: text, fields.folded: _folded(text or "")}
        length = len(json.dumps(record, ensure_ascii=False).encode()) + NUMBER_BYTES * len(facts.scales)
        if length <= JSON_BYTES or limit == 0:
            return record, length
        limit //= 2


def _folded(text: str) -> str:
    """The folded text, "" where it is the text itself."""
    folded = fold(text)
    return "" if folded == text else folded


def _cut(text: str, limit: int) -> str:
    """At most so many bytes of a text, whole characters."""
    encoded = text.encode()
    return text if len(encoded) <= limit else encoded[:limit].decode(errors="ignore")


def sample(count_where: Callable[[str], int], known: Callable[[Sequence[int]], list[int]], files: int, count: int) -> Rows:
    """At most `count` ids in ascending order, each row of the files it looks at as likely as any other.

    It looks at all files, of more than 64 at 64 drawn at random: where files differ much, a sample of a larger collection is then a
    coarse one. Ids are drawn between the first and the last of each file and kept where there is such a row. Gaps in the numbers
    cost rounds; after 50, what is there is returned.

    count_where: the number of rows for which an expression holds; known: those of some ids that exist.
    """
    draw = np.random.default_rng(0)
    chosen = np.sort(draw.choice(files, min(files, FILES), replace=False)) if files else np.empty(0, np.int64)
    lasts = np.array([_last(int(file), count_where) for file in chosen], dtype=np.int64)
    ends = np.cumsum(lasts)
    total = int(ends[-1]) if len(ends) else 0
    rows, tried = set[int](), set[int]()
    for _ in range(ROUNDS):
        places = draw.integers(0, total, min(2 * (count - len(rows)) + 16, IDS_A_CALL)) if total else np.empty(0, np.int64)
        files_of = np.searchsorted(ends, places, side="right")
        ids = (chosen[files_of] << FILE_BITS) + places - (ends - lasts)[files_of] + 1
        new = [row for row in dict.fromkeys(ids.tolist()) if row not in tried]
        tried.update(new)
        exist = set(known(new)) if new else set()
        rows.update([row for row in new if row in exist][: count - len(rows)])
        if len(rows) >= count or len(tried) >= total:
            break
    return np.array(sorted(rows), dtype=np.int64)


def _last(file: int, count_where: Callable[[str], int]) -> int:
    """A row number of a file after which there are no rows: their count, or more where numbers have gaps."""
    first, end, last = file << FILE_BITS, (file + 1) << FILE_BITS, 0
    while more := count_where(f"{ROW} > {first + last} and {ROW} < {end}"):
        last += more
    return last
