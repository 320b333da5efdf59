"""Duplicates as a person finds them: one click, a threshold, files, a second opinion, another file beside the corpus."""

import csv
import re

from playwright.sync_api import Page, expect

from tests.browser.chromium import go_to
from tests.browser.corpus import index, open_example, paste


def open_panel(page: Page) -> None:
    go_to(page, "Duplicates")


def open_tickets(page: Page) -> None:
    open_example(page, "Support tickets")
    expect(page.locator("#duplicates-headline")).to_contain_text("Not searched yet")


def find(page: Page) -> None:
    page.locator("#find-duplicates").click()
    expect(page.locator("#duplicates-headline")).to_contain_text("at cosine ≥ 0.85")


def threshold(page: Page, slider: str, value: str) -> None:
    box = page.locator(f"{slider} input[type=number]")
    box.fill(value)
    box.press("Tab")


def saved(page: Page, button: str) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.locator(button).click()
    return list(csv.DictReader(download.value.path().read_text(encoding="utf-8-sig").splitlines()))


def test_duplicates_from_click_to_cleaned_corpus(page, write, sentences):
    open_panel(page)
    expect(page.locator(".start:visible")).to_contain_text("Drop a file here")
    expect(page.locator("#find-duplicates")).to_be_hidden()
    open_tickets(page)
    find(page)
    expect(page.locator("#duplicates-headline")).to_contain_text("26 of 926 rows could be removed: 26 groups")
    expect(page.locator(".dup-group")).to_have_count(26)
    expect(page.locator(".dup-group").first.locator(".verdict")).to_have_text(["keep", "drop"])
    threshold(page, "#duplicates-threshold", "0.95")
    expect(page.locator("#duplicates-headline")).to_contain_text("at cosine ≥ 0.95")
    left = page.locator(".dup-group").count()
    assert 0 < left < 26
    page.locator("#duplicates-files").click()
    expect(page.locator("#duplicates-cleaned")).to_contain_text("rows")
    cleaned = saved(page, "#duplicates-cleaned")
    assert len(cleaned) == 926 - left and set(cleaned[0]) == {"text", "team", "product", "priority", "date"}
    verdicts = saved(page, "#duplicates-keep-or-drop")
    assert sum(row["verdict"] == "drop" for row in verdicts) == left and len(verdicts) == 926
    page.get_by_text("Borderline pairs").click()
    page.locator("#duplicates-ask").click()
    expect(page.locator("#duplicates-borderline")).to_contain_text("The cross-encoder scored them")
    expect(page.locator("#duplicates-borderline .cross").first).to_have_text(re.compile(r"0\.\d{3}"))
    threshold(page, "#duplicates-threshold", "1")
    expect(page.locator("#duplicates-headline")).to_contain_text("The closest pair has 0.99")
    other = write("other.csv", f'text\n"{sentences[0]}"\na train to the moon\n')
    page.get_by_text("Compare with another file").click()
    page.locator("#overlap-file input[type=file]").set_input_files(str(other))
    expect(page.locator("#overlap")).to_contain_text("1 of 2 rows of other.csv has a match in support_tickets.csv")
    page.locator("#overlap-make").click()
    assert [row["corpus_row"] for row in saved(page, "#overlap-download")] == ["1"]


def test_another_corpus_starts_afresh_and_markup_stays_text(visit):
    page = visit(390)
    open_panel(page)
    open_tickets(page)
    find(page)
    threshold(page, "#duplicates-threshold", "0.95")
    expect(page.locator("#duplicates-headline")).to_contain_text("at cosine ≥ 0.95")
    attack = "<img src=x onerror=alert(1)> {{7*7}}"
    paste(page, [attack, attack, f"{attack} again", "a plain line"])
    index(page, "pasted: ")
    expect(page.locator("#duplicates-headline")).to_contain_text("Not searched yet")
    expect(page.locator(".dup-group")).to_have_count(0)
    find(page)
    expect(page.locator("#duplicates-headline")).to_contain_text("of these rows is an exact copy of an earlier one")
    expect(page.locator(".dup-group p").first).to_contain_text(attack)
    assert page.locator("img[src=x]").count() == page.get_by_test_id("toast-body").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
