"""JSON: one object a line, or a list of objects or of sentences."""

import json
from collections.abc import Sequence
from typing import Any

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.decoding import lines_of, storable
from sbert_app.tables.table import LINE_COLUMN, Skip, Table, table_from_rows


def read_jsonl(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    records, skipped = [], []
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip():
            continue
        try:
            records.append((number, json.loads(line)))
        except (ValueError, RecursionError):
            skipped.append(Skip(number, "not valid JSON"))
    if not records:
        raise UserError(f'\'{name}\' holds no valid JSON line. Each line must be one JSON object, such as {{"text": "…"}}.')
    return _from_records(name, records, limits, notes, skipped)


def read_json(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{name}' is not valid JSON ({error}). For one object a line, name the file .jsonl.") from error
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else [content]
    if not isinstance(content, list):
        raise UserError(f"'{name}' must hold a list of sentences or of objects.")
    return _from_records(name, list(enumerate(content, 1)), limits, notes)


def _from_records(
    name: str, records: list[tuple[int, Any]], limits: Limits, notes: Sequence[str], skipped: Sequence[Skip] = ()
) -> Table:
    objects = [(n, r if isinstance(r, dict) else {LINE_COLUMN: r}) for n, r in records]
    columns = list(dict.fromkeys(str(key) for _, record in objects for key in record))
    rows = [(n, [cell({str(k): v for k, v in record.items()}.get(column)) for column in columns]) for n, record in objects]
    return table_from_rows(name, columns, rows, limits, notes, skipped)


def cell(value: Any) -> str:
    if value is None or value != value:  # NaN is the one value that differs from itself
        return ""
    return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
