"""The map as a person uses it: draw, hover, click, lasso, list, colours, query, another model, a page to keep."""

import csv
import io
import os
import re
import shutil

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import go_to
from tests.browser.conftest import SERVED
from tests.browser.corpus import index, upload

PLOT = "#map-plot .js-plotly-plot"
# Where row i of the first trace is on the screen: x, y, its row.
PLACE = """([trace, i]) => {
  const gd = document.querySelector('#map-plot .js-plotly-plot'), box = gd.getBoundingClientRect();
  const {xaxis, yaxis} = gd._fullLayout, {x, y, customdata} = gd._fullData[trace];
  return [box.left + xaxis._offset + xaxis.d2p(x[i]), box.top + yaxis._offset + yaxis.d2p(y[i]), customdata[i]];
}"""


# The point of the first trace that has the most room around it: no other is under the pointer there.
ALONE = """() => {
  const traces = document.querySelector('#map-plot .js-plotly-plot')._fullData.slice(0, -2), {x, y} = traces[0];
  const gap = i => Math.min(...traces.flatMap(t => Array.from(t.x, (tx, j) => Math.hypot(tx - x[i], t.y[j] - y[i]) || Infinity)));
  const gaps = Array.from(x, (_, i) => gap(i));
  return gaps.indexOf(Math.max(...gaps));
}"""


def draw(page: Page) -> None:
    go_to(page, "Map")
    page.locator(PLOT).wait_for()
    page.locator("#map-draw").click()
    expect(page.locator("#map-summary")).to_contain_text("clusters", timeout=120_000)
    expect(page.locator(f"{PLOT} .annotation").first).to_be_visible()


def lasso(page: Page, width: int = 150) -> None:
    """Draw a square around the middle of the plot."""
    page.locator(PLOT).scroll_into_view_if_needed()
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    corners = [(-width, -width), (width, -width), (width, width), (-width, width), (-width, -width)]
    page.mouse.move(x + corners[0][0], y + corners[0][1])
    page.mouse.down()
    for dx, dy in corners[1:]:
        page.mouse.move(x + dx, y + dy, steps=6)
    page.mouse.up()


def bright(page: Page) -> int:
    """How many points are lit, all of them where none is faded."""
    return page.evaluate(
        f"() => document.querySelector('{PLOT}')._fullData.slice(0, -2)"
        ".reduce((sum, t) => sum + (t.selectedpoints ? t.selectedpoints.length : t.x.length), 0)"
    )


def box_of(page: Page, selector: str) -> dict[str, float]:
    return page.locator(selector).first.bounding_box()


def test_a_map_is_drawn_and_answers_to_click_lasso_list_and_query(page):
    go_to(page, "Map")
    expect(page.locator("#map-stage")).to_contain_text("principal components")
    draw(page)
    points, buttons = box_of(page, f"{PLOT} .nsewdrag"), box_of(page, f"{PLOT} .modebar")
    assert page.evaluate("scrollY") == 0 and points["y"] + points["height"] / 2 < 900  # its top half needs no scrolling
    assert buttons["y"] + buttons["height"] <= points["y"]
    page.locator(PLOT).scroll_into_view_if_needed()
    x, y, row = page.evaluate(PLACE, [0, page.evaluate(ALONE)])
    page.mouse.move(x, y)
    expect(page.locator(f"{PLOT} .hovertext")).to_be_visible()
    page.mouse.click(x, y)
    expect(page.locator("#map-selection .hits-head")).to_have_text(re.compile(f"Row {row + 1} and its nearest"))
    expect(page.locator("#map-selection tbody tr")).to_have_count(11)
    assert page.evaluate(f"() => document.querySelector('{PLOT}')._fullData.at(-2).x.length") == 11  # the rings
    lasso(page)
    head = page.locator("#map-selection .hits-head")
    expect(head).to_have_text(re.compile(r"\d+ sentences inside the lasso"))
    chosen = int(re.match(r"[\d,]+", head.inner_text().strip()).group())
    assert 20 < chosen < 900 and bright(page) == chosen
    expect(page.locator("#map-selection")).to_contain_text("Distinctive words")
    with page.expect_download() as download:
        page.get_by_role("link", name="csv", exact=True).click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:  # noqa: PTH123 - a path of playwright
        assert len(list(csv.DictReader(file))) == chosen
    lasso(page, 60)  # a second outline inside the first is a new one
    expect(head).not_to_have_text(re.compile(f"^{chosen} "))
    page.locator("#map-clusters button").nth(1).focus()
    page.keyboard.press("Enter")
    expect(head).to_have_text(re.compile(r"\d+ sentences in “"))
    expect(page.locator("#map-clusters button").nth(1)).to_be_focused()  # the next Tab goes on from here
    expect(page.locator("#map-cluster input")).to_have_value(re.compile(r"\(\d+\)"))
    expect(page.locator("#map-told")).to_contain_text("sentences in “")
    page.locator("#map-query input, #map-query textarea").first.fill("charged two times")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#map-selection")).to_contain_text("Nearest to “charged two times”")
    expect(page.locator("#map-colour input")).to_have_value("Similarity to the query")
    page.wait_for_function(f"() => !document.querySelector('{PLOT}')._fullData[0].selectedpoints")
    expect(page.locator("#map-clusters button[aria-pressed=true]")).to_have_count(0)
    assert page.evaluate(f"() => document.querySelector('{PLOT}')._fullData.at(-1).x.length") == 1  # the star
    page.locator("#map-all").click()
    expect(page.locator("#map-selection")).to_contain_text("Click a point")
    expect(page.locator("#map-colour input")).to_have_value("Clusters")
    page.wait_for_function(f"() => document.querySelector('{PLOT}')._fullData.at(-1).x.length === 0")
    assert bright(page) == 926


def test_on_a_phone_names_do_not_overlap_and_a_drop_down_stands_for_the_lasso(visit):
    page = visit(390, "dark")
    draw(page)
    boxes = [box.bounding_box() for box in page.locator(f"{PLOT} .annotation").all() if box.is_visible()]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert (
                a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
                or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]
            )  # fmt: skip
    page.locator("#map-cluster input").click()
    page.get_by_role("option").first.click()
    expect(page.locator("#map-selection .hits-head")).to_have_text(re.compile(r"\d+ sentences in “"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_before_the_map_is_drawn_nothing_answers_and_nothing_complains(page):
    go_to(page, "Map")
    page.locator(PLOT).wait_for()
    lasso(page)
    page.locator("#map-options button").first.click()
    page.wait_for_timeout(600)  # the accordion opens, and what is typed before it has is lost
    page.locator("#map-count input, #map-count textarea").first.fill("4")
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    assert page.get_by_test_id("toast-body").count() == 0
    draw(page)
    expect(page.locator("#map-summary")).to_contain_text("4 clusters")


def test_a_choice_and_a_zoom_survive_other_colours_and_a_double_click_ends_both(page):
    draw(page)
    page.locator("#map-clusters button").nth(1).click()
    expect(page.locator("#map-clusters button").nth(1)).to_have_attribute("aria-pressed", "true")
    chosen = bright(page)
    page.evaluate(f"() => Plotly.relayout(document.querySelector('{PLOT}'), {{'xaxis.range[0]': 2, 'xaxis.range[1]': 6}})")
    page.locator("#map-colour input").click()
    page.get_by_role("option", name="Column: team").click()
    expect(page.locator(f"{PLOT} .legend")).to_contain_text("Billing")
    page.wait_for_function(f"() => document.querySelector('{PLOT}')._fullData[0].selectedpoints")
    assert 0 < bright(page) == chosen < 926
    low, high = page.evaluate(f"() => document.querySelector('{PLOT}').layout.xaxis.range")
    assert high - low < 8
    page.locator(PLOT).scroll_into_view_if_needed()
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    page.mouse.dblclick(box["x"] + 8, box["y"] + 8)
    expect(page.locator("#map-selection")).to_contain_text("Click a point")
    expect(page.locator("#map-clusters button").nth(1)).to_have_attribute("aria-pressed", "false")
    assert bright(page) == 926


# Counts the figures that plotly draws, by the random number in each.
COUNT_FIGURES = """() => {
  window.figures = new Set();
  new MutationObserver(() => {
    const figure = document.querySelector('#map-plot .js-plotly-plot')?.layout?.meta?.figure;
    if (figure) figures.add(figure);
  }).observe(document.body, {childList: true, subtree: true, attributes: true});
}"""


def test_options_regroup_and_colours_follow_a_column(page):
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(COUNT_FIGURES)
    draw(page)
    assert page.evaluate("figures.size") <= 3  # the preview, its redraw at the start, the map: no moving points
    moving = "() => getComputedStyle(document.querySelector('#map-draw')).transitionDuration"
    assert float(page.evaluate(moving).split(",")[0].rstrip("s")) < 0.001
    page.locator("#map-options button").first.click()
    page.locator("#map-count input, #map-count textarea").first.fill("9")
    page.keyboard.press("Enter")
    expect(page.locator("#map-summary")).to_contain_text("9 clusters")
    page.get_by_role("radio", name="HDBSCAN", exact=True).check()
    expect(page.locator("#map-summary")).to_contain_text("HDBSCAN finds the number itself")
    page.locator("#map-colour input").click()
    page.get_by_role("option", name="Column: team").click()
    expect(page.locator(f"{PLOT} .legend")).to_contain_text("Billing")
    page.get_by_text("How good are the clusters?").click()
    expect(page.locator("#map-numbers")).to_contain_text("purity")


def test_markup_in_sentences_and_columns_stays_text(page, tmp_path):
    attack = "<img src=x onerror=alert(1)><b>bold</b>"
    path = tmp_path / "odd.csv"
    lines = [f'"{attack} {i % 3} apples",<i>kind{i % 2}</i>' for i in range(40)]
    path.write_text("\n".join(["text,<u>kind</u>", *lines]) + "\n")
    upload(page, path)
    index(page, "odd.csv")
    go_to(page, "Map")
    expect(page.locator("#map-course")).to_contain_text("odd.csv: 40 sentences")
    page.locator("#map-draw").click()
    expect(page.locator("#map-summary")).to_contain_text("cluster", timeout=120_000)
    page.locator("#map-clusters button").first.click()
    expect(page.locator("#map-selection td").nth(1)).to_contain_text(attack)
    page.locator("#map-numbers-box button").first.click()
    expect(page.locator("#map-numbers")).to_contain_text("<u>kind</u>")
    assert page.locator("img[src=x], #map-selection i, #map-clusters b b").count() == 0


@pytest.fixture
def saved_meanwhile(app_url, model_folder):
    """A model that is saved while the app runs."""
    folder = SERVED[0].bench.settings.models / "saved-meanwhile"
    shutil.copytree(model_folder, folder, copy_function=os.link)
    yield
    shutil.rmtree(folder)


def test_another_model_moves_the_points_and_a_slider_goes_between(page, saved_meanwhile):
    draw(page)
    first = page.evaluate(PLACE, [0, 0])
    page.get_by_text("Compare with another model's map").click()
    page.locator("#map-other input").click()
    expect(page.get_by_role("option", name="saved-meanwhile")).to_be_visible()
    assert "all-MiniLM-L6-v2" not in page.get_by_role("option").all_inner_texts()  # the map's own model
    page.keyboard.press("Escape")
    page.locator("#map-compare-start").click()
    expect(page.get_by_test_id("toast-body")).to_contain_text("Choose the other model first")
    page.locator("#map-other input").fill("all-MiniLM-L6-v2")
    page.keyboard.press("Enter")
    page.locator("#map-compare-start").click()
    expect(page.locator("#map-moved")).to_contain_text("All rows have the same neighbours", timeout=120_000)
    page.locator("#map-share input[type=range]").wait_for()
    page.wait_for_function(f"([old]) => Math.abs(({PLACE})([0, 0])[0] - old) > 0.5", arg=[first[0]])
    slide = "(s, to) => { s.value = to; s.dispatchEvent(new Event('input', {bubbles: true})); }"
    page.locator("#map-share input[type=range]").evaluate(slide, 0)
    page.wait_for_function(f"([old]) => Math.abs(({PLACE})([0, 0])[0] - old) < 0.5", arg=[first[0]])


def test_the_kept_page_opens_from_disk_and_asks_nobody(page, browser, tmp_path):
    draw(page)
    with page.expect_download() as download:
        page.locator("#map-page").click()
    path = tmp_path / "map.html"
    download.value.save_as(path)
    asked, errors = [], []
    kept = browser.new_context(color_scheme="dark").new_page()
    kept.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else asked.append(request.url))
    kept.on("pageerror", lambda error: errors.append(str(error)))
    kept.goto(path.as_uri())
    expect(kept.locator(".annotation").first).to_be_visible()
    expect(kept.locator("table").first).to_contain_text("invoice")
    assert kept.evaluate("() => document.querySelector('.js-plotly-plot')._fullData[0].text[0].length") > 10
    kept.context.close()
    assert asked == [] and errors == []
    with page.expect_download() as download:
        page.locator("#map-csv").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert len(rows) == 926 and {"row", "sentence", "cluster", "map_x", "map_y", "team"} <= set(rows[0])
