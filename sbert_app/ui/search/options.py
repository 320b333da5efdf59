"""How the Search tab searches: number of hits, the ranking, what is shown beside the hits, filters."""

from typing import Any

import gradio as gr

from sbert_app.corpus.hits import DEFAULT_RANKING, FORMER_MODEL, MAXSIM
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS
from sbert_app.jobs.search.job import RERANKED
from sbert_app.jobs.search.offered import Offered
from sbert_app.ui.corpus.filters import Filtering, Filters
from sbert_app.ui.kit.events import Updates, Values

NOTHING = ""
ANOTHER_MODEL = "To compare with another model, fine-tune one or load one in the header, and index the corpus again."
NO_CROSS = ("none", NOTHING)
RANKINGS = [
    ("Meaning and words, then word by word", MAXSIM),
    ("Meaning and words", HYBRID),
    ("Meaning alone", DENSE),
    ("Words alone (BM25)", WORDS),
]
MEANING_FIRST = "Meaning, then word by word"  # MAXSIM of a collection, which has no index of words
CHIPS = {
    HYBRID: "Meaning and words",
    DENSE: "Meaning alone",
    WORDS: "Words alone",
    MAXSIM: "Word by word",
    FORMER_MODEL: "former index",
}
BESIDE = [("nothing", NOTHING), *((label[0].lower() + label[1:], name) for label, name in RANKINGS)]


class SearchControls:
    """The components, and what their values mean."""

    def __init__(self, filters: Filters) -> None:
        self.filters = filters
        self.top = gr.Slider(1, 100, 10, step=1, label="Hits", elem_id="top")
        self.ranking = gr.Radio(
            RANKINGS, value=DEFAULT_RANKING, label="Rank by", elem_id="ranking",
            info="Word by word: each word of the query is matched with the word closest in meaning, in the best 50 rows.",
        )  # fmt: skip
        self.beside = gr.Radio(
            BESIDE, value=NOTHING, label="Beside the hits, to compare", elem_id="beside-hits", info=ANOTHER_MODEL
        )
        self.cross = gr.Dropdown(
            [NO_CROSS], value=NOTHING, label=f"Re-rank the best {RERANKED} with a cross-encoder", allow_custom_value=True,
            info="One trained to rank answers: a name on the Hub, such as cross-encoder/ms-marco-MiniLM-L6-v2, or a folder.",
            elem_id="search-cross",
        )  # fmt: skip
        # Name of the chip -> component, its value when off, and the label of the chip for each other value.
        self._switches: dict[str, tuple[Any, Any, dict[Any, str]]] = {
            "ranking": (self.ranking, DEFAULT_RANKING, {name: label for name, label in CHIPS.items() if name != DEFAULT_RANKING}),
            "cross": (self.cross, NOTHING, {}),
            "beside": (self.beside, NOTHING, {name: f"Beside: {label.lower()}" for name, label in CHIPS.items()}),
        }
        self.components: list[Any] = [self.top, self.ranking, self.cross, self.beside, self.filters.state]
        # The events after which the corpus is searched again.
        self.changes = [self.top.release, self.ranking.input, self.cross.input, self.beside.input]

    def of_corpus(self, offered: Offered, values: Values) -> Updates:
        """Offer what a corpus can be searched with. values: what is chosen."""
        former = [(f"the index before, {offered.former_model}", FORMER_MODEL)] if offered.former_model else []
        of_collection = HYBRID not in offered.rankings  # which stays with its model
        titles = {name: label for label, name in RANKINGS if name in offered.rankings}
        titles |= {MAXSIM: MEANING_FIRST} if of_collection and MAXSIM in titles else {}
        rankings = [(label, name) for name, label in titles.items()]
        beside = [("nothing", NOTHING), *((label[0].lower() + label[1:], name) for label, name in rankings), *former]
        info = "" if of_collection else ANOTHER_MODEL
        choices: Updates = {
            self.ranking: gr.Radio(choices=rankings, value=values[self.ranking]),
            self.beside: gr.Radio(choices=beside, value=values[self.beside], info=info),
            self.cross: gr.Dropdown(choices=[NO_CROSS, *((name, name) for name in offered.rerankers)], value=values[self.cross]),
        }
        chosen = {component: values[component] for component in self.components}
        filters = values[self.filters.state].filters
        return chosen | choices | self.filters.show(Filtering(offered.columns, filters, offered.sampled))

    def active(self, values: Values) -> dict[str, str]:
        """Chip name -> label, of each option and filter in force."""
        on = {name: labels.get(values[switch]) for name, (switch, _, labels) in self._switches.items()}
        if values[self.cross]:
            on["cross"] = f"Re-ranked by {values[self.cross]}"
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
