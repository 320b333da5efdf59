"""The corpus of all tabs: its menu in the header, filters in force, and what a reload brings back."""

import re
import threading
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.jobs.search import job as search_job
from sbert_app.ui.arrival import Arrival
from sbert_app.ui.search import tab as search_tab
from tests.browser.chromium import go_to
from tests.browser.conftest import arrive
from tests.browser.corpus import choose, choose_example, choose_filter, index, open_example, open_menu, paste, query, search, upload
from tests.browser.downloads import saved

DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, {type: 'text/csv'}));
  for (const kind of ['dragover', 'drop']) {
    document.querySelector('h1').dispatchEvent(new DragEvent(kind, {dataTransfer: files, bubbles: true, cancelable: true}));
  }
}"""

PLACES = "harbour orchard mill chapel bridge market school forge meadow tower".split()
THINGS = "roof wall keeper gate well path bell stones windows garden".split()


@pytest.fixture
def page(shared_page) -> Page:
    go_to(shared_page, "Search")
    return shared_page


@pytest.fixture
def places(write) -> Path:
    rows = [f"a walk through the old town number {i},{'travel' if i % 4 else 'food'},{i}" for i in range(120)]
    return write("places.csv", "\n".join(["text,domain,number", *rows]) + "\n")


def test_a_file_dropped_anywhere_is_taken_and_the_corpus_is_the_same_on_every_tab(page):
    expect(page.locator(".start:visible")).to_contain_text("Drop a file here, or click to choose one")
    expect(page.locator("#query")).to_be_hidden()
    go_to(page, "Fine-tune")
    go_to(page, "Similarity")
    page.evaluate(DROP, ["dropped.csv", "text,kind\nfirst line,a\nsecond line,b\n"])
    expect(page.locator("#offered")).to_contain_text("dropped.csv: 2 rows, 2 columns")
    index(page, "dropped.csv")
    for tab, element in {"Search": "#query", "Duplicates": "#find-duplicates"}.items():
        go_to(page, tab)
        expect(page.locator(element)).to_be_visible()
        expect(page.locator("#corpus-menu")).to_contain_text("2 rows")
    open_menu(page)
    page.locator("#make-npy").click()
    assert saved(page.locator("#download-npy"))[0] == "embeddings.npy"
    page.keyboard.press("Escape")
    expect(page.locator("#corpus-panel")).to_be_hidden()
    expect(page.locator("#corpus-menu button")).to_be_focused()
    page.get_by_role("tab", name="Duplicates", exact=True).press("ArrowLeft")
    expect(page.get_by_role("tab", name="Search", exact=True)).to_have_attribute("aria-selected", "true")


def test_a_filter_in_force_is_shown_though_it_is_folded_away_and_goes_with_one_click(page, places):
    upload(page, places)
    index(page, "places.csv")
    search(page, "old walk")
    expect(page.locator("#hits")).to_contain_text("10 of 120")
    choose_filter(page, "domain", "food 30")
    expect(page.locator("#hits")).to_contain_text("10 of 30 that fit (120 in all)")
    page.get_by_role("button", name="Compare with words alone").click()
    expect(page.locator(".beside")).to_contain_text("By words (BM25)")
    expect(page.locator("#beside-hits input")).to_have_value("Words (BM25)")
    choose(page, "#ranking", "Meaning")
    expect(page.locator(".beside h3").first).to_contain_text("By meaning")
    page.get_by_role("button", name="Remove: domain: food", exact=True).click()
    expect(page.locator("#hits")).to_contain_text("10 of 120")
    expect(page.locator(".chip")).to_have_count(0)
    choose(page, "#beside-hits", "nothing")
    for more in (20, 50):
        page.get_by_role("button", name="More hits", exact=True).click()
        expect(page.locator(".hit")).to_have_count(more)


def test_filters_ticked_while_a_search_runs_all_count(page, monkeypatch):
    open_example(page, "Support tickets")
    expect(page.locator("#hits .hit").first).to_be_visible()
    monkeypatch.setattr("sbert_app.ui.search.tab.search", lambda *asked: (time.sleep(1), search_job.search(*asked))[1])
    for value in ("Technical", "Billing", "Account"):
        choose_filter(page, "team", f"{value} ")
    for value in ("Technical", "Billing", "Account"):
        expect(page.locator("#chips")).to_contain_text(value)


def test_what_is_done_with_the_menu_before_the_page_is_loaded_counts(page, monkeypatch):
    model, released = Arrival._model, threading.Event()
    monkeypatch.setattr(Arrival, "_model", lambda *asked: (released.wait(60), model(*asked))[1])

    def release() -> None:
        assert page.locator("body.arrived").count() == 0
        released.set()
        arrive(page)
        released.clear()

    page.reload()
    open_menu(page)
    release()
    expect(page.locator("#corpus-panel")).to_be_visible()
    page.reload()
    choose_example(page, "Support tickets")
    expect(page.locator("#corpus-panel")).to_be_hidden()
    release()
    expect(page.locator("#corpus-menu")).to_contain_text("support_tickets.csv")
    expect(page.locator("#corpus-panel")).to_be_hidden()


def test_a_reload_brings_back_tab_corpus_query_and_duplicates(page, places):
    upload(page, places)
    index(page, "places.csv")
    search(page, "walking about")
    expect(page.locator(".hit").first).to_be_visible()
    choose(page, "#ranking", "Meaning and words")
    choose_filter(page, "domain", "food 30")
    expect(page.locator(".chip")).to_have_text("domain: food ×")
    go_to(page, "Duplicates")
    page.locator("#find-duplicates").click()
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥")
    page.reload()
    expect(page.get_by_role("tab", name="Duplicates", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#corpus-menu")).to_contain_text("places.csv")
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥")
    go_to(page, "Search")
    expect(query(page)).to_have_value("walking about")
    expect(page.locator("#hits")).to_contain_text("10 of 30 that fit (120 in all)")
    expect(page.locator(".chip")).to_have_text("domain: food ×")
    expect(page.locator("#ranking input")).to_have_value("Meaning and words")
    page.get_by_role("button", name="Remove: domain: food", exact=True).click()
    expect(page.locator("#hits")).to_contain_text("10 of 120")
    assert "session" not in page.url


def test_a_typed_query_is_not_overwritten_by_an_example(page):
    open_example(page, "Household advice")
    query(page).fill("")
    open_example(page, "Support tickets")
    expect(query(page)).to_have_value("charged two times for the same thing")
    expect(page.locator(".hit")).to_have_count(10)
    expect(page.locator(".hit").first).to_contain_text("team")
    expect(page.locator("#hits")).to_contain_text(re.compile(r"encode \d+\.\d ms"))
    open_example(page, "Household advice")
    expect(query(page)).to_have_value("my kettle has white stuff inside")
    query(page).fill("stale bread")
    open_example(page, "Support tickets")
    expect(page.locator("#corpus-status")).to_contain_text("926 sentences")
    expect(query(page)).to_have_value("stale bread")


def test_what_is_asked_while_a_corpus_opens_is_not_overwritten_by_its_first_answer(page, monkeypatch):
    open_example(page, "Support tickets")
    choose(page, "#ranking", "Best")
    query(page).fill("stale bread")
    late = lambda *asked: (time.sleep(3 * (asked[2].query == "stale bread")), search_job.search(*asked))[1]  # noqa: E731 - for one test
    monkeypatch.setattr("sbert_app.ui.search.tab.search", late)
    choose_example(page, "Household advice")
    expect(page.locator("#hits[aria-busy=true]")).to_be_attached()  # the hits of the corpus before are dimmed
    search(page, "snails")
    expect(page.locator("#hits [data-query='snails']")).to_be_attached()
    choose(page, "#ranking", "Meaning")
    expect(page.locator("#corpus-status")).to_contain_text("450 sentences")  # comes with the answer to "stale bread"
    expect(page.locator("#ranking input")).to_have_value("Meaning")
    expect(page.locator("#hits [data-query='snails']")).to_be_attached()
    expect(query(page)).to_have_value("snails")


def test_the_address_names_the_filters(page, visit):
    open_example(page, "Support tickets")
    choose_filter(page, "team", "Billing")
    expect(page.locator("#chips")).to_contain_text("team: Billing")
    expect(page).to_have_url(re.compile("filters="))
    bookmark = visit(url=page.url)
    expect(bookmark.locator("#chips")).to_contain_text("team: Billing")
    found = re.compile(r"^\s*Best 10 of \d+ ")
    expect(bookmark.locator("#hits")).to_contain_text(found.search(page.locator("#hits").inner_text())[0].strip())
    bookmark.locator("#chips button").click()
    expect(bookmark.locator("#chips")).not_to_contain_text("team")
    expect(bookmark).not_to_have_url(re.compile("filters="))


def test_filters_without_a_query_show_the_rows_and_come_back_alone(page):
    open_example(page, "Support tickets")
    expect(page.locator("#hits .hit").first).to_be_visible()
    query(page).fill("")
    choose_filter(page, "team", "Billing")
    head, row = page.locator("#hits .hits-head"), page.locator("#hits tbody tr").first
    expect(head).to_contain_text("145 of 926 rows fit")
    expect(page.locator("#above")).to_be_hidden()  # nothing was asked
    expect(row.locator("td").last).to_have_css("white-space", "normal")
    expect(page).to_have_url(re.compile(r"^(?!.*query=).*filters=%7B%22team"))
    page.reload()
    expect(head).to_contain_text("145 of 926 rows fit")
    search(page, "charged twice")
    expect(head).to_contain_text("Best 10 of 145 that fit")
    page.locator("#chips button").first.click()
    expect(head).to_contain_text("Best 10 of 926")


def test_a_file_that_was_not_read_waits_over_a_reload(page, places):
    open_example(page, "Household advice")
    upload(page, places)
    expect(page.locator("#offered")).to_contain_text("places.csv: 120 rows")
    page.reload()
    arrive(page)
    expect(page.locator("#corpus-notice")).to_contain_text("places.csv is not read yet")
    expect(page.locator("#corpus-status")).to_contain_text("450 sentences")
    open_menu(page)
    index(page, "places.csv")


def test_a_bookmark_of_no_corpus_says_so_and_an_address_in_a_tab_that_has_one_opens_its_own(page, visit, app_url, places):
    upload(page, places)
    index(page, "places.csv")
    other = visit(url=f"{app_url}?tab=search&corpus=nowhere.csv&query=kettle")
    expect(other.locator("#corpus-notice")).to_contain_text("There is no corpus nowhere.csv here")
    assert "corpus=nowhere.csv" in other.url and "query=kettle" in other.url
    other.locator(".start").get_by_role("button", name="Open places.csv").first.click()
    expect(other.locator("#corpus-status")).to_contain_text("120 sentences")
    expect(query(other)).to_have_value("kettle")
    expect(other.locator("#corpus-notice")).not_to_contain_text("nowhere.csv")
    expect(other).to_have_url(re.compile("corpus=places"))
    other.goto(f"{app_url}?tab=search&corpus=field_notes.csv&query=bread&filters=%5B%5B")  # no filters
    expect(other.locator("#corpus-status")).to_contain_text("450 sentences")
    expect(query(other)).to_have_value("bread")
    expect(other.locator("#hits .hit").first).to_be_visible()


def test_that_a_corpus_is_ready_and_where_to_go_on_is_said_until_the_next_tab(page):
    go_to(page, "Similarity")
    open_example(page, "Household advice")
    expect(page.locator("#corpus-notice")).to_contain_text("field_notes.csv is ready: 450 rows.")
    expect(page.locator("#comparison")).to_contain_text("random pairs of field_notes.csv")
    page.locator("#corpus-notice").get_by_role("button", name="Draw its map", exact=True).click()
    expect(page.get_by_role("tab", name="Map", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".ready")).to_have_count(0)
    for tab in ("Fine-tune", "Evaluation", "Similarity"):
        go_to(page, tab)
        expect(page.locator(".ready")).to_have_count(0)
    page.reload()
    expect(page.locator("#corpus-menu")).to_contain_text("field_notes.csv")
    expect(page.locator(".ready")).to_have_count(0)
    open_example(page, "Household advice")
    expect(page.locator("#corpus-notice")).to_contain_text("field_notes.csv is ready: 450 rows.")


def test_hosted_an_address_opens_nobody_elses_corpus(visit, hosted_url):
    owner = visit(url=hosted_url)
    paste(owner, ["a secret line", "another one"])
    index(owner, "pasted: a secret line")
    owner.reload()
    expect(owner.locator("#corpus-menu")).to_contain_text("pasted: a secret line")
    assert "corpus=" not in owner.url
    other = visit(url=f"{hosted_url}?tab=search&corpus=pasted-a-secret-line-0123456789ab")
    go_to(other, "Search")
    expect(other.locator(".start:visible")).to_be_visible()
    expect(other.locator("#corpus-menu")).to_contain_text("Add a file")
    open_menu(other)
    expect(other.locator("#open-collection")).to_have_count(0)  # none is listed


def test_a_saved_corpus_is_deleted_after_a_question_and_long_texts_are_counted(page, write):
    upload(page, write("long.csv", f"text\n{'a very long text ' * 400}\nshort\n"))
    index(page, "long.csv")
    expect(page.locator("#corpus-status")).to_contain_text("1 text is longer than all-MiniLM-L6-v2 reads")
    open_menu(page)
    card = page.locator("#corpus-choices .card", has_text="long.csv")
    card.get_by_role("button", name="Delete long.csv", exact=True).click()
    expect(card).to_contain_text("Delete long.csv from this machine?")
    card.get_by_role("button", name="Keep", exact=True).click()
    card.get_by_role("button", name="Delete long.csv", exact=True).click()
    card.get_by_role("button", name="Delete", exact=True).click()
    expect(card).to_have_count(0)


def read_letters(page, path, first):
    """Bring 2,400 letters and index them, until they can be searched. first: the year of the first."""
    kinds = [f"letter about the {place} and its {thing} in" for place in PLACES for thing in THINGS]
    path.write_text("\n".join(["text", *(f"{kind} {first + year}" for year in range(24) for kind in kinds)]) + "\n")
    upload(page, path)
    page.locator("#index").click()
    line = re.compile(rf"{re.escape(path.name)} can be searched: [\d,]+ of 2,400 sentences read")
    expect(page.locator("#corpus-notice")).to_contain_text(line)


def test_a_reading_that_fails_by_our_fault_says_no_longer_how_far_it_is(page, tmp_path, monkeypatch):
    seen = threading.Event()
    monkeypatch.setattr(IndexedCorpus, "build", lambda *_: seen.wait(60) and 1 // 0)
    read_letters(page, tmp_path / "lost.csv", 2000)
    seen.set()
    expect(page.locator(".toast-body")).to_contain_text("our side; it has been logged under the number")
    expect(page.locator("#corpus-notice")).not_to_contain_text("can be searched")


def test_a_large_file_is_searched_before_it_is_read_whole(page, tmp_path, monkeypatch):
    build, searched = IndexedCorpus.build, threading.Event()
    monkeypatch.setattr(IndexedCorpus, "build", lambda *asked: searched.wait(60) and build(*asked))
    read_letters(page, tmp_path / "letters.csv", 1000)
    query(page).fill("a letter on an orchard")
    page.locator("#search").click()
    expect(page.locator("#hits li").first).to_contain_text("orchard")
    expect(page.locator("#hits")).to_contain_text("10 of 2,400")
    expect(page.locator("#corpus-notice")).to_contain_text("can be searched")
    searched.set()
    expect(page.locator("#corpus-notice")).not_to_contain_text("can be searched")  # now all are read, with the query kept
    expect(page.locator("#hits li").first).to_contain_text("orchard")


def test_first_hits_can_be_read_while_the_model_reads_on(page, monkeypatch):
    read_on = threading.Event()
    monkeypatch.setattr(search_job, "SLOW", 0)
    monkeypatch.setattr(search_tab, "search", lambda *asked: read_on.wait(120) and search_job.search(*asked))
    query(page).fill("a letter on a harbour")
    page.locator("#search").click()
    expect(page.locator("#hits .first-hits .hit").first).to_contain_text("harbour")
    page.evaluate("studio.wait('hits', true)")  # it is so unless the answer to the whole file came last
    assert page.locator("#hits").evaluate("e => [getComputedStyle(e).opacity, e.getAnimations().length]") == ["1", 0]  # not dimmed
    read_on.set()
    expect(page.locator("#hits .first-hits")).to_have_count(0)
    expect(page.locator("#hits[aria-busy=false] .hit").first).to_contain_text("harbour")
