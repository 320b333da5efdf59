"""The Search tab's handlers without a browser: what is selected on the map is searched as a whole, and no choice is lost."""

from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest

from sbert_app.corpus_map.colouring import CLUSTERS
from sbert_app.corpus_map.projecting import Projection
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.corpus_map.selection import of_group
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.opening import open_example
from sbert_app.jobs.search.job import SEARCH, search
from sbert_app.mapping.clusters import K_MEANS, Clustering
from sbert_app.ui.corpus.filters import Filtering
from sbert_app.ui.map.panel import INSIDE
from sbert_app.ui.search.panels import ChosenOptions
from sbert_app.ui.search.tab import SearchTab


@pytest.fixture(scope="module")
def tab(shared_bench):
    with gr.Blocks() as page:
        tab = SearchTab(shared_bench, gr.State(), gr.State(""))
        tab.listen(gr.State(""), gr.HTML(js_on_load=INSIDE))
    return SimpleNamespace(search=tab, page=page)


def test_a_search_inside_a_selection_begins_without_the_former_query_and_filters(tab, shared_bench):
    session, search = shared_bench.sessions.open(), tab.search
    indexed = open_example(shared_bench, session, "support_tickets.csv")
    labels = np.arange(len(indexed.corpus), dtype=np.int32) % 3
    projection = Projection(indexed, np.zeros((len(labels), 2), np.float32), np.arange(len(labels)), "by hand", {})
    session.put(drawn := CorpusMap.build(projection, Clustering(labels, K_MEANS, "by hand"), 1.0, (K_MEANS, 3)))
    session.put(selected := of_group(drawn, CLUSTERS, 1))
    filters = search.options.filters
    values = {component: component.value for component in search.options.components}
    values |= {search._session: session, search._since._opened: "a1", search.query: "charged twice"}
    values |= {filters.state: Filtering(indexed.corpus.filter_columns, {"team": ["Billing"]})}
    answer = search._on_inside(values)
    assert answer[search.query] == "" and answer[filters.state].filters == {} and " checked" not in answer[filters.menus]
    assert f"Only {selected.title(drawn)} are searched" in answer[search.hits].replace("&#34;", '"')
    assert "Billing" not in answer[search.chips] and "Inside: " in answer[search.chips]
    assert session.get(ChosenOptions).values[filters.state].filters == {}  # a reload brings none back


def test_an_answer_that_another_question_overtook_changes_and_keeps_nothing(tab, shared_bench, monkeypatch):
    session, parts = shared_bench.sessions.open(), tab.search
    open_example(shared_bench, session, "support_tickets.csv")
    values = {component: component.value for component in parts.options.components}
    values |= {parts._session: session, parts._since._opened: "a1", parts.query: "charged twice"}

    def overtaken(*asked):
        session.begin(SEARCH.name)
        return search(*asked)

    with monkeypatch.context() as patch:
        patch.setattr("sbert_app.ui.search.tab.search", overtaken)
        assert parts._on_search(values) == {parts.hits: gr.skip()} and session.get(ChosenOptions) is None
    assert "charged twice" in parts._on_search(values)[parts.hits] and session.get(ChosenOptions) is not None


def test_a_menu_that_is_left_as_it_was_neither_searches_nor_overtakes_what_is_asked(tab, shared_bench):
    """By the Tab key one leaves the menus on the way to the hits."""
    session, parts = shared_bench.sessions.open(), tab.search
    open_example(shared_bench, session, "support_tickets.csv")
    values = {component: component.value for component in parts.options.components}
    values |= {parts._session: session, parts._since._opened: "a1", parts.query: "charged twice"}
    for ranking in ("words", "hybrid"):
        asked = session.begin(SEARCH.name)
        assert parts._on_menu(values) == {parts.hits: gr.skip()} and not asked.revoked
        values |= {parts.options.ranking: ranking}
        assert "charged twice" in parts._on_menu(values)[parts.hits] and asked.revoked
    parts._on_picked(values | {parts.options.ranking: "words"}, SimpleNamespace(_data={"row": 3}))
    assert "charged twice" in parts._on_menu(values)[parts.hits]  # those of the picked row are by words


def test_what_comes_with_a_corpus_leaves_the_answer_to_what_was_asked_since_it_opened(tab, shared_bench):
    session, parts = shared_bench.sessions.open(), tab.search
    open_example(shared_bench, session, "support_tickets.csv")
    values = {component: component.value for component in parts.options.components}
    values |= {parts._session: session, parts._since._opened: "a1", parts.query: "no sound"}
    parts._on_search(values)
    late = parts._on_opened(values | {parts.query: "charged twice"})
    assert parts.hits not in late and "value" not in late[parts.options.ranking] and late[parts.body].visible
    assert "charged twice" in parts._on_opened(values | {parts._since._opened: "b2", parts.query: "charged twice"})[parts.hits]


def test_filters_that_one_search_sets_count_for_those_beside_it_unless_they_are_refused(tab, shared_bench):
    """The page's own state has them only when that search has ended; here it never does."""
    session, parts = shared_bench.sessions.open(), tab.search
    indexed = open_example(shared_bench, session, "support_tickets.csv")
    state = parts.options.filters.state
    values = {component: component.value for component in parts.options.components}
    values |= {parts._session: session, parts._since._opened: "a1", parts.query: "charged twice"}
    values |= {state: Filtering(indexed.corpus.filter_columns)}
    parts._on_filters(values, SimpleNamespace(_data={"filters": {"team": ["Billing"]}}))
    assert "team: Billing" in parts._on_search(values)[parts.chips]
    with pytest.raises(UserError):
        parts._on_filters(values, SimpleNamespace(_data={"filters": {"no such column": ["x"]}}))
    assert "team: Billing" in parts._on_search(values)[parts.chips]
    parts._on_removed(values, SimpleNamespace(_data={"filter": "filter team"}))
    assert "Billing" not in parts._on_search(values)[parts.chips]
