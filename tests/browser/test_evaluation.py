"""The grid as a person sees it: it fills, is stopped, comes back after a reload, shows errors; a visitor's data set is a column."""

import re
import threading

import pytest
from playwright.sync_api import Page, expect

from sbert_app.grid.cell import CellStore, measure_cell
from sbert_app.jobs.evaluate import grid as evaluation_grid
from tests.browser.chromium import go_to, put_on
from tests.browser.conftest import SERVED
from tests.browser.downloads import saved
from tests.browser.test_accessibility import faults

PAIRS = "sentence1,sentence2,score\n" + "".join(
    f"{one},{two},{score}\n"
    for one, two, score in [
        ("the cat sleeps", "a cat is asleep", 5), ("it rains", "the tax is due", 0), ("a red car", "a blue car", 3),
        ("we won the match", "the match was ours", 4), ("my tooth hurts", "the lake is cold", 0),
    ]
)  # fmt: skip


def choose(page: Page, group: str, *names: str) -> None:
    """Check these boxes of a group and no others; once there is a grid, they are folded above it."""
    open_choices(page)
    boxes = page.locator(f"#{group} label")
    for label in boxes.all():
        wanted = label.inner_text().strip() in names
        if label.locator("input").is_checked() != wanted:
            label.locator("input").click()


def open_choices(page: Page) -> None:
    if not page.locator("#eval-systems").is_visible():
        page.locator("#eval-choices > button").click()
        expect(page.locator("#eval-systems")).to_be_visible()


def measure(page: Page) -> None:
    page.locator("#eval-start").click()
    expect(page.locator("#eval-words li").first).to_be_visible()
    expect(page.locator("#eval-systems")).to_be_hidden()


@pytest.fixture
def evaluation(shared_page: Page) -> Page:
    page = shared_page
    go_to(page, "Evaluation")
    expect(page.locator("#eval-sets")).to_contain_text("Everyday pairs")
    return page


def test_the_grid_fills_says_what_is_real_and_shows_errors(evaluation):
    page = evaluation
    choose(page, "eval-systems", "SBERT", "Average word vectors", "Word overlap")
    choose(page, "eval-sets", "Everyday pairs", "Notes by topic")
    measure(page)
    grid = page.locator("#eval-grid")
    expect(grid.locator("tbody tr")).to_have_count(3)
    expect(grid.locator("tbody tr").first.locator("button.best")).to_have_count(2)
    expect(grid.locator("td.none")).to_have_count(1)
    words = page.locator("#eval-words")
    expect(words).to_contain_text(re.compile(r"Everyday pairs: all-MiniLM-L6-v2 is best, \d+\.\d ahead of"))
    expect(words).to_contain_text(re.compile("No figure for word.overlap: scores pairs only", re.IGNORECASE))
    grid.locator("button[data-system=word-overlap]").click()
    expect(page.locator("#eval-errors h3").first).to_have_text(
        re.compile("word.overlap on Everyday pairs: the worst errors", re.IGNORECASE)
    )
    expect(page.locator("#eval-errors section").nth(1).locator("tbody tr").first).to_be_visible()
    expect(page.locator("#eval-chart .js-plotly-plot")).to_be_visible()
    assert grid.bounding_box()["y"] < 260 or page.evaluate("scrollY") > 0  # the answer is on the first screen
    assert faults(page) == []
    assert b"| sbert | **" in saved(page.get_by_role("link", name="Markdown"))[1]
    figures = [cell.split("\n")[0] for cell in grid.locator("td:has(button)").all_inner_texts()]
    page.locator("#eval-links [data-present]").click()
    presented = page.locator(".present .eval")
    in_slide = [cell.split("\n")[0] for cell in presented.locator("td:has(.best, b)").all_inner_texts()]
    assert len(figures) == 5 and in_slide == figures
    assert presented.locator("button").count() == 0
    assert presented.evaluate("table => table.scrollWidth <= table.clientWidth + 1")
    expect(page.locator(".present")).to_contain_text("below them the range of 95 %")
    page.keyboard.press("Escape")


def test_on_a_phone_an_upload_becomes_a_column_and_all_comes_back_after_a_reload(evaluation, write):
    page = evaluation
    put_on(page, "dark", 390)
    page.locator("#eval-file input[type=file]").set_input_files(write("mine.csv", PAIRS))
    expect(page.locator("#eval-sets")).to_contain_text("mine")
    expect(page.locator("#eval-stage").get_by_text("5 pairs are too few to tell systems apart")).to_be_visible()
    choose(page, "eval-systems", "tf-idf", "Word overlap")
    choose(page, "eval-sets", "mine")
    measure(page)
    expect(page.locator("#eval-chart .js-plotly-plot")).to_be_visible()  # axe refuses Gradio's own empty plot
    expect(page.locator("#eval-words")).to_contain_text("mine: Read as scored, columns sentence1, sentence2, score.")
    assert faults(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 390
    page.reload()
    expect(page.locator("#eval-grid th small").first).to_contain_text("Spearman, 5 pairs")
    expect(page.locator("#eval-sets")).to_contain_text("mine")


@pytest.fixture
def cells(app_url, monkeypatch):
    """A list of as many items as cells may be measured; the others wait, and can be stopped. None is known from before."""
    allowed, seen = [], {}

    def in_turn(system, data, tick):
        number = seen.setdefault((system.name, data.name), len(seen))
        while number >= len(allowed):
            tick()
            threading.Event().wait(0.02)
        return measure_cell(system, data, tick)

    monkeypatch.setattr(evaluation_grid, "measure_cell", in_turn)
    monkeypatch.setattr(CellStore, "get", lambda *place: None)
    return allowed


def test_a_reload_in_the_middle_goes_on_and_stop_stops(evaluation, cells, monkeypatch):
    """Also where the end of the old page's connection is seen late, as on a busy machine: here never."""
    monkeypatch.setattr(SERVED[0].sessions, "leave", lambda connection: None)
    page = evaluation
    figures = page.locator("#eval-grid button[data-system]")
    choose(page, "eval-systems", "tf-idf", "Word overlap")
    choose(page, "eval-sets", "Everyday pairs", "Hard requests")
    cells.append("the first")
    page.locator("#eval-start").click()
    expect(figures).to_have_count(1)
    page.reload()
    expect(page.locator("#eval-stop")).to_be_visible()
    cells.append("the second")
    expect(figures).to_have_count(2)
    page.locator("#eval-stop").click()
    expect(page.locator("#eval-stage")).to_contain_text("Stopped")
    expect(page.locator("#eval-start")).to_be_enabled()
    expect(figures).to_have_count(2)


def test_a_file_that_cannot_be_evaluated_is_a_sentence(evaluation, write):
    page = evaluation
    open_choices(page)
    path = write("same.csv", "sentence1,sentence2,score\na b,c d,1\ne f,g h,1\n")
    page.locator("#eval-file input[type=file]").set_input_files(path)
    expect(page.get_by_text("Every score in 'same.csv' is 1")).to_be_visible()
