"""The Search tab: search the open corpus by meaning."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.hits import Indexing, SearchResult
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.map.kept import search_inside
from sbert_app.jobs.search.job import SearchOptions, beside, first_hits, more_like, search
from sbert_app.jobs.search.open_corpus import Within, cautions, first_query, fitting, judgements, offered, weak_below
from sbert_app.runtime import Session, Workbench
from sbert_app.ui.corpus.panel import corpus_start
from sbert_app.ui.corpus.view import card, collection_card
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, dimming, handler, sent, typed_text
from sbert_app.ui.search import view
from sbert_app.ui.search.below_hits import ABOVE, AbovePanel, StandingPanel, links
from sbert_app.ui.search.panels import JUDGED, PICKED, JudgingPanel, SearchControls

HITS = "hits"  # the element of the result
INSIDE = "inside"  # the chip of what is selected on the map
FOCUS = "() => document.querySelector('#query :is(input, textarea)')?.focus()"
LEAD = "Find sentences by what they **mean**, in your own file: different words, same idea."


class SearchTab:
    """`query`: the text box, which a reload fills again. `start`: for each page, the corpora to choose from while none is open."""

    def __init__(self, bench: Workbench, session: gr.State, opened: gr.State) -> None:
        self._bench, self._session, self._opened = bench, session, opened
        gr.Markdown(LEAD, elem_classes="lead")
        self.start = corpus_start(bench)
        with gr.Column(visible=False, elem_id="search-body") as self.body:
            self.status = gr.HTML(elem_id="status", js_on_load=None)
            with gr.Row(elem_classes="query-row"):
                self.query = gr.Textbox(
                    label="Query", show_label=False, placeholder="What are you looking for?", max_lines=1, scale=6, min_width=220,
                    elem_id="query",
                )  # fmt: skip
                self.go = gr.Button("Search", variant="primary", scale=0, min_width=120, elem_id="search")
            with gr.Row(elem_id="search-filters"):
                self.options = SearchControls(session, opened)
            self.chips = gr.HTML(elem_id="chips", js_on_load=PICKED)
            self.hits = gr.HTML(elem_id=HITS, js_on_load=PICKED + JUDGED)
            self.judging = JudgingPanel(bench, session, self.hits)
            self.above = AbovePanel(bench)
            self.standing = StandingPanel(bench)

    def listen(self, selection: gr.HTML) -> Any:
        """Connect events. selection: of the map, in which one can search. Returns the event of the answer in another corpus."""
        options, filters = self.options.components, self.options.filters
        everything = {self._session, self._opened, self.query, *options}
        answer = [self.chips, self.hits]
        judged = [self.judging.row, self.above.block, self.above.least, self.standing.block, *self.judging.outputs]
        outputs = [self.body, self.status, self.query, *answer, *options, filters.menus, *judged]
        answered = dimming(HITS, self._opened.change, handler(self._on_opened), {self._session, self._opened, self.query}, outputs)
        changed = [menu.input for menu in self.options.menus]
        for triggers, work in (([self.query.submit, self.go.click], self._on_search), (changed, self._on_menu)):
            dimming(HITS, gr.on, triggers, handler(work), everything, answer, trigger_mode="always_last")
        filtered = [*filters.outputs, *answer]
        dimming(HITS, filters.menus.chosen, handler(self._on_filters), everything, filtered, trigger_mode="multiple")
        changed_by_hits = [self.query, self.options.beside, *answer]
        self.hits.picked(handler(self._on_picked), everything, changed_by_hits, trigger_mode="multiple", **PRIVATE)
        removed = [*options, filters.menus, *answer, self.standing.block]
        self.chips.picked(handler(self._on_removed), everything, removed, trigger_mode="multiple", **PRIVATE)
        for panel in (self.above, self.standing):
            panel.listen(self._asked, self._session, everything, self.hits)
        emptied = [self.query, *filters.outputs, *answer, self.standing.block]
        selection.inside(handler(self._on_inside), everything, emptied, **PRIVATE).success(None, None, None, js=FOCUS, **PRIVATE)
        return answered

    def _on_opened(self, values: Values) -> Updates:
        """Show the corpus and its filters; search it with the typed query or, for an example, with the example's."""
        session = values[self._session]
        indexed = session.get(IndexedCorpus)
        if indexed is None:
            return {self.body: gr.Column(visible=False)}
        values |= self.options.chosen(session) | self.options.addressed(session)  # after a reload, of the last search
        typed = typed_text(values[self.query])
        query = typed if values[self.options.filters.state].filters else first_query(self._bench, session, typed)
        collection = session.get(OpenCollection)
        status = collection_card(collection) if collection else card(indexed, session.get(Indexing))
        shown = {
            self.body: gr.Column(visible=True),
            self.status: status + html.cautions(cautions(self._bench, indexed), f"{HITS} {ABOVE}"),
            self.judging.row: gr.Row(visible=collection is None),
            self.standing.block: gr.Accordion(visible=collection is None and session.get(Within) is None),
            **self.judging.shown(session),
        }
        menus = offered(self._bench, session)
        # Last of all: what is asked from here on is answered after this, so that its answer stays.
        answer = {} if self.options.asked(values) else self._first_answer(values | {self.query: query})
        meanwhile = self.chips not in answer  # something else was asked, with what the page has now
        if query != typed and not meanwhile:
            answer[self.query] = query
        above = self.above.of_corpus(collection is None, None if meanwhile else weak_below(self._bench, session))
        return {**shown, **above, **self.options.of_corpus(menus, values, meanwhile), **answer}

    def _first_answer(self, values: Values) -> Updates:
        """The answer when a corpus is opened. The corpus is there too where what the page asks, from its address, is refused."""
        try:
            return self._answered(values, first=True)
        except UserError as error:
            return {self.chips: self._chips(values), self.hits: html.cautions([str(error)])}

    def _on_search(self, values: Values) -> Iterator[Updates]:
        values = self.options.now(values)
        listed = values[self.options.filters.state].filters and not typed_text(values[self.query])  # else a blank query is refused
        yield from [self._answered(values)] if listed else self._search(values, soon=True)

    def _on_menu(self, values: Values) -> Updates:
        """Search again if another option was chosen: Gradio's menu tells that it was left like a choice."""
        return self._answered(self.options.now(values)) if self.options.changed(values) else {self.hits: gr.skip()}

    def _on_filters(self, values: Values, event: gr.EventData) -> Updates:
        """Answer with the filters that were chosen; one that is refused goes from its menu too, which would show it as in force."""
        filters, before = self.options.filters, self.options.now(values)
        chosen = filters.changed(values, event)
        try:
            return chosen | self._answered(values | chosen)
        except UserError as error:
            gr.Warning(str(error), title="Filter not applied")
            return filters.show(before[filters.state])

    def _search(self, values: Values, soon: bool = False, **more: Any) -> Iterator[Updates]:
        """What is found. soon: where that takes a second or more, first hits before it."""
        options, session, asked = self.options, values[self._session], self._read(values, **more)
        with options.asking(values) as run:
            if soon and (first := first_hits(self._bench, session, asked)) and not run.revoked:
                yield {self.hits: view.UNDIMMED.format(self._results(session, first)), self.chips: self._chips(values)}
            result = search(self._bench, session, asked)
            other = beside(self._bench, session, values[options.beside], asked) if values[options.beside] else None
        hits = self._results(session, result, other)
        if result.hits:
            request = {"query": asked.query, "top": asked.top, "filters": asked.filters or None, "ranking": asked.ranking}
            request |= {"rerank": True, "cross_encoder": asked.cross_encoder} if asked.rerank else {}
            title = " · ".join([f"Search: {asked.query}", *options.filters.active(values).values()])
            hits += links(session, title, HITS, request)
        # Not if the visitor asked for something else meanwhile: its answer may be there already.
        yield {self.hits: gr.skip()} if run.revoked else {self.hits: hits, self.chips: self._chips(values)}

    def _on_picked(self, values: Values, event: gr.EventData) -> Updates:
        """More hits, those of another ranking beside them, or rows like one of them."""
        picked, options, values = sent(event), self.options, self.options.now(values)
        if top := picked.get("top"):
            return next(self._search(values, top=top))
        if beside := picked.get("beside"):
            return {options.beside: beside} | next(self._search(values | {options.beside: beside}))
        session, row, passage = values[self._session], picked.get("row"), picked.get("passage")
        asked = self._read(values | {self.query: f"row {row}"})
        with options.asking(values) as run:
            result = more_like(self._bench, session, row, asked, passage if type(passage) is int else None)
        hits, chips = self._results(session, result), self._chips(values)
        return {self.hits: gr.skip()} if run.revoked else {self.query: result.query, self.hits: hits, self.chips: chips}

    def _on_removed(self, values: Values, event: gr.EventData) -> Updates:
        """Remove the filter or switch off the option whose chip was clicked, and search again."""
        name, values = sent(event).get("filter"), self.options.now(values)
        if name == INSIDE:
            values[self._session].drop(Within)
            return {**self._answered(values), self.standing.block: gr.Accordion(visible=True)}
        changed = self.options.without(values, name)
        return {**changed, **self._answered(values | changed)}

    def _on_inside(self, values: Values) -> Updates:
        """Search only what is selected on the map, all of it: without the former query and filters."""
        session, filters = values[self._session], self.options.filters
        search_inside(session)
        cleared = filters.show(replace(values[filters.state], filters={})) | {self.query: ""}
        # "Expected another row?" looks in the whole corpus, so it is not there.
        return {**cleared, **self._answered(values | cleared), self.standing.block: gr.Accordion(visible=False)}

    def _answered(self, values: Values, first: bool = False) -> Updates:
        """The answer to the query; without one the rows that fit the filters, if there are any."""
        session, filters = values[self._session], values[self.options.filters.state].filters
        if typed_text(values[self.query]):
            return next(self._search(values))
        within, listed = session.get(Within), bool(filters) and not session.get(OpenCollection)
        with nullcontext() if first and not filters else self.options.asking(values):  # opening alone asks nothing
            rows = fitting(session, filters) if listed else None
        hits = view.fitting(rows, session.corpus().corpus.form.delimiter) if rows else view.no_query(within.title if within else "")
        return {self.chips: self._chips(values), self.hits: hits}

    def _chips(self, values: Values) -> Markup:
        """The part of the corpus that is searched, options and filters in force."""
        within = values[self._session].get(Within)
        active = ({INSIDE: f"Inside: {within.title}"} if within else {}) | self.options.active(values)
        return view.chips(active, values[self.options.filters.state].filters)

    def _results(self, session: Session, result: SearchResult, other: SearchResult | None = None) -> Markup:
        result = replace(result, weak=weak_below(self._bench, session))
        judged, form = judgements(session).of_query(result.query), session.corpus().corpus.form
        return view.results(result, other, judged, form.delimiter)

    def _asked(self, values: Values) -> dict[str, Any]:
        """What is searched for and how, by the names of the options."""
        filters = dict(values[self.options.filters.state].filters)
        return {"query": values[self.query], "ranking": values[self.options.ranking], "filters": filters}

    def _read(self, values: Values, **more: Any) -> SearchOptions:
        cross = values[self.options.cross]
        scored = {"rerank": True, "cross_encoder": cross} if cross else {}
        return read(SearchOptions, self._asked(values) | scored | more, self._bench.settings.limits)
