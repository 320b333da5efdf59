"""How the Search tab searches: filters, the ranking, the one to compare with, a cross-encoder."""

from typing import Any

import gradio as gr

from sbert_app.corpus.hits import DEFAULT_RANKING, FORMER_MODEL, MAXSIM
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS
from sbert_app.jobs.search.job import RERANKED
from sbert_app.jobs.search.offered import Offered
from sbert_app.ui.corpus.filters import Filtering, Filters
from sbert_app.ui.kit.events import Updates, Values

NOTHING = ""
CROSS = "cross"  # its chip
NO_CROSS, NOTHING_BESIDE = ("none", NOTHING), ("nothing", NOTHING)
RANKINGS = {MAXSIM: "Best", HYBRID: "Meaning and words", DENSE: "Meaning", WORDS: "Words (BM25)"}
ABOUT = """
**Best**: by meaning and words, then word by word: each word of the query with the word closest in meaning, in the best 50 rows.

**Compare with**: a second ranking beside the first; the former model's too, once the corpus was indexed again with another one.
"""


class SearchControls:
    """The components, and what their values mean."""

    def __init__(self) -> None:
        self.filters = Filters()
        self.ranking = gr.Dropdown(
            [(label, name) for name, label in RANKINGS.items()], value=DEFAULT_RANKING, label="Rank by", filterable=False,
            elem_id="ranking",
        )  # fmt: skip
        self.beside = gr.Dropdown([NOTHING_BESIDE], value=NOTHING, label="Compare with", filterable=False, elem_id="beside-hits")
        with gr.Accordion("More", open=False, elem_id="options", elem_classes="popover"):
            gr.Markdown(ABOUT)
            self.cross = gr.Dropdown(
                [NO_CROSS], value=NOTHING, label=f"Re-rank the best {RERANKED} with a cross-encoder", allow_custom_value=True,
                info="One trained to rank answers: a name on the Hub, such as cross-encoder/ms-marco-MiniLM-L6-v2, or a folder.",
                elem_id="search-cross",
            )  # fmt: skip
        self.components: list[Any] = [self.ranking, self.cross, self.beside, self.filters.state]
        # The events after which the corpus is searched again.
        self.changes = [self.ranking.input, self.cross.input, self.beside.input]

    def of_corpus(self, offered: Offered, values: Values) -> Updates:
        """Offer what a corpus can be searched with. values: what is chosen."""
        former = [(f"the index before, {offered.former_model}", FORMER_MODEL)] if offered.former_model else []
        rankings = [(label, name) for name, label in RANKINGS.items() if name in offered.rankings]
        choices: Updates = {
            self.ranking: gr.Dropdown(choices=rankings, value=values[self.ranking]),
            self.beside: gr.Dropdown(choices=[NOTHING_BESIDE, *rankings, *former], value=values[self.beside]),
            self.cross: gr.Dropdown(choices=[NO_CROSS, *((name, name) for name in offered.rerankers)], value=values[self.cross]),
        }
        chosen = {component: values[component] for component in self.components}
        filters = values[self.filters.state].filters
        return chosen | choices | self.filters.show(Filtering(offered.columns, filters, offered.sampled))

    def active(self, values: Values) -> dict[str, str]:
        """Chip name -> label, of the cross-encoder and each filter in force."""
        cross = {CROSS: f"Re-ranked by {values[self.cross]}"} if values[self.cross] else {}
        return cross | self.filters.active(values)

    def without(self, values: Values, name: Any) -> Values:
        """The components to change so that what this chip names is off."""
        return {self.cross: NOTHING} if name == CROSS else self.filters.without(values, name)

    def by_name(self, values: Values) -> dict[str, Any]:
        """The values by elem_id."""
        return {str(component.elem_id): values[component] for component in self.components}

    def from_names(self, chosen: dict[str, Any]) -> Values:
        """The values as `by_name` returned them; for what is missing, that of a new page."""
        return {component: chosen.get(str(component.elem_id), component.value) for component in self.components}
