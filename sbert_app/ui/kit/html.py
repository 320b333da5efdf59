"""Small HTML pieces and templates, in which a str is text and gets escaped, a Markup is HTML; and the style of figures."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from sbert_app.settings import ASSETS
from sbert_app.tables import csv_file
from sbert_app.wording import short as short  # for who has `html` at hand

Figure = Any  # of plotly, which has no types and is imported where a figure is drawn: the first page does not need it
INK = "#7c7c85"  # this and the others are readable on light and dark: a figure has no access to the theme
TEAL, FAR, MIDDLE = "#14988d", "#d0455f", "#8a8a94"  # pairs meant to be close, far, between; opaque, for readable text on them
GREY = "#8a8a94"  # outliers, and points during the layout
GRID = "rgba(128,128,136,0.25)"
BELOW = {"orientation": "h", "x": 0, "yanchor": "top"}  # a legend under its figure; its y depends on the height
# Of charts in exported pages: without plotly's buttons, which lie over data and titles. In the app assets/style.css hides them.
PAGE_CONFIG = {"displaylogo": False, "displayModeBar": False}

_TEMPLATES = Environment(loader=FileSystemLoader(ASSETS), autoescape=True, undefined=StrictUndefined)


def render(template: str, **values: Any) -> str:
    """Fill in a template. Raises UndefinedError for a missing value."""
    return _TEMPLATES.get_template(template).render(values)


def bar(share: float, kind: str = "sbert", label: str = "") -> Markup:
    """A horizontal bar filled to `share`, 0..1. kind: "sbert", "cross" or "plain"."""
    width = max(0.0, min(1.0, share)) * 100
    html = Markup('<div class="bar {}" role="img" aria-label="{}"><i style="width:{:.1f}%"></i></div>')
    return html.format(kind, label or f"{share:.3f}", width)


def hint(text: str) -> Markup:
    """A paragraph in small print."""
    return Markup('<p class="hint">{}</p>').format(text)


def info(text: str, name: str) -> Markup:
    """Lab figures behind an i in a circle. name: what a screen reader says of it, one of several on a page."""
    return Markup(
        '<details class="info"><summary aria-label="{}"><i aria-hidden="true">i</i></summary><span>{}</span></details>'
    ).format(name, text)


def status(text: str) -> Markup:
    """A line that says what is going on."""
    return Markup('<p class="stage" role="status">{}</p>').format(text)


def head(text: str, end: Markup) -> Markup:
    """The line above a list, with `end` (links, mostly) on its right."""
    return Markup('<div class="hits-head"><span role="status">{}</span>{}</div>').format(text, end)


def notes(lines: Iterable[str], kind: str = "notes") -> Markup:
    """A list, without its empty lines."""
    items = Markup().join(Markup("<li>{}</li>").format(line) for line in lines if line)
    return Markup('<ul class="{}">{}</ul>').format(kind, items) if items else Markup()


def cautions(lines: Iterable[str], minds: str = "") -> Markup:
    """What to mind when reading a result. minds: the elements of results that say it too where they are presented or saved."""
    told = notes(lines, "cautions")
    return Markup('<div data-minds="{}">{}</div>').format(minds, told) if told and minds else told


def empty(message: str) -> Markup:
    """A placeholder for a missing result."""
    return Markup('<div class="empty">{}</div>').format(message)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table. Cells are text, or HTML if they are Markup."""
    head = Markup().join(Markup('<th scope="col">{}</th>').format(cell) if cell else Markup("<td></td>") for cell in header)
    body = Markup().join(Markup("<tr><td>{}</td></tr>").format(Markup("</td><td>").join(row)) for row in rows)
    return Markup('<table class="plain"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>').format(head, body)


def milliseconds(stages: Mapping[str, float]) -> str:
    """Times by stage, such as "encode 5.1 ms · search 0.2 ms · total 5.3 ms"; from 1,000 ms in seconds."""
    parts = [f"{name} {_short_time(value)}" for name, value in stages.items() if value >= 0.05]
    total = f"total {_short_time(sum(stages.values()))}"
    return " · ".join([*parts, total] if len(parts) > 1 else parts or [total])


def _short_time(milliseconds: float) -> str:
    return f"{milliseconds:.1f} ms" if milliseconds < 1e3 else f"{milliseconds / 1e3:.1f} s"


def progress(done: int, total: int, text: str, label: str) -> Markup:
    """A progress bar with a text below."""
    percent = 100 * done / total if total else 0.0
    return Markup(
        '<div class="progress"><div class="bar sbert" role="progressbar" aria-label="{label}" aria-valuemin="0" '
        'aria-valuemax="100" aria-valuenow="{percent:.0f}"><i style="width:{percent:.1f}%"></i></div><p>{text}</p></div>'
    ).format(label=label, percent=percent, text=text)


def counted(stage: str, done: int, total: int, unit: str, label: str, *facts: str) -> Markup:
    """A progress bar with what is counted and further facts below."""
    return progress(done, total, " · ".join([f"{stage}: {done:,} of {total:,} {unit}", *filter(None, facts)]), label)


def downloads(name: str, records: Sequence[Mapping[str, Any]], delimiter: str = ",") -> Markup:
    """Links to save the records as csv and jsonl; the data is in the links, so that no file stays on the server."""
    if not records:
        return Markup()
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    table = link(f"{name}.csv", "csv", csv_file(records, delimiter), "text/csv")
    return links(table, link(f"{name}.jsonl", "jsonl", lines, "application/json"))


def links(*files: Markup) -> Markup:
    """Links to files, as `link` makes them, in one line."""
    return Markup('<span class="downloads">Save as {}</span>').format(Markup(" ").join(files))


def link(file: str, label: str, content: str | bytes, kind: str) -> Markup:
    """A link to save a file whose content is in the link. kind: its media type."""
    data = base64.b64encode(content.encode() if isinstance(content, str) else content).decode()
    charset = ";charset=utf-8" if isinstance(content, str) else ""
    return Markup('<a download="{}" href="data:{}{};base64,{}">{}</a>').format(file, kind, charset, data, label)


def as_text(text: str) -> str:
    """Escape a text for a figure: plotly reads tags and entities in names, labels and hover texts."""
    return str(escape(text))


def quiet(figure: Figure, height: int | None) -> None:
    """Set a transparent background, the app's font and small margins. height: pixels; None: that of its place on the page."""
    clear, font = "rgba(0,0,0,0)", {"color": INK, "family": "IBM Plex Sans, system-ui, sans-serif", "size": 12}
    figure.update_layout(height=height, paper_bgcolor=clear, plot_bgcolor=clear, font=font, margin=dict.fromkeys("lrtb", 10))
