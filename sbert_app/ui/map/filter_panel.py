"""The menu that selects rows of the map by their metadata, with the filters of the Search tab."""

from typing import Any

import gradio as gr

from sbert_app.services.corpus.cluster_map import MapService
from sbert_app.ui.corpus.filters import Filters
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import Updates, Values

LABEL = "Filter"
ENTER = "Press Enter to apply a text, a number or a date. Rows outside the filter fade on the map."


class FilterPanel:
    """The components; not shown for a corpus that has only sentences."""

    def __init__(self, service: MapService) -> None:
        self._service = service
        with gr.Accordion(LABEL, open=False, visible=False, elem_id="map-filter", elem_classes="popover") as self.box:
            self._filters = Filters("map-")
            gr.HTML(html.hint(ENTER), js_on_load=None)

    @property
    def components(self) -> list[Any]:
        return self._filters.components

    @property
    def outputs(self) -> list[Any]:
        return [self.box, *self.components]

    @property
    def changes(self) -> list[Any]:
        return self._filters.changes

    def offered(self, session_id: str) -> Updates:
        """Offer the columns of the session's map, with no filter in force."""
        facets, columns = self._service.selections.filters(session_id)
        removed = self._filters.removed()
        offered = self._filters.of_corpus(facets, columns, removed)
        return {**removed, **offered, self.box: gr.Accordion(label=LABEL, visible=bool(columns))}

    def removed(self) -> Updates:
        """Something else is selected, or nothing."""
        return {**self._filters.removed(), self.box: gr.Accordion(label=LABEL)}

    def chosen(self, values: Values) -> dict[str, Any]:
        """The filters as the service takes them."""
        return self._filters.chosen(values)

    def in_force(self, filters: dict[str, Any]) -> Updates:
        """The number of filtered columns on the button."""
        return {self.box: gr.Accordion(label=f"{LABEL}: {len(filters)}" if filters else LABEL)}
