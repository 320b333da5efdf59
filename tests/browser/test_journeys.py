"""A person's way through the app, in a real browser."""

import json
import re
import threading

import pytest
from playwright.sync_api import Page, expect

from sbert_app.runtime import line
from sbert_app.watching import JOBS
from tests.browser.chromium import until
from tests.browser.corpus import choose_filter, index, open_example, open_menu, paste, upload
from tests.browser.downloads import saved


def open_search(page: Page) -> None:
    page.get_by_role("tab", name="Search", exact=True).click()


def search(page: Page, query: str) -> None:
    page.get_by_label("Query", exact=True).fill(query)
    page.get_by_role("button", name="Search", exact=True).click()


@pytest.fixture
def page(shared_page) -> Page:
    open_search(shared_page)
    return shared_page


@pytest.fixture
def corpus_file(tmp_path):
    path = tmp_path / "birds.csv"
    rows = [f"note {i} about the weather in spring,weather" for i in range(120)]
    animals = ["a penguin swims through cold water,animals", "a seal swims under the ice,animals"]
    path.write_text("\n".join(["text,topic", *rows, *animals]) + "\n")
    return path


def test_markup_and_templates_in_sentences_stay_text(page):
    attack = "<img src=x onerror=alert(1)> ${1+1} {{7*7}} {{#each value}}"
    page.get_by_role("tab", name="Similarity", exact=True).click()
    page.locator("#sentence1 textarea").fill("<img onerror=alert(1)>")
    expect(page.locator(".matched")).to_contain_text("onerror")
    assert page.locator(".matched img").count() == 0
    open_search(page)
    paste(page, ["a plain line", attack])
    index(page, "pasted: a plain line")
    search(page, "plain")
    expect(page.locator(".hit-body > p").nth(1)).to_have_text(attack)
    assert page.locator("img[src=x]").count() == 0


def test_an_example_corpus_is_searched_in_one_click_and_scores_are_calibrated_on_it(page):
    open_example(page, "Support tickets")
    expect(page.locator("#corpus-status")).to_contain_text("926 sentences")
    expect(page.locator(".hit")).to_have_count(10)
    expect(page.locator(".hit").first).to_contain_text("team")
    expect(page.locator("#hits")).to_contain_text(re.compile(r"encode \d+\.\d ms"))
    open_example(page, "Household advice")
    expect(page.locator("#corpus-status")).to_contain_text("450 sentences")
    page.get_by_role("tab", name="Similarity", exact=True).click()
    expect(page.locator("#comparison")).to_contain_text("random pairs of field_notes.csv")


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
    expect(page.get_by_label("Query", exact=True)).to_have_value("a penguin swims through cold water")
    expect(page.locator(".hit").first).to_contain_text("a seal swims under the ice")
    choose_filter(page, "topic", "weather 120")
    expect(page.locator(".hit").first).to_contain_text("weather")
    _, lines = saved(page.locator("#hits").get_by_role("link", name="jsonl", exact=True))
    hits = [json.loads(line) for line in lines.splitlines()]
    assert len(hits) == 10 and {hit["topic"] for hit in hits} == {"weather"}


def test_progress_is_shown_and_stop_keeps_what_is_done(page, tmp_path, sentences):
    path = tmp_path / "long.txt"
    path.write_text("\n".join(f"{sentence} ({i})" for i in range(2) for sentence in sentences), encoding="utf-8")
    upload(page, path)
    page.locator("#index").click()
    expect(page.locator("#progress")).to_contain_text(
        re.compile(r"Encoding long.txt: [\d,]+ of 1,852 sentences · [\d,]+ sentences/s · .* left")
    )
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#progress")).to_contain_text("Stopped")
    expect(page.locator("#progress")).to_contain_text("index again to continue")
    expect(page.locator("#stop")).to_be_hidden()
    index(page, "long.txt")
    expect(page.locator("#corpus-status")).to_contain_text("1,852 sentences")


def test_a_click_counts_while_the_run_before_is_leaving_and_a_double_click_once(page, tmp_path, sentences, monkeypatch, caplog):
    """Gradio's page would drop a click on a button whose last run has shown all but has not ended."""
    caplog.set_level("INFO", JOBS.name)

    def ended():
        told = [record.about for record in caplog.records if record.name == JOBS.name]
        return [about["outcome"] for about in told if about["job"] == "corpus.index"]

    path = tmp_path / "left.txt"
    path.write_text("\n".join(f"{sentence} [{i}]" for i in range(2) for sentence in sentences), encoding="utf-8")
    upload(page, path)
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


def test_a_corpus_indexed_before_is_opened_from_the_list(page, corpus_file, visit):
    upload(page, corpus_file)
    index(page, "birds.csv")
    later = visit()
    open_search(later)
    later.locator(".start").get_by_role("button", name="Open birds.csv").first.click()
    expect(later.locator("#corpus-status")).to_contain_text("122 sentences")


def test_pasted_lines_are_a_corpus(page):
    paste(page, ["a red car", "a green apple", "", "a blue boat"])
    index(page, "pasted: a red car")
    search(page, "fruit")
    expect(page.locator(".hit").first).to_contain_text("a green apple")
    expect(page.locator(".hit")).to_have_count(3)


def test_a_bad_file_gets_a_sentence_and_the_corpus_before_stays(page, corpus_file, tmp_path):
    open_example(page, "Household advice")
    expect(page.locator(".hit").first).to_be_visible()
    bad = tmp_path / "photo.csv"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
    upload(page, bad)
    expect(page.get_by_test_id("toast-body")).to_contain_text("'photo.csv' is a binary file")
    page.locator("#corpus-menu button").click()
    search(page, "bread goes stale")
    expect(page.locator(".hit").first).to_contain_text("Bread goes stale")


def test_what_is_wrong_with_a_file_is_said_and_mended_only_if_asked(page, tmp_path):
    messy = tmp_path / "messy.csv"
    messy.write_text("text,day\n<p>a cat</p>,2026-03-05\na cat,05.03.2026\na dog,2026-03-06\n,2026-03-07\n", encoding="utf-8")
    upload(page, messy)
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


def test_after_a_refused_file_a_good_one_is_taken_at_once(page, corpus_file, tmp_path):
    report = tmp_path / "report.pdf"
    report.write_bytes(b"%PDF-1.7 ...")
    upload(page, report)
    expect(page.get_by_test_id("toast-body")).to_contain_text("'report.pdf' is not a format this app reads")
    page.locator("#corpus-file input[type=file]").set_input_files(str(corpus_file))
    index(page, "birds.csv")
    expect(page.locator("#corpus-status")).to_contain_text("122 sentences")


def test_two_visitors_never_see_each_others_corpus(page, visit, tmp_path):
    pages = {"apple": page, "bicycle": visit()}
    for name in pages:
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(f"{name} story number {i}" for i in range(60)))
        open_search(pages[name])
        upload(pages[name], path)
        pages[name].locator("#index").click()
    for name, page in pages.items():
        expect(page.locator("#corpus-status")).to_contain_text(f"{name}.txt")
        for query in ("apple", "bicycle", "story"):
            search(page, query)
            expect(page.locator(".hit")).to_have_count(10)
            texts = page.locator(".hit-body > p").all_inner_texts()
            assert all(text.startswith(name) for text in texts)
