"""Small HTML pieces: bars, notes, tables, progress, downloads."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from sbert_app.tables.writing import csv_file


def bar(share: float, kind: str = "sbert", label: str = "") -> str:
    """A horizontal bar filled to `share`, 0..1. kind: "sbert", "cross" or "plain"."""
    width = max(0.0, min(1.0, share)) * 100
    description = escape(label or f"{share:.3f}")
    return f'<div class="bar {kind}" role="img" aria-label="{description}"><i style="width:{width:.1f}%"></i></div>'


def short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def notes(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines if line)
    return f'<ul class="notes">{items}</ul>' if items else ""


def empty(message: str) -> str:
    """A placeholder for a missing result."""
    return f'<div class="empty">{escape(message)}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Header cells are text, escaped here; body cells are HTML, escaped by the caller."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' if cell else "<td></td>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def milliseconds(stages: Mapping[str, float]) -> str:
    """Times by stage, such as "encode 5.1 ms · search 0.2 ms · total 5.3 ms"; from 1,000 ms in seconds."""
    shown = [f"{escape(name)} {_short_time(value)}" for name, value in stages.items() if value >= 0.05]
    total = f"total {_short_time(sum(stages.values()))}"
    return " · ".join([*shown, total] if len(shown) > 1 else shown or [total])


def _short_time(milliseconds: float) -> str:
    return f"{milliseconds:.1f} ms" if milliseconds < 1e3 else f"{milliseconds / 1e3:.1f} s"


def progress(done: int, total: int, text: str, label: str) -> str:
    """A progress bar with a text below."""
    share = done / total if total else 0.0
    return (
        f'<div class="progress"><div class="bar sbert" role="progressbar" aria-label="{escape(label)}" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{share * 100:.0f}"><i style="width:{share * 100:.1f}%"></i></div>'
        f"<p>{escape(text)}</p></div>"
    )


def downloads(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    """Links to save the records as csv and jsonl; the data is in the links, so that no file stays on the server."""
    if not records:
        return ""
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return (
        f'<span class="downloads">Save as {_link(f"{name}.csv", "csv", csv_file(records), "text/csv")} '
        f"{_link(f'{name}.jsonl', 'jsonl', lines, 'application/json')}</span>"
    )


def _link(file: str, label: str, content: str, kind: str) -> str:
    data = base64.b64encode(content.encode()).decode()
    return f'<a download="{escape(file)}" href="data:{kind};charset=utf-8;base64,{data}">{label}</a>'
