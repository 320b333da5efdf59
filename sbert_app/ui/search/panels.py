"""The parts of the Search tab around the hits: how it searches, and judging hits by click."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import gradio as gr

from sbert_app.corpus.filters import in_words
from sbert_app.corpus.hits import DEFAULT_RANKING, FORMER_MODEL, MAXSIM
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.jobs.search.job import RERANKED, SEARCH
from sbert_app.jobs.search.open_corpus import FILE, Offered, as_csv, judge, judgements
from sbert_app.runtime import Session, Workbench
from sbert_app.runtime.line import Stop
from sbert_app.ui.corpus.filters import Filtering, Filters
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, handler, sent
from sbert_app.ui.kit.files import FileButton
from sbert_app.ui.search import view

CROSS = "cross"  # its chip
NO_CROSS, NOTHING_BESIDE = ("none", ""), ("nothing", "")
RANKINGS = {MAXSIM: "Best", HYBRID: "Meaning and words", DENSE: "Meaning", WORDS: "Words (BM25)"}
ABOUT = """
**Best**: by meaning and words, then word by word: each word of the query with the word closest in meaning, in the best 50 rows.

**Compare with**: a second ranking beside the first; the former model's too, once the corpus was indexed again with another one.
"""
# "picked" is a custom event: a row or passage to find more like it, a number of hits, a ranking to compare with, or a filter
PICKED = """
element.addEventListener('click', event => {
  const button = event.target.closest('button:is([data-row], [data-top], [data-beside], [data-filter])');
  if (!button) return;
  const { row, passage, top, beside, filter } = button.dataset;
  trigger('picked', { row: Number(row), passage: passage && Number(passage), top: Number(top), beside, filter });
});
studio.follow(element);
"""
# "judged" is a custom event of the hits: a row, its grade (null: taken back), and the query that the hits are of.
JUDGED = """
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-judge]');
  if (!button) return;
  const { of: row, judge } = button.dataset;
  const grade = button.getAttribute('aria-pressed') === 'true' ? null : Number(judge);
  for (const other of element.querySelectorAll(`button[data-of="${row}"]`))
    other.setAttribute('aria-pressed', String(grade !== null && Number(other.dataset.judge) === grade));
  trigger('judged', {query: element.querySelector('[data-query]').dataset.query, row: Number(row), grade});
});
"""


@dataclass(frozen=True)
class LastSearch:
    """How a session's corpus was searched last; a reload brings it back."""

    of_corpus: ClassVar[bool] = True

    opened: str  # in which opening of it, as the page calls it: a reload is another
    values: Values  # by component; one that is missing is as it was at first


@dataclass(frozen=True)
class AddressFilters:
    """The filters that the page's address names, and the corpus that they are for. searches: whether it names a search at all."""

    corpus: str
    filters: dict[str, Any]
    searches: bool

    @classmethod
    def read(cls, corpus: str, query: str, text: str) -> "AddressFilters":
        """Filters as JSON; whatever is not as expected counts as absent."""
        try:
            filters = json.loads(text)
            return cls(corpus, filters if isinstance(filters, dict) and in_words(filters) else {}, True)
        except (ValueError, RecursionError, UserError):
            return cls(corpus, {}, bool(query))


class SearchControls:
    """The components, and what their values mean. `opened` changes with the session's corpus."""

    def __init__(self, session: gr.State, opened: gr.State) -> None:
        self._session, self._opened = session, opened
        self.filters = Filters()
        rankings = [(label, name) for name, label in RANKINGS.items()]
        self.ranking = gr.Dropdown(rankings, value=DEFAULT_RANKING, label="Rank by", filterable=False, elem_id="ranking")
        self.beside = gr.Dropdown([NOTHING_BESIDE], label="Compare with", filterable=False, elem_id="beside-hits")
        with gr.Accordion("More", open=False, elem_id="options", elem_classes="popover"):
            gr.Markdown(ABOUT)
            self.cross = gr.Dropdown(
                [NO_CROSS], label=f"Re-rank the best {RERANKED} with a cross-encoder", allow_custom_value=True,
                info="One trained to rank answers: a name on the Hub, such as cross-encoder/ms-marco-MiniLM-L6-v2, or a folder.",
                elem_id="search-cross",
            )  # fmt: skip
        self.menus = [self.ranking, self.cross, self.beside]
        self.components: list[Any] = [*self.menus, self.filters.state]

    def of_corpus(self, offered: Offered, values: Values, meanwhile: bool) -> Updates:
        """Offer what a corpus can be searched with. values: what is chosen, unless the page has something else meanwhile."""
        former = [(f"the index before, {offered.former_model}", FORMER_MODEL)] if offered.former_model else []
        rankings = [(label, name) for name, label in RANKINGS.items() if name in offered.rankings]
        comparisons, rerankers = [NOTHING_BESIDE, *rankings, *former], [NO_CROSS, *offered.rerankers]
        menus = {self.ranking: rankings, self.beside: comparisons, self.cross: rerankers}
        return {
            **{menu: gr.update(choices=listed, **({} if meanwhile else {"value": values[menu]})) for menu, listed in menus.items()},
            **self.filters.show(Filtering(offered.columns, values[self.filters.state].filters, offered.sampled)),
        }

    def chosen(self, session: Session) -> Values:
        """What was asked last of the session's corpus, or what is chosen at first."""
        last = session.get(LastSearch)
        return {component: component.value for component in self.components} | (last.values if last else {})

    def addressed(self, session: Session) -> Values:
        """The filters of the page's address, once, if it names the open corpus; without a search, those of the last one stay."""
        indexed, address = session.get(IndexedCorpus), session.get(AddressFilters)
        session.drop(AddressFilters)
        if not (address and indexed and address.corpus in (indexed.key, indexed.corpus.name)):
            return {}
        return {} if session.get(LastSearch) and not address.searches else {self.filters.state: Filtering(filters=address.filters)}

    def asked(self, values: Values) -> LastSearch | None:
        """What was asked since the corpus was opened."""
        last = values[self._session].get(LastSearch)
        return last if last and last.opened == values[self._opened] else None

    def now(self, values: Values) -> Values:
        """The values, with the filters in force now: those that a search has set are on the page only when it has ended."""
        last, state = self.asked(values), self.filters.state
        if last is None or state not in last.values:
            return values
        return values | {state: replace(values[state], filters=last.values[state].filters)}

    @contextmanager
    def asking(self, values: Values) -> Iterator[Stop]:
        """This is what is asked from now on, unless the block refuses it. Yields the run, revoked when something else is asked."""
        session, opened = values[self._session], values[self._opened]
        before, asked = session.get(LastSearch), LastSearch(opened, {component: values[component] for component in self.components})
        session.put(asked)
        try:
            yield session.begin(SEARCH.name)
        except UserError:
            session.swap(asked, LastSearch(opened, before.values if before else {}))
            raise

    def changed(self, values: Values) -> bool:
        """Whether another option than what was asked last is chosen in a menu."""
        before = self.chosen(values[self._session])
        return any(values[menu] != before[menu] for menu in self.menus)

    def active(self, values: Values) -> dict[str, str]:
        """Chip name -> label, of the cross-encoder and each filter in force."""
        cross = {CROSS: f"Re-ranked by {values[self.cross]}"} if values[self.cross] else {}
        return cross | self.filters.active(values)

    def without(self, values: Values, name: Any) -> Values:
        """The components to change so that what this chip names is off."""
        return {self.cross: ""} if name == CROSS else self.filters.without(values, name)


class JudgingPanel:
    def __init__(self, bench: Workbench, session: gr.State, hits: gr.HTML) -> None:
        self._bench = bench
        with gr.Row(elem_id="judging") as self.row:
            on = gr.Checkbox(False, label="Judge these hits", container=False, scale=0, min_width=170, elem_id="judge")
            self.count = gr.HTML(elem_id="judged", js_on_load=None)
            self.file = FileButton(FILE, "judgements", visible=False)
        self.outputs = [self.count, self.file.button]
        on.input(None, on, None, js="on => { document.body.classList.toggle('judging', on); }", **PRIVATE)
        hits.judged(handler(self._on_judged), session, self.outputs, trigger_mode="multiple", **PRIVATE)
        self.file.listen(as_csv, [session])

    def shown(self, session: Session) -> Updates:
        """How much is judged, and the button of the file."""
        given = judgements(session)
        number = f"{len(given.grades):,}" if given.grades else ""
        return {self.count: view.judged_so_far(given), self.file.button: self.file.labelled(number)}

    def _on_judged(self, session: Session, event: gr.EventData) -> Updates:
        judge(self._bench, session, *map(sent(event).get, ("query", "row", "grade")))
        return self.shown(session)
