"""A collection on the page: opened, searched, filtered, mapped; hosted only those that the administrator lists."""

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import go_to
from tests.browser.conftest import arrive, served
from tests.browser.corpus import choose_filter, open_example, open_menu, search
from tests.jobs.collection.made import make


@pytest.fixture(scope="module")
def store(tmp_path_factory, shared_bench):
    folder = tmp_path_factory.mktemp("stores") / "tickets"
    make(folder, shared_bench.registry.encoder(), 300)
    return folder


def test_a_collection_is_opened_comes_back_after_a_reload_and_is_searched_filtered_and_mapped(page, store, monkeypatch):
    monkeypatch.setattr("sbert_app.collections.opened.MOST_SAMPLED", 100)  # rows of a collection in memory
    go_to(page, "Search")
    open_menu(page)
    page.locator("#open-collection").get_by_role("button", name="Open a collection").click()
    address = page.locator("#collection-address").locator("input, textarea").first
    address.fill(str(store.parent / "nowhere"))
    page.locator("#collection-open").click()
    expect(page.get_by_text("There is no collection in")).to_be_visible()
    address.fill(str(store))
    page.locator("#collection-open").click()
    expect(page.locator("#corpus-menu")).to_contain_text("300 rows")
    expect(page.locator("#corpus-panel")).to_be_hidden()
    expect(page.locator("#status")).to_contain_text("collection of 300 rows · all-MiniLM-L6-v2 · exact index")
    page.reload()
    arrive(page)
    expect(page.locator("#corpus-menu")).to_contain_text("300 rows")
    expect(page.locator("#status")).to_contain_text("collection of 300 rows")
    search(page, "charged two times")
    expect(page.locator("#hits")).to_contain_text("10 of 300 in")
    expect(page.locator("#hits")).to_contain_text("ranked by meaning, then the best 50 word by word")
    for hidden in ("#judging", "#standing"):
        expect(page.locator(hidden)).to_be_hidden()
    page.locator("#ranking input").click()
    expect(page.get_by_role("option")).to_have_text(["✓ Best", "✓ Meaning"])
    page.keyboard.press("Escape")
    choose_filter(page, "team", "Billing")
    expect(page.locator("#hits")).to_contain_text("10 of 300, of those that fit the filters")
    page.locator("#hits .more").first.click()
    expect(page.locator("#hits [data-query]")).not_to_have_attribute("data-query", "charged two times")
    go_to(page, "Map")
    expect(page.locator("#map-course")).to_contain_text("tickets: sample of 100 of 300 rows")
    expect(page.locator("#map-summary")).to_contain_text("100 sentences")
    query = page.locator("#map-query").locator("input, textarea").first
    query.fill("charged two times")
    query.press("Enter")
    expect(page.locator("#map-selection")).to_contain_text("in all 300 rows")
    expect(page.locator("#map-selection")).to_contain_text("not in the sample")
    go_to(page, "Duplicates")
    expect(page.locator("#overlap-box")).to_be_hidden()
    page.locator("#find-duplicates").click()
    expect(page.locator("#duplicates-headline")).to_contain_text("Each of 300 rows was compared with its 10 nearest of all")
    open_example(page, "Household advice")
    go_to(page, "Search")
    expect(page.locator("#judging")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("450 sentences")


@pytest.fixture(scope="module")
def hosted_with_collections(app_url, store, tmp_path_factory):
    yield from served(tmp_path_factory.mktemp("hosted-collections"), hosted=True, collections=(str(store),))


def test_hosted_a_visitor_chooses_from_the_list_and_sees_no_folder(visit, hosted_with_collections, store):
    page = visit(url=hosted_with_collections)
    go_to(page, "Search")
    open_menu(page)
    page.locator("#open-collection").get_by_role("button", name="Open a collection").click()
    expect(page.locator("#collection-address input")).to_have_value("tickets")
    expect(page.get_by_text("python -m sbert_app index")).to_have_count(0)
    page.locator("#collection-open").click()
    expect(page.locator("#corpus-menu")).to_contain_text("300 rows")
    search(page, "charged two times")
    expect(page.locator("#hits")).to_contain_text("10 of 300 in")
    assert str(store) not in page.content() and "corpus=collection%3Atickets" in page.url
