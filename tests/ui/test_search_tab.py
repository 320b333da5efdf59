"""The Search tab's handlers without a browser: what is selected on the map is searched as a whole, and no choice is lost."""

from dataclasses import replace
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.colouring import CLUSTERS
from sbert_app.corpus_map.query import QueryOnMap
from sbert_app.corpus_map.selection import near_query, of_group
from sbert_app.errors import UserError
from sbert_app.jobs.search.job import FIRST_HITS, SEARCH, search
from sbert_app.ui.corpus.filters import Filtering
from sbert_app.ui.map.panel import INSIDE
from sbert_app.ui.search.panels import AddressFilters, LastSearch
from sbert_app.ui.search.tab import SearchTab
from tests.corpus_map.maps import map_in_thirds
from tests.searching import indexed, of_example


@pytest.fixture(scope="module")
def tab(shared_bench):
    with gr.Blocks():
        tab = SearchTab(shared_bench, gr.State(), gr.State(""))
        tab.listen(gr.HTML(js_on_load=INSIDE))
    return tab


@pytest.fixture
def session(shared_bench):
    return of_example(shared_bench, "support_tickets.csv")


@pytest.fixture
def values(tab, session):
    """What the page has, a query typed."""
    filtering = Filtering(session.corpus().corpus.filter_columns)
    page = {tab._session: session, tab._opened: "a1", tab.query: "charged twice", tab.options.filters.state: filtering}
    return tab.options.chosen(session) | page


def sent(**data):
    return SimpleNamespace(_data=data)


def found(tab, values):
    """What is there when the search has ended."""
    *_, answer = tab._on_search(values)
    return answer


def test_a_search_inside_a_selection_begins_without_the_former_query_and_filters(tab, session, values):
    indexed, filters = session.corpus(), tab.options.filters
    session.put(drawn := map_in_thirds(indexed))
    session.put(selected := of_group(drawn, CLUSTERS, 1))
    values |= {filters.state: Filtering(indexed.corpus.filter_columns, {"team": ["Billing"]})}
    answer = tab._on_inside(values)
    assert answer[tab.query] == "" and answer[filters.state].filters == {} and " checked" not in answer[filters.menus]
    assert f"Only {selected.title(drawn)} are searched" in answer[tab.hits].replace("&#34;", '"')
    assert "Billing" not in answer[tab.chips] and "Inside: " in answer[tab.chips]
    assert session.get(LastSearch).values[filters.state].filters == {}  # a reload brings none back


def test_the_sentence_on_what_is_searched_inside_fits_a_title_of_a_query(tab, session, values):
    query = QueryOnMap("bills", np.zeros(2, np.float32), np.arange(926, dtype=np.float32), 12.0)
    session.put(drawn := replace(map_in_thirds(session.corpus()), query=query))
    session.put(near_query(drawn))
    assert "Only the 10 nearest to “bills” are searched." in tab._on_inside(values)[tab.hits]


def test_an_answer_that_another_question_overtook_changes_nothing(tab, session, values, monkeypatch):
    def overtaken(*asked):
        monkeypatch.undo()
        found(tab, values | {tab.options.ranking: "words"})
        return search(*asked)

    monkeypatch.setattr("sbert_app.ui.search.tab.search", overtaken)
    assert found(tab, values) == {tab.hits: gr.skip()}
    assert session.get(LastSearch).values[tab.options.ranking] == "words"  # a reload brings the later one back
    assert "charged twice" in found(tab, values)[tab.hits]


def test_where_the_model_has_much_to_read_first_hits_stand_there_before_the_answer(tab, shared_bench, sentences, values):
    session = indexed(shared_bench, [" ".join(sentences[first : first + 10]) for first in range(0, 200, 10)])
    values |= {tab._session: session}
    early, answer = (updates[tab.hits] for updates in tab._on_search(values))
    assert FIRST_HITS in early and "charged twice" in early and "charged twice" in answer and FIRST_HITS not in answer
    beats = tab._on_search(values)
    assert FIRST_HITS in next(beats)[tab.hits]
    found(tab, values | {tab.query: "no sound"})
    assert [*beats] == [{tab.hits: gr.skip()}]
    *before, _ = tab._on_search(values | {tab.options.ranking: "dense"})
    assert before == []  # nothing is read for it


def test_a_menu_that_is_left_as_it_was_neither_searches_nor_overtakes_what_is_asked(tab, session, values):
    """By the Tab key one leaves the menus on the way to the hits."""
    for ranking in ("words", "hybrid"):
        asked = session.begin(SEARCH.name)
        assert tab._on_menu(values) == {tab.hits: gr.skip()} and not asked.revoked
        values |= {tab.options.ranking: ranking}
        assert "charged twice" in tab._on_menu(values)[tab.hits] and asked.revoked
    tab._on_picked(values | {tab.options.ranking: "words"}, sent(row=3))
    assert "charged twice" in tab._on_menu(values)[tab.hits]  # those of the picked row are by words


def test_more_like_this_means_the_passage_on_the_card(tab, session, values, monkeypatch):
    asked = []
    monkeypatch.setattr("sbert_app.ui.search.tab.more_like", lambda *given: asked.append(given[-1]) or search(*given[:2], given[3]))
    for passage in (70, None, "7"):
        tab._on_picked(values, sent(row=3, passage=passage))
    assert asked == [70, None, None]


def test_what_comes_with_a_corpus_leaves_the_answer_to_what_was_asked_since_it_opened(tab, session, values):
    found(tab, values | {tab.query: "no sound"})
    late = tab._on_opened(values)
    assert tab.hits not in late and "value" not in late[tab.options.ranking] and late[tab.body].visible
    first = tab._on_opened(values | {tab._opened: "b2"})
    assert "charged twice" in first[tab.hits] and 0.2 < first[tab.above.least] < 0.6 and tab.above.least not in late


def test_that_a_corpus_opens_without_a_query_leaves_a_search_alone_that_runs(tab, session, values):
    session.swap(session.get(IndexedCorpus), replace(session.corpus(), corpus=replace(session.corpus().corpus, first_query="")))
    running = session.begin(SEARCH.name)
    assert "Type what you are looking for" in tab._on_opened(values | {tab.query: ""})[tab.hits] and not running.revoked


def test_a_corpus_opens_though_the_query_in_the_address_is_refused(tab, session, values):
    shown = tab._on_opened(values | {tab.query: "\x00"})
    assert shown[tab.body].visible and "The query is blank" in shown[tab.hits]


def test_filters_that_one_search_sets_count_for_those_beside_it_unless_they_are_refused(tab, values):
    """The page's own state has them only when that search has ended; here it never does."""
    with pytest.raises(UserError, match="blank"):
        found(tab, values | {tab.query: " "})
    rows = tab._on_filters(values | {tab.query: " "}, sent(filters={"team": ["Billing"]}))[tab.hits]
    assert "145 of 926 rows fit" in rows and rows.count("<tr>") == 21
    assert "team: Billing" in found(tab, values)[tab.chips]
    refused = tab._on_filters(values, sent(filters={"no such column": ["x"]}))
    state, menus = tab.options.filters.outputs[1], tab.options.filters.menus
    assert refused[state].filters == {"team": ["Billing"]} and refused[menus].count(" checked") == 1  # as it was, on the page too
    assert "team: Billing" in found(tab, values)[tab.chips]
    tab._on_removed(values, sent(filter="filter team"))
    assert "Billing" not in found(tab, values)[tab.chips]


@pytest.mark.parametrize(
    ("query", "filters", "expected"),
    [("bills", '{"team": ["Shipping"]}', {"team": ["Shipping"]}), ("bills", "", {}), ("", "", {"team": ["Billing"]})],
)
def test_an_address_that_names_a_search_names_its_filters_too(tab, session, values, query, filters, expected):
    tab._on_filters(values, sent(filters={"team": ["Billing"]}))
    session.put(AddressFilters.read(session.corpus().key, query, filters))
    shown = tab._on_opened(values | {tab._opened: "b2"})
    assert shown[tab.options.filters.state].filters == expected


def test_what_is_refused_is_not_kept(tab, session, values):
    """A reload would bring it back, to be refused again."""
    with pytest.raises(UserError):
        found(tab, values | {tab.options.cross: "/no/such/folder"})
    late = tab._on_opened(values | {tab.query: "no sound"})
    assert tab.hits not in late and session.get(LastSearch).values == {}  # its error is on the page
    assert tab.hits in tab._on_opened(values | {tab._opened: "b2"})
