"""Render the held-out examples that changed most, for the better and for the worse."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sbert_app.evaluation.agreement import MARGINS, gains, rank_shares
from sbert_app.labelled.example_set import Examples
from sbert_app.ui.fine_tune.view import target
from sbert_app.ui.kit import html
from sbert_app.vectors import Array

RANKED = (
    "Closer than: the share of the held-out pairs with a lower cosine, because the cosines of two models are not on one scale. {} "
    "Cosines are in the files."
)
IMPROVED = {
    "scored": "Improved: nearer to the share of the pairs with a lower target, which stands beside the target.",
    "labelled": "Improved: “{}” pairs rose, other pairs fell.",
}
MARGIN = "Margin: cosine to the positive minus cosine to the negative (or to the nearest other); above 0 is correct."
MOVERS = 5  # examples listed for each direction


def movers(held_out: Examples, before: Sequence[float], after: Sequence[float]) -> Markup:
    """Tables of the held-out examples that changed most, for the better and for the worse, with downloads."""
    records = _records(held_out, np.array(before), np.array(after))
    improved, worsened = [r for r in records if r["gain"] > 0], [r for r in reversed(records) if r["gain"] < 0]
    section, moved = Markup("<section><h3>{}</h3>{}</section>"), {"Improved most": improved, "Worsened most": worsened}
    tables = Markup().join(section.format(title, _mover_table(held_out, rows[:MOVERS])) for title, rows in moved.items())
    positive = held_out.labels[held_out.positive] if held_out.labels else ""
    explained = MARGIN if held_out.kind in MARGINS else RANKED.format(IMPROVED[held_out.kind].format(positive))
    text = Markup('<div class="movers">{}</div>{}{}')
    return text.format(tables, html.hint(explained), html.downloads("held-out", records))


def _mover_table(held_out: Examples, records: Sequence[Mapping[str, Any]]) -> Markup:
    if not records:
        return html.empty("None.")
    shown = "{before:.2f} → {after:.2f}" if held_out.kind in MARGINS else "{rank_before:.0%} → {rank_after:.0%}"
    meant = {"scored": "{meant}: {rank_meant:.0%}", "labelled": "{meant}"}.get(held_out.kind)
    rows = []
    for record in records:
        sentences = [record[f"sentence{k}"] for k in range(1, len(held_out.sentences) + 1)]
        texts = (Markup('<span dir="auto">{}</span>').format(html.short(sentence, 160)) for sentence in sentences)
        formats = (text.format(**record).replace("%", " %") for text in (shown, meant) if text)
        rows.append([Markup("<br>").join(texts), *formats])
    return html.table(("Sentences", "Margin" if held_out.kind in MARGINS else "Closer than", *(["Target"] if meant else [])), rows)


def _records(held_out: Examples, before: Array, after: Array) -> list[dict[str, Any]]:
    """The held-out examples as flat records for export, most improved first. rank_…: shares of the examples that rank below."""
    values = {"before": before, "after": after, "gain": gains(held_out.kind, before, after, held_out.gold)}
    if held_out.kind not in MARGINS:
        values |= {"rank_before": rank_shares(before), "rank_after": rank_shares(after)}
    if held_out.kind == "scored":
        values["rank_meant"] = rank_shares(held_out.gold)
    records = []
    for i in np.argsort(-values["gain"], kind="stable").tolist():
        sentences = {f"sentence{k}": column[i] for k, column in enumerate(held_out.sentences, 1)}
        meant = {} if held_out.kind in MARGINS else {"meant": target(held_out, i)}
        numbers = {name: round(float(column[i]), 4) for name, column in values.items()}
        records.append({"row": int(held_out.rows[i]), **sentences, **meant, **numbers})
    return records
