"""The race as a person sees it: start, live lanes, chart, slider, a page to keep; stop, reload, two visitors."""

import re
import threading

import pytest
from playwright.sync_api import Page, expect

from sbert_app.runtime.sessions import Sessions
from tests.browser.chromium import go_to, put_on
from tests.browser.corpus import index, open_example, paste
from tests.browser.downloads import opened_from_disk, saved, saved_rows

pytestmark = pytest.mark.usefixtures("short_checks")


@pytest.fixture
def race(shared_page) -> Page:
    go_to(shared_page, "Timing")
    return shared_page


def seconds(page: Page, value: int) -> None:
    if not page.locator("#race-seconds").is_visible():
        page.locator("#race-options button").first.click()
    page.locator("#race-seconds input[type=number]").fill(str(value))
    page.locator("#race-seconds input[type=number]").press("Tab")


def racing(page: Page) -> None:
    """Wait until both lanes have done something."""
    expect(page.locator("#lanes .lane.cross b").first).to_have_text(re.compile("^[1-9]"))


def start_long_race(page: Page) -> None:
    """One that only a stop ends while a test looks on."""
    seconds(page, 60)
    page.locator("#race").click()
    expect(page.locator("#race")).to_be_disabled()  # and the lanes of the race before are gone
    racing(page)


def slide(page: Page, exponent: float) -> None:
    page.locator("#race-n input[type=range]").evaluate(
        "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input', {bubbles: true})); }", exponent
    )


# The labels of the sliders whose thumb, 16 pixels high, is cut by a block around it.
CUT = """() => [...document.querySelectorAll('input[type=range]')].filter(slider => slider.checkVisibility()).filter(slider => {
  const {top, bottom} = slider.getBoundingClientRect(), middle = (top + bottom) / 2, around = [];
  for (let block = slider.parentElement; block !== document.body; block = block.parentElement) around.push(block);
  return around.some(block => {
    const box = block.getBoundingClientRect();
    return getComputedStyle(block).overflow !== 'visible' && (box.top > middle - 8 || box.bottom < middle + 8);
  });
}).map(slider => slider.getAttribute('aria-label'))"""


def test_a_race_on_the_example_from_click_to_chart(race, browser, tmp_path):
    page = race
    words = page.locator("#race-words")
    expect(words).to_contain_text(re.compile("In the paper.*65 hours.*5.0 seconds", re.DOTALL))  # without a click
    page.locator("#race-chart .js-plotly-plot").wait_for()
    slide(page, 5)
    expect(words).to_contain_text("100,000 sentences are 4,999,950,000 pairs")
    page.wait_for_function("() => document.querySelector('#race-chart .js-plotly-plot')?.layout.shapes[0].x0 === 100000")
    slide(page, 4)
    expect(page.locator("#course")).to_contain_text("different sentences")
    seconds(page, 2)
    assert page.evaluate(CUT) == []
    page.locator("#race").click()
    expect(page.locator("#lanes .lane.sbert")).to_contain_text("Finished: the most similar pair")
    expect(page.locator("#race-chart .js-plotly-plot")).to_be_visible()
    expect(page.locator("#race-words")).to_contain_text("10,000 sentences are 49,995,000 pairs")
    expect(page.locator("#race-words")).to_contain_text("Extrapolated (dashed) from")
    expect(words).to_contain_text(re.compile(r"On this machine.*SBERT compared all 428,275 pairs in", re.DOTALL))
    expect(page.locator("#race-agreement")).to_contain_text("in both lists")
    expect(page.locator("#race-chart .modebar")).to_be_hidden()
    expect(page.locator("#race-chart")).to_have_attribute("aria-label", re.compile("seconds by number of sentences"))
    page.locator("#race-n input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#race-words")).to_contain_text("11,000 sentences are")
    page.wait_for_function("() => document.querySelector('#race-chart .js-plotly-plot').layout.shapes[0].x0 === 11000")
    expect(page.locator("#race-n input[type=range]")).to_have_attribute("aria-valuetext", "11,000 sentences")
    slide(page, 3)
    expect(page.locator("#race-words")).to_contain_text("1,000 sentences are 499,500 pairs")
    page.wait_for_function("() => document.querySelector('#race-chart .js-plotly-plot').layout.shapes[0].x1 === 1000")
    page.get_by_text("All numbers, and how they were obtained").click()
    expect(page.locator("#race-numbers")).to_contain_text("65 hours")
    rows = saved_rows(page.locator("#race-numbers a", has_text="csv"))
    assert {row["kind"] for row in rows} == {"measured", "extrapolated", "published"} and all(row["how"] for row in rows)
    with opened_from_disk(browser, saved(page.locator("#race-page")), tmp_path) as kept:
        expect(kept.locator(".js-plotly-plot .scatterlayer").first).to_be_visible()
        expect(kept.locator("body")).to_contain_text("1,000 sentences are 499,500 pairs")


def test_stop_keeps_what_was_measured_until_another_corpus_takes_its_place_and_a_small_one_says_what_it_needs(race):
    page = race
    start_long_race(page)
    expect(page.locator("#lanes .lane.sbert")).to_contain_text("Finished")
    expect(page.locator("#lanes .lane.cross")).to_contain_text(re.compile(r"[1-9][\d.]* seconds\s*of work"))  # a turn or more
    page.locator("#race-stop").click()
    expect(page.locator("#race-words")).to_contain_text("The race was stopped early")
    expect(page.locator("#race-chart .js-plotly-plot")).to_be_visible()
    expect(page.locator("#race-agreement")).to_contain_text("stopped before this check")
    expect(page.locator("#race")).to_be_enabled()
    expect(page.locator("#race-stop")).to_be_hidden()
    paste(page, [f"line {i}" for i in range(5)])
    index(page, "pasted: line 0")
    expect(page.locator("#course")).to_contain_text("at least 20 different sentences, there are 5")
    expect(page.locator("#race")).to_be_disabled()
    expect(page.locator("#race-words")).to_contain_text("In the paper")  # the race on the other corpus is gone
    open_example(page, "Household advice")
    expect(page.locator("#course")).to_contain_text("field_notes.csv")
    expect(page.locator("#race")).to_be_enabled()


def test_the_second_visitor_waits_until_a_reload_frees_the_machine_where_a_click_before_the_session_is_there_counts(
    shared_page, visit, monkeypatch
):
    first, second = shared_page, visit()
    for page in (first, second):
        go_to(page, "Timing")
    start_long_race(first)
    seconds(second, 60)
    second.locator("#race").click()
    expect(second.locator("#race-stage")).to_contain_text("one timing run is ahead of yours")
    second.get_by_role("tab", name="Similarity", exact=True).click()
    second.locator("#sentence1 textarea").fill("The parcel is late.")
    expect(second.locator("#score")).to_be_visible()  # meanwhile
    go_to(second, "Timing")
    resume, clicked = Sessions.resume, threading.Event()
    monkeypatch.setattr(Sessions, "resume", lambda *args: clicked.wait() and resume(*args))
    first.reload()
    go_to(first, "Timing")
    first.locator("#race").click()
    first.wait_for_timeout(500)
    clicked.set()
    racing(second)
    expect(first.locator("#race-stage")).to_contain_text("one timing run is ahead of yours")
    second.locator("#race-stop").click()
    expect(second.locator("#race")).to_be_enabled()
    racing(first)
    first.locator("#race-stop").click()
    expect(first.locator("#race-words")).to_contain_text("against")


def test_table_7_and_no_sideways_scrolling(race):
    page = race
    page.locator("#table-7-measure").click()
    expect(page.locator("#table-7")).to_contain_text("SBERT, smart batching")
    expect(page.locator("#table-7")).to_contain_text(re.compile("2,042"))
    page.locator("#table-7-stop").click()
    expect(page.locator("#race")).to_be_enabled()
    for width, theme in ((1280, "light"), (390, "dark")):
        put_on(page, theme, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
