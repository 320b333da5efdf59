"""A person's way through the app, in a real browser."""

import json
import re
import threading

import pytest
from playwright.sync_api import Page, expect

from sbert_app.runtime import line
from sbert_app.watching import JOBS
from tests.browser.chromium import go_to, until
from tests.browser.corpus import choose, choose_filter, choose_model, index, open_example, open_menu, paste, query, search, upload
from tests.browser.downloads import saved


@pytest.fixture
def page(shared_page) -> Page:
    go_to(shared_page, "Search")
    return shared_page


@pytest.fixture
def corpus_file(write):
    rows = [f"note {i} about the weather in spring,weather" for i in range(120)]
    animals = ["a penguin swims through cold water,animals", "a seal swims under the ice,animals"]
    return write("birds.csv", "\n".join(["text,topic", *rows, *animals]) + "\n")


@pytest.fixture
def long_file(write, sentences):
    """Write a file that the model reads for seconds. end: of its texts, for what was read before is not read again."""
    return lambda name, end: write(name, "\n".join(f"{text} {end}{i}" for i in range(2) for text in sentences))


def test_markup_and_templates_in_sentences_stay_text(page):
    attack = "<img src=x onerror=alert(1)> ${1+1} {{7*7}} {{#each value}}"
    go_to(page, "Similarity")
    page.locator("#sentence1 textarea").fill("<img onerror=alert(1)>")
    expect(page.locator(".matched")).to_contain_text("onerror")
    assert page.locator(".matched img").count() == 0
    go_to(page, "Search")
    paste(page, ["a red car", "a green apple", "", attack])
    index(page, "pasted: a red car")
    search(page, "fruit")
    expect(page.locator(".hit-body > p")).to_have_text(["a green apple", "a red car", attack])
    assert page.locator("img[src=x]").count() == 0


def test_upload_index_search_filter_more_and_download(page, corpus_file):
    upload(page, corpus_file)
    expect(page.locator("#offered")).to_contain_text("122 rows, 2 columns")
    expect(page.locator("#preview")).to_contain_text("note 0 about the weather")
    index(page, "birds.csv")
    expect(page.locator("#corpus-status")).to_contain_text("122 sentences")
    search(page, "animal swimming in the sea")
    expect(page.locator(".hit").first).to_contain_text("a penguin swims through cold water")
    expect(page.locator(".hit").first).to_contain_text("row 121")
    page.get_by_role("button", name="More like this: row 121", exact=True).click()
    expect(query(page)).to_have_value("a penguin swims through cold water")
    expect(page.locator(".hit").first).to_contain_text("a seal swims under the ice")
    choose_filter(page, "topic", "weather 120")
    expect(page.locator(".hit").first).to_contain_text("weather")
    _, lines = saved(page.locator("#hits").get_by_role("link", name="jsonl", exact=True))
    hits = [json.loads(line) for line in lines.splitlines()]
    assert len(hits) == 10 and {hit["topic"] for hit in hits} == {"weather"}


def test_progress_is_shown_and_stop_keeps_what_is_done(page, long_file):
    upload(page, long_file("long.txt", "#"))
    page.locator("#index").click()
    encoding = re.compile(r"Encoding long.txt: [\d,]+ of 1,852 sentences · [\d,]+ sentences/s · .* left")
    expect(page.locator("#progress")).to_contain_text(encoding)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#progress")).to_contain_text(re.compile("Stopped.*index again to continue", re.DOTALL))
    expect(page.locator("#stop")).to_be_hidden()
    index(page, "long.txt")
    expect(page.locator("#corpus-status")).to_contain_text("1,852 sentences")


def test_a_click_counts_while_the_run_before_is_leaving_and_a_double_click_once(page, long_file, monkeypatch, caplog):
    """Gradio's page would drop a click on a button whose last run has shown all but has not ended."""
    caplog.set_level("INFO", JOBS.name)

    def ended():
        told = [record.about for record in caplog.records if record.name == JOBS.name]
        return [about["outcome"] for about in told if about["job"] == "corpus.index"]

    upload(page, long_file("left.txt", "no. "))
    page.locator("#index").dblclick()
    expect(page.locator("#progress")).to_contain_text("sentences/s")
    with monkeypatch.context() as slow:
        slow.setattr(line, "give_back", (left := threading.Event()).wait)
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.locator("#stop")).to_be_hidden()
        page.locator("#index").click()
        expect(page.locator("#stop")).to_be_visible()
    left.set()
    expect(page.locator("#corpus-menu")).to_contain_text("left.txt")
    until(page, lambda: len(ended()) >= 2)
    assert ended()[:2] == ["stopped", "ok"]


def test_what_is_wrong_with_a_file_is_said_and_mended_only_if_asked(page, write):
    upload(page, write("messy.csv", "text,day\n<p>a cat</p>,2026-03-05\na cat,05.03.2026\na dog,2026-03-06\n,2026-03-07\n"))
    dates = "The dates of “day” are written in several ways, 1 not as 2026-03-31"
    expect(page.locator(".faults summary")).to_have_text(["1 row has no text and will be left out", "1 row holds HTML", dates])
    expect(page.locator("#index")).to_have_text("Read 3 rows")
    page.get_by_label("Take out HTML").check()
    expect(page.locator("#preview")).not_to_contain_text("<p>")
    index(page, "messy.csv")
    search(page, "cat")
    expect(page.locator(".hit")).to_have_count(2)  # two rows with one text
    open_menu(page)
    page.locator("#other-columns").click()
    expect(page.get_by_label("Take out HTML")).not_to_be_checked()
    index(page, "messy.csv")
    search(page, "cat")
    expect(page.locator(".hit")).to_have_count(3)


def test_the_panel_offers_only_what_would_be_indexed(page, corpus_file):
    upload(page, corpus_file)
    expect(page.locator("#index")).to_have_text("Read 122 rows")
    page.locator("#index-cancel").click()
    expect(page.locator("#index")).to_be_hidden()
    expect(page.locator("#corpus-choices")).to_be_visible()
    upload(page, corpus_file)
    expect(page.locator("#index")).to_be_visible()
    expect(page.locator("#corpus-choices")).to_be_hidden()
    page.locator("#index-cancel").click()
    open_example(page, "Household advice")
    expect(page.locator("#corpus-status")).to_contain_text("450 sentences")
    open_menu(page)
    expect(page.locator("#index")).to_be_hidden()


def test_a_bad_file_gets_a_sentence_the_corpus_before_stays_and_a_good_file_is_taken_at_once(page, corpus_file, write):
    open_example(page, "Household advice")
    upload(page, write("photo.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4))
    expect(page.get_by_test_id("toast-body")).to_contain_text("'photo.csv' is a binary file")
    page.locator("#corpus-menu button").click()
    search(page, "bread goes stale")
    expect(page.locator(".hit").first).to_contain_text("Bread goes stale")
    upload(page, write("report.pdf", b"%PDF-1.7 ..."))
    expect(page.get_by_test_id("toast-body").filter(has_text="'report.pdf' is not a format this app reads")).to_be_visible()
    page.locator("#corpus-file input[type=file]").set_input_files(str(corpus_file))
    index(page, "birds.csv")
    expect(page.locator("#corpus-status")).to_contain_text("122 sentences")


def test_two_visitors_never_see_each_others_corpus(page, visit, write):
    pages = {"apple": page, "bicycle": visit()}
    for name, each in pages.items():
        go_to(each, "Search")
        upload(each, write(f"{name}.txt", "\n".join(f"{name} story number {i}" for i in range(60))))
        each.locator("#index").click()
    for name, each in pages.items():
        expect(each.locator("#corpus-status")).to_contain_text(f"{name}.txt")
        for wanted in pages:
            search(each, wanted)
            expect(each.locator(f"#hits [data-query='{wanted}']")).to_be_attached()
            expect(each.locator(".hit-body > p")).to_have_text([re.compile(f"^{name} ")] * 10)


def test_another_model_in_the_header_says_which_one_the_index_is_of(page, other_model):
    open_example(page, "Household advice")
    choose_model(page, other_model)
    expect(page.locator("#stale")).to_have_text("Search, Duplicates and Map use all-MiniLM-L6-v2 until you index again.")
    expect(page.locator("#index-again")).to_contain_text(re.compile(r"Index again with first-token \(about .* s\)"))
    page.locator("#index-again").click()
    expect(page.locator("#stale")).to_be_hidden()
    expect(page.locator("#corpus-status")).to_contain_text("first-token")
    choose(page, "#beside-hits", "the index before, all-MiniLM-L6-v2")
    expect(page.locator(".beside h3").last).to_have_text("By meaning, all-MiniLM-L6-v2")
    expect(page.locator(".beside .moved").first).to_have_text(re.compile("same rank|rank .* there|only here"))
