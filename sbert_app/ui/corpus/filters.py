"""Filters over the corpus's columns: values of columns with few values, and one column by a text it contains or a range."""

import json
from collections.abc import Sequence
from typing import Any

import gradio as gr

from sbert_app.corpus.filters import BLANK
from sbert_app.errors import UserError
from sbert_app.ui.kit.events import Updates, Values

HOW = "Within a column: any of these. Across columns: all of these."
COLUMN = "column"  # the name of the chip of the one column; the chips of values are named by their JSON


class Filters:
    """The components, and what their values mean. prefix: of their elem_ids, for each tab another."""

    def __init__(self, prefix: str = "") -> None:
        self.facets = gr.Dropdown(label="Only rows where", multiselect=True, elem_id=f"{prefix}facets", info=HOW)
        with gr.Row():
            self.column = gr.Dropdown(label="Column", elem_id=f"{prefix}filter-column")
            self.contains = gr.Textbox(label="Contains", elem_id=f"{prefix}filter-contains")
            self.low = gr.Textbox(label="From", placeholder="number or date", elem_id=f"{prefix}filter-from")
            self.high = gr.Textbox(label="To", placeholder="number or date", elem_id=f"{prefix}filter-to")
        self.components: list[Any] = [self.facets, self.column, self.contains, self.low, self.high]
        # The events after which the filters are in force.
        self.changes = [self.facets.input, self.contains.submit, self.low.submit, self.high.submit]

    def of_corpus(
        self, facets: Sequence[tuple[str, str, int]], columns: Sequence[str], values: Values, sampled: int = 0
    ) -> Updates:
        """Offer a corpus's filters. facets: (column, value, rows); values: what is chosen.

        sampled: the number of rows that were counted, if not all.
        """
        choices = [(f"{column}: {value or BLANK} ({rows:,})", json.dumps([column, value])) for column, value, rows in facets]
        info = f"{HOW} Values and numbers are those of the sample of {sampled:,} rows." if sampled else HOW
        listed = gr.Dropdown(choices=choices, value=values[self.facets] or [], multiselect=True, info=info)
        return {self.facets: listed, self.column: gr.Dropdown(choices=columns, value=values[self.column])}

    def removed(self) -> Values:
        """The components to change so that no filter is in force."""
        return {self.facets: [], **self._without_column()}

    def chosen(self, values: Values) -> dict[str, Any]:
        """The filters as jobs take them."""
        filters: dict[str, Any] = {}
        for facet in values[self.facets] or []:
            name, value = _pair(facet)
            filters.setdefault(name, []).append(value)
        bounds = self._bounds(values)
        if values[self.column] and bounds:
            filters[values[self.column]] = bounds
        return filters

    def active(self, values: Values) -> dict[str, str]:
        """Chip name -> label, of each filter in force."""
        chips = {facet: f"{name}: {value or BLANK}" for facet in values[self.facets] or [] for name, value in [_pair(facet)]}
        bounds = self._bounds(values)
        if values[self.column] and bounds:
            chips[COLUMN] = " ".join([values[self.column], *(f"{name} {value}" for name, value in bounds.items())])
        return chips

    def without(self, values: Values, name: Any) -> Values:
        """The components to change so that the filter of this chip is gone."""
        if name == COLUMN:
            return self._without_column()
        return {self.facets: [facet for facet in values[self.facets] or [] if facet != name]}

    def _without_column(self) -> Values:
        return {self.column: None, self.contains: "", self.low: "", self.high: ""}

    def _bounds(self, values: Values) -> dict[str, Any]:
        bounds = {"contains": values[self.contains], "from": values[self.low], "to": values[self.high]}
        return {key: value for key, value in bounds.items() if value}


def _pair(facet: Any) -> tuple[str, str]:
    """Column and value of a choice. Raises UserError for anything else."""
    try:
        name, value = json.loads(facet)
    except (TypeError, ValueError) as error:
        raise UserError("This filter is not in the list. Choose one from the list.") from error
    return str(name), str(value)
