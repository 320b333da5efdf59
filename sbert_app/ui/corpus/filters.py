"""Filters over the corpus's columns: a menu for each, with its values and their rows, its range, or a text that it contains."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.corpus.filters import BLANK, FilterColumn, in_words
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import Updates, Values, sent

HOW = "Within a column: any of these. Across columns: all of these."
# The columns of most use come first; the others are folded. So many menus, or fewer: characters of their names and what is around.
SHOWN_MENUS, SHOWN_CHARACTERS, LONGEST_NAME, AROUND = 12, 120, 24, 6
CHIP = "filter "  # before a column, the name of its chip
# "chosen" is a custom event: all filters, as jobs take them, whenever one is changed. Gradio patches html in place, which leaves
# boxes ticked: what is drawn anew shows what it says. From one end of a range the focus goes to the other, which is waited for.
CHOSEN = """
new MutationObserver(() => {
  for (const box of element.querySelectorAll('input[type=checkbox]')) box.checked = box.hasAttribute('checked');
  for (const field of element.querySelectorAll('input[data-end]')) field.value = field.getAttribute('value');
}).observe(element, { childList: true, subtree: true, attributes: true, attributeFilter: ['data-drawn'] });
let changed = null, timer;
for (const kind of ['change', 'focusout']) element.addEventListener(kind, event => {
  if (kind === 'change') changed = event.target;
  clearTimeout(timer);
  timer = setTimeout(choose);
});
const menuOf = field => field?.closest('[data-column]');
const choose = () => {
  const now = document.activeElement;
  if (!changed || (now !== changed && now?.dataset.end && menuOf(now) === menuOf(changed))) return;
  changed = null;
  const filters = {};
  for (const menu of element.querySelectorAll('[data-column]')) {
    const values = [...menu.querySelectorAll('input:checked')].flatMap(box => JSON.parse(box.value));
    const fields = [...menu.querySelectorAll('input[data-end]')];
    const ends = fields.map(field => [field.dataset.end, field.value.trim()]).filter(end => end[1]);
    if (values.length) filters[menu.dataset.column] = values;
    else if (ends.length) filters[menu.dataset.column] = Object.fromEntries(ends);
    menu.classList.toggle('on', menu.dataset.column in filters);
  }
  trigger('chosen', { filters });
};
"""


@dataclass(frozen=True)
class Filtering:
    """The columns of a corpus, and the filters in force, as jobs take them. sampled: rows that were counted, if not all."""

    columns: Sequence[FilterColumn] = ()
    filters: Mapping[str, Any] = field(default_factory=dict)
    sampled: int = 0


class Filters:
    """The components, and what their values mean. prefix: of their elem_ids, for each tab another."""

    def __init__(self, prefix: str = "") -> None:
        self.menus = gr.HTML(elem_id=f"{prefix}filters", js_on_load=CHOSEN)
        self.state = gr.State(Filtering())
        self.outputs: list[Any] = [self.menus, self.state]

    def show(self, filtering: Filtering) -> Updates:
        """Offer a corpus's filters, with these in force."""
        return {self.state: filtering, self.menus: menus(filtering)}

    def changed(self, values: Values, event: gr.EventData) -> Values:
        """The filters that were chosen on the page, where the menus show them already."""
        filters = sent(event).get("filters")
        return {self.state: replace(values[self.state], filters=filters if isinstance(filters, dict) else {})}

    def active(self, values: Values) -> dict[str, str]:
        """Chip name -> label, of each filter in force."""
        filters = values[self.state].filters.items()
        return {f"{CHIP}{column}": in_words({column: _written_once(condition)}) for column, condition in filters}

    def without(self, values: Values, name: Any) -> Updates:
        """The components to change so that the filter of this chip is gone."""
        before: Filtering = values[self.state]
        left = {column: condition for column, condition in before.filters.items() if f"{CHIP}{column}" != name}
        return self.show(replace(before, filters=left))


def _written_once(condition: Any) -> Any:
    """A list of values with one way of writing each; any other condition as it is."""
    if not isinstance(condition, list):
        return condition
    return list({str(value).strip().casefold(): value for value in reversed(condition)}.values())[::-1]


def menus(filtering: Filtering) -> Markup:
    """A menu for each column; nothing for a corpus without."""
    if not filtering.columns:
        return Markup()
    each = [_menu(column, filtering.filters.get(column.name)) for column in filtering.columns]
    widths = accumulate(min(len(column.name), LONGEST_NAME) + AROUND for column in filtering.columns[:SHOWN_MENUS])
    fitting = sum(width <= SHOWN_CHARACTERS for width in widths)
    shown, rest = Markup().join(each[:fitting]), Markup().join(each[fitting:])
    if rest:
        shown += Markup('<details class="rest"><summary>more columns</summary><div class="filters">{}</div></details>').format(rest)
    note = f"{HOW} Values and numbers are those of the sample of {filtering.sampled:,} rows." if filtering.sampled else HOW
    return Markup('<div class="filters" role="group" aria-label="Only rows where" title="{}" data-drawn="{}">{}</div>').format(
        note, secrets.token_hex(4), shown
    )


def _menu(column: FilterColumn, chosen: Any) -> Markup:
    if column.values:
        body = Markup("<ul>{}</ul>").format(Markup().join(_value(*value, chosen) for value in column.values))
    elif column.ends:
        most = max(column.bars, default=0)
        bars = Markup().join(Markup('<i style="height:{:.0f}%"></i>').format(100 * rows / most) for rows in column.bars)
        ends = (_field(column, end, cell, chosen) for end, cell in zip(("from", "to"), column.ends, strict=True))
        body = Markup('<div class="histogram" aria-hidden="true">{}</div>').format(bars) + Markup().join(ends)
    else:
        body = _field(column, "contains", "", chosen)
    return Markup(
        '<details name="filters" data-column="{name}"{on}><summary>{name}</summary><div class="popover-card">{body}</div></details>'
    ).format(name=column.name, on=Markup(' class="on"') if chosen else "", body=body)


def _value(forms: Sequence[str], rows: int, chosen: Any) -> Markup:
    checked = Markup(" checked") if isinstance(chosen, list) and forms[0] in chosen else ""
    return Markup('<li><label><input type="checkbox" value="{}"{}><b>{}</b> <span>{:,}</span></label></li>').format(
        json.dumps(forms, ensure_ascii=False), checked, html.short(forms[0], 60) or BLANK, rows
    )


def _field(column: FilterColumn, end: str, example: str, chosen: Any) -> Markup:
    value = chosen.get(end, "") if isinstance(chosen, Mapping) else ""
    return Markup('<label>{} <input type="text" data-end="{}" value="{}" placeholder="{}" aria-label="{}, {}"></label>').format(
        end, end, value, html.short(example, 20), column.name, end
    )
