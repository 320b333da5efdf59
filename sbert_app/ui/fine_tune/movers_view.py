"""Render the held-out examples that changed most, for the better and for the worse."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sbert_app.labelled.examples import Examples
from sbert_app.services.fine_tune import RunProgress
from sbert_app.ui.fine_tune.view import target
from sbert_app.ui.kit import html

RANKED = "Changes are measured by rank among the held-out pairs, because the cosines of two models are not on one scale."
MARGIN = "Margin: cosine to the positive minus cosine to the negative (or to the nearest other); above 0 is correct."
MOVERS = 5  # examples listed for each direction


def movers(progress: RunProgress, held_out: Examples) -> Markup:
    """Tables of the held-out examples that changed most, for the better and for the worse, with downloads."""
    result = progress.result
    if result is None:
        return Markup()
    gains = np.array(result["gains"])
    order = np.argsort(-gains)
    improved = [i for i in order[:MOVERS].tolist() if gains[i] > 0]
    worsened = [i for i in order[::-1][:MOVERS].tolist() if gains[i] < 0]
    tables = [
        Markup("<section><h3>{}</h3>{}</section>").format(title, _mover_table(held_out, result, indices))
        for title, indices in (("Improved most", improved), ("Worsened most", worsened))
    ]
    records = [mover_record(held_out, result, i) for i in order.tolist()]
    explained = html.hint(RANKED if held_out.gold.any() else MARGIN)
    return Markup('<div class="movers">{}</div>{}{}').format(Markup().join(tables), explained, html.downloads("held-out", records))


def _mover_table(held_out: Examples, result: Mapping[str, Any], indices: Sequence[int]) -> Markup:
    if not indices:
        return html.empty("None.")
    rows = []
    for i in indices:
        sentences = (Markup('<span dir="auto">{}</span>').format(html.short(column[i], 160)) for column in held_out.sentences)
        cells = [Markup("<br>").join(sentences), f"{result['before'][i]:.2f} → {result['after'][i]:.2f}"]
        if held_out.kind in ("scored", "labelled"):
            cells.append(target(held_out, i))
        rows.append(cells)
    score = "Margin" if held_out.kind in ("triplets", "positives") else "Cosine"
    return html.table(("Sentences", score, *(["Target"] if held_out.kind in ("scored", "labelled") else [])), rows)


def mover_record(held_out: Examples, result: Mapping[str, Any], index: int) -> dict[str, object]:
    """A held-out example as a flat record for export."""
    sentences = {f"sentence{k}": column[index] for k, column in enumerate(held_out.sentences, 1)}
    meant = {"meant": target(held_out, index)} if held_out.kind in ("scored", "labelled") else {}
    values = {name: round(float(result[name][index]), 4) for name in ("before", "after", "gains")}
    return {"row": int(held_out.rows[index]), **sentences, **meant, **values}
