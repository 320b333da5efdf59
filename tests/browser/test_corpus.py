"""The corpus of all tabs: its menu in the header, its model, filters in force, and what a reload brings back."""

import re
import threading
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.jobs.search import job as search_job
from sbert_app.ui.arrival import Arrival
from sbert_app.ui.search import tab as search_tab
from tests.browser.chromium import go_to
from tests.browser.conftest import arrive
from tests.browser.corpus import choose, choose_example, choose_filter, choose_model, index, open_example, open_menu, paste, upload
from tests.browser.downloads import saved

DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, {type: 'text/csv'}));
  for (const kind of ['dragover', 'drop']) {
    document.querySelector('h1').dispatchEvent(new DragEvent(kind, {dataTransfer: files, bubbles: true, cancelable: true}));
  }
}"""

PLACES = ("harbour", "orchard", "mill", "chapel", "bridge", "market", "school", "forge", "meadow", "tower")
THINGS = ("roof", "wall", "keeper", "gate", "well", "path", "bell", "stones", "windows", "garden")


@pytest.fixture
def places(tmp_path) -> Path:
    path = tmp_path / "places.csv"
    rows = [f"a walk through the old town number {i},{'travel' if i % 4 else 'food'},{i}" for i in range(120)]
    path.write_text("\n".join(["text,domain,number", *rows]) + "\n")
    return path


def test_a_file_dropped_anywhere_is_taken_and_the_corpus_is_the_same_on_every_tab(shared_page):
    page = shared_page
    go_to(page, "Search")
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


def test_another_model_in_the_header_says_which_one_the_index_is_of(page, other_model):
    open_example(page, "Household advice")
    choose_model(page, other_model)
    expect(page.locator("#stale")).to_have_text("Search, Duplicates and Map use all-MiniLM-L6-v2 until you index again.")
    expect(page.locator("#index-again")).to_contain_text(re.compile(r"Index again with first-token \(about .* s\)"))
    page.locator("#index-again").click()
    expect(page.locator("#stale")).to_be_hidden()
    go_to(page, "Search")
    expect(page.locator("#corpus-status")).to_contain_text("first-token")
    choose(page, "#beside-hits", "the index before, all-MiniLM-L6-v2")
    expect(page.locator(".beside h3").last).to_have_text("By meaning, all-MiniLM-L6-v2")
    expect(page.locator(".beside .moved").first).to_have_text(re.compile("same rank|rank .* there|only here"))


def test_a_filter_in_force_is_shown_though_it_is_folded_away_and_goes_with_one_click(shared_page, places):
    page = shared_page
    go_to(page, "Search")
    upload(page, places)
    index(page, "places.csv")
    page.get_by_label("Query", exact=True).fill("old walk")
    page.get_by_label("Query", exact=True).press("Enter")
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
    go_to(page, "Search")
    expect(page.locator("#hits .hit").first).to_be_visible()
    monkeypatch.setattr("sbert_app.ui.search.tab.search", lambda *asked: (time.sleep(1), search_job.search(*asked))[1])
    for value in ("Technical", "Billing", "Account"):
        choose_filter(page, "team", f"{value} ")
    expect(page.locator("#chips")).to_contain_text("Technical", timeout=20_000)
    for value in ("Billing", "Account"):
        expect(page.locator("#chips")).to_contain_text(value, timeout=20_000)


def test_a_menu_opened_before_the_page_is_loaded_stays_open(shared_page):
    page = shared_page
    late, held = [], [True]
    page.route("**/queue/join*", lambda route: late.append(route) if held else route.continue_())
    page.reload()
    page.locator("#corpus-menu button").click()
    expect(page.locator("#corpus-panel")).to_be_visible()
    assert page.locator("body.arrived").count() == 0
    held.clear()
    for route in late:
        route.continue_()
    arrive(page)
    page.unroute("**/queue/join*")
    expect(page.locator("#corpus-menu button")).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#corpus-panel")).to_be_visible()


def test_a_corpus_chosen_before_the_page_is_loaded_closes_the_menu(shared_page, monkeypatch):
    page, model, released = shared_page, Arrival._model, threading.Event()
    monkeypatch.setattr(Arrival, "_model", lambda *asked: (released.wait(60), model(*asked))[1])
    page.reload()
    page.locator("#corpus-menu button").click()
    page.locator("#corpus-choices").get_by_role("button", name="Example: Support tickets", exact=True).click()
    expect(page.locator("#corpus-panel")).to_be_hidden()
    assert page.locator("body.arrived").count() == 0
    released.set()
    arrive(page)
    expect(page.locator("#corpus-menu")).to_contain_text("support_tickets.csv")
    expect(page.locator("#corpus-panel")).to_be_hidden()


def test_a_reload_brings_back_tab_corpus_query_and_duplicates(shared_page, places):
    page = shared_page
    upload(page, places)
    index(page, "places.csv")
    go_to(page, "Search")
    page.get_by_label("Query", exact=True).fill("walking about")
    page.get_by_label("Query", exact=True).press("Enter")
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
    expect(page.get_by_label("Query", exact=True)).to_have_value("walking about")
    expect(page.locator("#hits")).to_contain_text("10 of 30 that fit (120 in all)")
    expect(page.locator(".chip")).to_have_text("domain: food ×")
    expect(page.locator("#ranking input")).to_have_value("Meaning and words")
    page.get_by_role("button", name="Remove: domain: food", exact=True).click()
    expect(page.locator("#hits")).to_contain_text("10 of 120")
    assert "session" not in page.url


def test_a_typed_query_is_not_overwritten_by_an_example(page, visit, app_url):
    open_example(page, "Support tickets")
    go_to(page, "Search")
    expect(page.get_by_label("Query", exact=True)).to_have_value("charged two times for the same thing")
    open_example(page, "Household advice")
    expect(page.get_by_label("Query", exact=True)).to_have_value("my kettle has white stuff inside")
    page.get_by_label("Query", exact=True).fill("stale bread")
    open_example(page, "Support tickets")
    expect(page.locator("#corpus-status")).to_contain_text("926 sentences")
    expect(page.get_by_label("Query", exact=True)).to_have_value("stale bread")
    bookmark = visit(url=f"{app_url}?tab=search&corpus=field_notes.csv&query=kettle")
    expect(bookmark.locator("#corpus-status")).to_contain_text("450 sentences")
    expect(bookmark.get_by_label("Query", exact=True)).to_have_value("kettle")


def test_what_is_asked_while_a_corpus_opens_is_not_overwritten_by_its_first_answer(page, monkeypatch):
    open_example(page, "Support tickets")
    go_to(page, "Search")
    query = page.get_by_label("Query", exact=True)
    query.fill("stale bread")
    late = lambda *asked: (time.sleep(3 * (asked[2].query == "stale bread")), search_job.search(*asked))[1]  # noqa: E731 - for one test
    monkeypatch.setattr("sbert_app.ui.search.tab.search", late)
    choose_example(page, "Household advice")
    expect(page.locator("#hits[aria-busy=true]")).to_be_attached()  # the hits of the corpus before are dimmed
    query.fill("snails")
    query.press("Enter")
    expect(page.locator("#hits [data-query='snails']")).to_be_attached()
    choose(page, "#ranking", "Meaning")
    expect(page.locator("#corpus-status")).to_contain_text("450 sentences")  # comes with the answer to "stale bread"
    expect(page.locator("#ranking input")).to_have_value("Meaning")
    expect(page.locator("#hits [data-query='snails']")).to_be_attached()
    expect(query).to_have_value("snails")


def test_a_bookmark_names_a_file_of_this_machine(shared_page, visit, app_url, places):
    page = shared_page
    upload(page, places)
    index(page, "places.csv")
    bookmark = visit(url=f"{app_url}?tab=search&corpus=places.csv&query=town")
    expect(bookmark.locator("#corpus-status")).to_contain_text("120 sentences")
    expect(bookmark.get_by_label("Query", exact=True)).to_have_value("town")


def test_the_address_names_the_filters(shared_page, visit, app_url):
    page = shared_page
    open_example(page, "Support tickets")
    go_to(page, "Search")
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
    wrong = visit(url=f"{app_url}?tab=search&corpus=support_tickets.csv&query=late&filters=%5B%5B")
    expect(wrong.locator("#hits .hit").first).to_be_visible()


def test_filters_without_a_query_show_the_rows_and_come_back_alone(shared_page):
    page = shared_page
    open_example(page, "Support tickets")
    go_to(page, "Search")
    expect(page.locator("#hits .hit").first).to_be_visible()
    page.get_by_label("Query", exact=True).fill("")
    choose_filter(page, "team", "Billing")
    head, row = page.locator("#hits .hits-head"), page.locator("#hits tbody tr").first
    expect(head).to_contain_text("145 of 926 rows fit")
    expect(page.locator("#above")).to_be_hidden()  # nothing was asked
    expect(row.locator("td").last).to_have_css("white-space", "normal")
    expect(page).to_have_url(re.compile(r"^(?!.*query=).*filters=%7B%22team"))
    page.reload()
    expect(head).to_contain_text("145 of 926 rows fit")
    page.get_by_label("Query", exact=True).fill("charged twice")
    page.get_by_label("Query", exact=True).press("Enter")
    expect(head).to_contain_text("Best 10 of 145 that fit")
    page.locator("#chips button").first.click()
    expect(head).to_contain_text("Best 10 of 926")


def test_an_address_in_a_tab_that_has_a_corpus_opens_its_own_and_a_file_that_was_not_read_waits(page, app_url, places):
    open_example(page, "Support tickets")
    expect(page).to_have_url(re.compile(r"corpus=support_tickets\.csv"))
    page.goto(f"{app_url}?tab=search&corpus=field_notes.csv")
    arrive(page)
    expect(page.locator("#corpus-status")).to_contain_text("450 sentences")
    upload(page, places)
    expect(page.locator("#offered")).to_contain_text("places.csv: 120 rows")
    page.reload()
    arrive(page)
    expect(page.locator("#corpus-notice")).to_contain_text("places.csv is not read yet")
    expect(page.locator("#corpus-status")).to_contain_text("450 sentences")
    open_menu(page)
    index(page, "places.csv")


def test_a_bookmark_of_no_corpus_says_so_and_stays_until_one_is_opened(visit, app_url):
    bookmark = visit(url=f"{app_url}?tab=search&corpus=nowhere.csv&query=kettle")
    expect(bookmark.locator("#corpus-notice")).to_contain_text("There is no corpus nowhere.csv here")
    assert "corpus=nowhere.csv" in bookmark.url and "query=kettle" in bookmark.url
    open_example(bookmark, "Household advice")
    expect(bookmark.locator("#corpus-notice")).not_to_contain_text("nowhere.csv")
    expect(bookmark).to_have_url(re.compile(r"corpus=field_notes\.csv"))


def test_that_a_corpus_is_ready_and_where_to_go_on_is_said_until_the_next_tab(shared_page):
    page = shared_page
    go_to(page, "Similarity")
    open_example(page, "Household advice")
    expect(page.locator("#corpus-notice")).to_contain_text("field_notes.csv is ready: 450 rows.")
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


def test_a_saved_corpus_is_deleted_after_a_question_and_long_texts_are_counted(shared_page, tmp_path):
    page = shared_page
    path = tmp_path / "long.csv"
    path.write_text("text\n" + "a very long text " * 400 + "\nshort\n")
    go_to(page, "Search")
    upload(page, path)
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
    """Bring 6,000 letters and index them, until they can be searched. first: the year of the first."""
    years = range(first, first + 60)
    rows = [f"letter about the {place} and its {thing} in {year}" for year in years for place in PLACES for thing in THINGS]
    path.write_text("\n".join(["text", *rows]) + "\n")
    upload(page, path)
    page.locator("#index").click()
    line = re.compile(rf"{re.escape(path.name)} can be searched: [\d,]+ of 6,000 sentences read")
    expect(page.locator("#corpus-notice")).to_contain_text(line)


def test_a_reading_that_fails_by_our_fault_says_no_longer_how_far_it_is(shared_page, tmp_path, monkeypatch):
    page = shared_page
    monkeypatch.setattr(IndexedCorpus, "build", lambda *_, **__: 1 // 0)
    read_letters(page, tmp_path / "lost.csv", 2000)
    expect(page.locator(".toast-body")).to_contain_text("our side; it has been logged under the number")
    expect(page.locator("#corpus-notice")).not_to_contain_text("can be searched")


def test_a_large_file_is_searched_before_it_is_read_whole(shared_page, tmp_path):
    page = shared_page
    read_letters(page, tmp_path / "letters.csv", 1000)
    page.get_by_role("tab", name="Search").click()
    page.locator("#query input, #query textarea").fill("a letter on an orchard")
    page.locator("#search").click()
    expect(page.locator("#hits li").first).to_contain_text("orchard")
    expect(page.locator("#hits")).to_contain_text("10 of 6,000")  # all read by now, or not yet
    expect(page.locator("#corpus-notice")).not_to_contain_text("can be searched")  # now all are read, with the query kept
    expect(page.locator("#hits li").first).to_contain_text("orchard")


def test_first_hits_can_be_read_while_the_model_reads_on(shared_page, monkeypatch):
    page, read_on = shared_page, threading.Event()
    monkeypatch.setattr(search_job, "SLOW", 0)
    monkeypatch.setattr(search_tab, "search", lambda *asked: read_on.wait(120) and search_job.search(*asked))
    page.locator("#query input, #query textarea").fill("a letter on a harbour")
    page.locator("#search").click()
    expect(page.locator("#hits .first-hits .hit").first).to_contain_text("harbour")
    page.evaluate("studio.wait('hits', true)")  # it is so unless the answer to the whole file came last
    assert page.locator("#hits").evaluate("e => [getComputedStyle(e).opacity, e.getAnimations().length]") == ["1", 0]  # not dimmed
    read_on.set()
    expect(page.locator("#hits .first-hits")).to_have_count(0)
    expect(page.locator("#hits[aria-busy=false] .hit").first).to_contain_text("harbour")
