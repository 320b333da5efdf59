"""Read JSON: one object per line, or a list of objects or of sentences."""

import json
from collections.abc import Iterable
from typing import Any

from sbert_app.errors import UserError
from sbert_app.tables.collecting import Collector
from sbert_app.tables.decoding import TextFile, storable
from sbert_app.tables.table import LINE_COLUMN, Content

ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def read_jsonl(file: TextFile) -> Content:
    table = Records(file)
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            table.skip(number, "not valid JSON")
        else:
            table.add_record(number, record)
    if not table.columns and table.skipped:
        raise UserError(f'\'{file.name}\' holds no valid JSON line. Each line must be one JSON object, such as {{"text": "…"}}.')
    return table.content(file.notes)


def read_json(file: TextFile) -> Content:
    try:
        content = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{file.name}' is not valid JSON ({error}). For one object a line, name the file .jsonl.") from error
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else [content]
    if not isinstance(content, list):
        raise UserError(f"'{file.name}' must hold a list of sentences or of objects.")
    table = Records(file)
    for number, record in enumerate(content, 1):
        table.add_record(number, record)
    return table.content(file.notes)


class Records(Collector):
    """A table whose columns are the keys of its records, in order of first occurrence."""

    def __init__(self, file: TextFile) -> None:
        super().__init__(file.name, file.limits)
        self._positions: dict[str, int] = {}

    def add_record(self, number: int, record: Any) -> None:
        """Keep an object, or any other value as the sentence."""
        values = record if isinstance(record, dict) else {LINE_COLUMN: record}
        self._add_columns(values)
        row = [""] * len(self._positions)
        try:
            for key, value in values.items():
                row[self._positions[key]] = cell(value)
        except RecursionError:
            self.skip(number, "nested too deeply")
        else:
            self.add_any(number, row)

    def _add_columns(self, keys: Iterable[str]) -> None:
        new = [key for key in keys if key not in self._positions]
        self.grow(new)
        self._positions |= {key: position for position, key in enumerate(new, len(self._positions))}


def cell(value: Any) -> str:
    if isinstance(value, str):
        return storable(value)
    if value is None or value != value:  # NaN is the one value that differs from itself
        return ""
    return storable(ENCODER.encode(value))
