"""The tour: six real actions by keyboard, left at any step, and nothing stays."""

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.chromium import put_on
from tests.browser.conftest import arrive
from tests.browser.corpus import index, paste
from tests.browser.present import smallest_presented


def tell(page: Page, step: int) -> None:
    expect(page.locator("#tour .tour-count")).to_have_text(f"{step} of 6")


def begin(page: Page) -> None:
    page.get_by_label("More", exact=True).click()
    page.get_by_role("button", name="Tour, 60 seconds", exact=True).click()
    tell(page, 1)


def older(route: Route) -> None:
    """Ask for the words of the slider as it stood at first, as an answer has them that was on its way when it moved."""
    route.continue_(post_data=re.sub(r"\[null,[\d.]+\]", "[null,4]", route.request.post_data or ""))


def test_the_tour_goes_through_every_tab_by_keyboard_and_leaves_nothing(shared_page):
    """On a phone, with all that moves; what it shows at the end fits a wide window too."""
    page, errors = shared_page, []
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    put_on(page, "dark", 390)
    page.emulate_media(reduced_motion="no-preference")
    begin(page)
    expect(page.locator("#comparison")).to_contain_text("one may deny the other")
    expect(page.locator("#tour button", has_text="Next")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#corpus-menu")).to_contain_text("support_tickets.csv")
    page.keyboard.press("Enter")
    expect(page.locator("#hits.tour-here .hit")).to_have_count(10)
    page.keyboard.press("Enter")
    expect(page.locator("#duplicates-headline")).to_contain_text(re.compile("cop|similar"))
    page.keyboard.press("Enter")
    expect(page.locator("#map-plot .annotation").first).to_be_visible()
    page.route("**/run/predict?*", older, times=2)
    page.keyboard.press("Enter")
    expect(page.locator("#race-words")).to_contain_text("100,000 sentences")
    tell(page, 6)
    smallest_presented(page, "#race-take-home [data-present]")
    expect(page.locator(".present")).to_have_count(0)
    tell(page, 6)  # the key that left the full screen did not leave the tour
    for width, theme in ((1280, "light"), (390, "dark")):
        put_on(page, theme, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.locator("#tour button", has_text="Done").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    arrive(page)
    expect(page.locator("#tour")).to_have_count(0)
    expect(page.locator("#corpus-menu")).to_contain_text("Add a file")
    assert "corpus=" not in page.url
    page.emulate_media(reduced_motion="reduce")


def test_the_tour_is_left_at_any_step_and_keeps_ones_own_corpus(shared_page):
    page = shared_page
    paste(page, ["one line", "another line", "a third one"])
    index(page, "pasted: one line")
    own = {"#sentence1 textarea": "my own words", "#sentence2 textarea": "are kept"}
    for field, text in own.items():
        page.locator(field).fill(text)
    begin(page)
    expect(page.locator("#comparison")).to_contain_text("one may deny the other")
    page.keyboard.press("Enter")
    tell(page, 2)
    page.keyboard.press("Escape")
    expect(page.locator("#tour")).to_have_count(0)
    expect(page.locator("#corpus-menu")).to_contain_text("pasted: one line")
    expect(page.get_by_role("tab", name="Similarity", exact=True)).to_have_attribute("aria-selected", "true")
    for field, text in own.items():
        expect(page.locator(field)).to_have_value(text)
    begin(page)
    page.locator("#tour button", has_text="Leave").click()
    expect(page.locator("#tour")).to_have_count(0)
