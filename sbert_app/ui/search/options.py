"""How the Search tab searches: number of hits, hybrid, re-ranking, what stands beside the hits, filters."""

from collections.abc import Sequence
from typing import Any

import gradio as gr

from sbert_app.services.search import FORMER_MODEL, RERANKED, WORDS_ALONE
from sbert_app.ui.corpus.filters import Filters
from sbert_app.ui.kit.events import Updates, Values

NOTHING = ""
BESIDE = [("nothing", NOTHING), ("plain word search (BM25)", WORDS_ALONE)]
BESIDE_CHIPS = {WORDS_ALONE: "Beside: word search", FORMER_MODEL: "Beside: former index"}


class Options:
    """The components, and what their values mean."""

    def __init__(self) -> None:
        self.top = gr.Slider(1, 100, 10, step=1, label="Hits", elem_id="top")
        self.hybrid = gr.Checkbox(label="Hybrid: combine with keyword search (BM25)", elem_id="hybrid")
        self.rerank = gr.Checkbox(
            label=f"Re-rank the best {RERANKED} hits with the cross-encoder",
            info="The bundled one was trained on sentence similarity, not on ranking answers: check whether it helps on your data.",
            elem_id="rerank",
        )
        self.beside = gr.Radio(
            BESIDE, value=NOTHING, label="Beside the hits, to compare", elem_id="beside-hits",
            info="To compare with another model, fine-tune one or load one in the header, and index the corpus again.",
        )  # fmt: skip
        self.filters = Filters()
        # Name of the chip -> component, its value when off, and the label of the chip for each other value.
        self._switches: dict[str, tuple[Any, Any, dict[Any, str]]] = {
            "hybrid": (self.hybrid, False, {True: "Hybrid"}),
            "rerank": (self.rerank, False, {True: "Re-ranked"}),
            "beside": (self.beside, NOTHING, BESIDE_CHIPS),
        }

    @property
    def components(self) -> list[Any]:
        return [self.top, self.hybrid, self.rerank, self.beside, *self.filters.components]

    @property
    def changes(self) -> list[Any]:
        """The events after which the corpus is searched again."""
        return [self.top.release, self.hybrid.input, self.rerank.input, self.beside.input, *self.filters.changes]

    def of_corpus(
        self, former_model: str, facets: Sequence[tuple[str, str, int]], columns: Sequence[str], values: Values
    ) -> Updates:
        """Offer what a corpus can be searched with. former_model: of the index before, or ""; values: what is chosen."""
        former = [(f"the index before, {former_model}", FORMER_MODEL)] if former_model else []
        choices = {self.beside: gr.Radio(choices=[*BESIDE, *former], value=values[self.beside])}
        chosen = {component: values[component] for component in self.components}
        return chosen | choices | self.filters.of_corpus(facets, columns, values)

    def active(self, values: Values) -> dict[str, str]:
        """Chip name -> label, of each option and filter in force."""
        on = {name: labels.get(values[switch]) for name, (switch, _, labels) in self._switches.items()}
        return {name: label for name, label in on.items() if label} | self.filters.active(values)

    def without(self, values: Values, name: Any) -> Values:
        """The components to change so that the option or filter of this chip is off."""
        if name in self._switches:
            switch, off, _ = self._switches[name]
            return {switch: off}
        return self.filters.without(values, name)

    def by_name(self, values: Values) -> dict[str, Any]:
        """The values by elem_id."""
        return {str(component.elem_id): values[component] for component in self.components}

    def from_names(self, chosen: dict[str, Any]) -> Values:
        """The values as `by_name` returned them; for what is missing, that of a new page."""
        return {component: chosen.get(str(component.elem_id), component.value) for component in self.components}
