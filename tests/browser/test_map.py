"""The map as a person uses it: draw, hover, click, lasso, list, colours, query, another model, a page to keep."""

import os
import re
import shutil
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sbert_app.jobs.map import kept
from sbert_app.jobs.map.job import ClusterOptions
from tests.browser.chromium import go_to, until
from tests.browser.conftest import SERVED, arrive
from tests.browser.corpus import choose, choose_filter, index, open_example, query, search, upload
from tests.browser.downloads import opened_from_disk, saved, saved_rows

PLOT = "#map-plot .js-plotly-plot"
# Where point i of the first trace is on the screen: x, y, its row.
PLACE = """(gd, i) => {
  const box = gd.getBoundingClientRect(), {xaxis, yaxis} = gd._fullLayout, {x, y, customdata} = gd._fullData[0];
  return [box.left + xaxis._offset + xaxis.d2p(x[i]), box.top + yaxis._offset + yaxis.d2p(y[i]), customdata[i]];
}"""
# The point of the first trace that has the most room around it: no other is under the pointer there.
ALONE = """gd => {
  const traces = gd._fullData.slice(0, -2), {x, y} = traces[0];
  const gap = i => Math.min(...traces.flatMap(t => Array.from(t.x, (tx, j) => Math.hypot(tx - x[i], t.y[j] - y[i]) || Infinity)));
  const gaps = Array.from(x, (_, i) => gap(i));
  return gaps.indexOf(Math.max(...gaps));
}"""
SLIDE = "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input', {bubbles: true})); }"


def draw(page: Page) -> None:
    go_to(page, "Map")
    page.locator(PLOT).wait_for()
    page.locator("#map-draw").click()
    expect(page.locator("#map-summary")).to_contain_text("clusters")
    expect(page.locator(f"{PLOT} .annotation").first).to_be_visible()


@pytest.fixture
def page(shared_page) -> Page:
    """The map of the example tickets, all of it lit."""
    page = shared_page
    if not page.locator("#map-summary", has_text="926 sentences in").count():
        open_example(page, "Support tickets")
    go_to(page, "Map")
    expect(page.locator(f"{PLOT} .annotation").first).to_be_attached()
    if page.locator("#map-selection").filter(has_not_text="Click a point").count():
        page.locator("#map-all").click()
        expect(page.locator("#map-selection")).to_contain_text("Click a point")
    if page.locator("#map-colour input").input_value() != "Clusters":
        choose(page, "#map-colour", "Clusters")
    expect(page.locator(f"{PLOT} .legend")).to_have_count(0)  # in a column's colours the points are elsewhere on the screen
    go_to(page, "Clusters")
    return page


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


def of_figure(page: Page, value: str, plot: str = PLOT) -> Any:
    """A value of the figure `gd`."""
    return page.locator(plot).evaluate(f"gd => {value}")


def wait_for(page: Page, condition: str) -> None:
    """Wait until the figure `gd` is so."""
    page.wait_for_function(f"() => {{ const gd = document.querySelector('{PLOT}'); return gd?._fullData && {condition}; }}")


def bright(page: Page, plot: str = PLOT) -> int:
    """How many points are lit, all of them where none is faded."""
    return of_figure(page, "gd._fullData.slice(0, -2).reduce((sum, t) => sum + (t.selectedpoints ?? t.x).length, 0)", plot)


def place(page: Page, point: int = 0) -> list[float]:
    """Where a point of the first trace is on the screen, and its row."""
    return [round(value, 1) for value in page.locator(PLOT).evaluate(PLACE, point)]


def lit(page: Page) -> int:
    """How many points are lit, as soon as others are faded."""
    wait_for(page, "gd._fullData[0].selectedpoints")
    return bright(page)


def box_of(page: Page, selector: str) -> dict[str, float]:
    return page.locator(selector).first.bounding_box()


def seen_whole(page: Page, selector: str) -> bool:
    """Whether an element is wholly in the window, without scrolling."""
    box, size = box_of(page, selector), page.viewport_size
    inside = box["x"] >= 0 and box["x"] + box["width"] <= size["width"] and box["y"] + box["height"] <= size["height"]
    return inside and box["y"] >= 0 and page.evaluate("scrollY") == 0


def group_into(page: Page, count: int) -> None:
    """Type a number of clusters until it counts: Gradio loses what is typed while it opens the options."""
    field = page.locator("#map-count input, #map-count textarea").first

    def taken() -> bool:
        if field.input_value() != str(count):
            field.fill(str(count))
            field.press("Enter")
        return f"{count} clusters" in page.locator("#map-summary").inner_text()

    until(page, taken)


# Counts the figures that plotly draws, by the random number in each.
COUNT_FIGURES = """() => {
  window.figures = new Set();
  new MutationObserver(() => {
    const figure = document.querySelector('#map-plot .js-plotly-plot')?.layout?.meta?.figure;
    if (figure) figures.add(figure);
  }).observe(document.body, {childList: true, subtree: true, attributes: true});
}"""


def test_before_the_map_is_drawn_nothing_answers_and_a_finished_one_fills_the_window_and_is_regrouped(visit, monkeypatch):
    page = visit()
    read, counts = ClusterOptions.read, []
    monkeypatch.setattr(ClusterOptions, "read", staticmethod(lambda *values: counts.append(values[1]) or read(*values)))
    go_to(page, "Map")
    expect(page.locator("#map-stage")).to_contain_text("principal components")
    page.locator(PLOT).wait_for()
    place = box_of(page, "#map-plot")
    lasso(page)
    page.locator("#map-options button").first.click()

    def typed() -> bool:
        page.locator("#map-count input, #map-count textarea").first.fill("4")
        page.keyboard.press("Enter")
        return "4" in counts

    until(page, typed)  # what is typed while Gradio opens the options is lost
    page.evaluate(COUNT_FIGURES)
    draw(page)
    expect(page.locator("#map-summary")).to_contain_text("4 clusters")
    assert page.evaluate("figures.size") <= 3  # the preview, its redraw at the start, the map: no moving points
    assert page.get_by_test_id("toast-body").count() == 0
    assert box_of(page, "#map-plot") == place
    for width in (1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        for side in ("width", "height"):
            wait_for(page, f"Math.abs(gd._fullLayout.{side} - gd.client{side.title()}) < 1")
        plot = box_of(page, PLOT)
        assert seen_whole(page, "#map-plot") and seen_whole(page, "#map-panel")
        assert plot["width"] * plot["height"] >= 0.6 * width * 900
    page.locator("#map-options button").first.click()
    expect(page.locator("#map-count")).to_be_visible()
    assert seen_whole(page, "#map-plot")  # the options lie over the map
    page.keyboard.press("Escape")
    expect(page.locator("#map-count")).to_be_hidden()
    moving = page.locator("#map-draw").evaluate("button => getComputedStyle(button).transitionDuration")
    assert float(moving.split(",")[0].rstrip("s")) < 0.001
    page.locator("#map-clusters [data-group]").first.click()
    wait_for(page, "gd._fullData[0].selectedpoints")
    go_to(page, "Clusters")
    page.locator("#map-options button").first.click()
    group_into(page, 9)
    wait_for(page, "!gd._fullData[0].selectedpoints")  # nor is it chosen in the list
    page.get_by_role("radio", name="HDBSCAN", exact=True).check()
    expect(page.locator("#map-summary")).to_contain_text("HDBSCAN finds the number itself")
    choose(page, "#map-colour", "Column: team")
    expect(page.locator(f"{PLOT} .legend")).to_contain_text("Billing")
    page.get_by_text("How good are the clusters?").click()
    expect(page.locator("#map-numbers")).to_contain_text("purity")


# What is seen in the bar above the map: the height of the bar, the width of what one chooses a colour in, the texts beside it.
BAR = """() => {
  const bar = document.querySelector('#map-top'), colour = document.querySelector('#map-colour input');
  const seen = [...bar.querySelectorAll('button')].filter(button => button.checkVisibility());
  return {height: bar.offsetHeight, roomy: colour.offsetWidth > 60, buttons: seen.map(button => button.textContent.trim())};
}"""


def bar_at_rest(page: Page) -> dict:
    """The bar above a map, when all of it is there: Gradio shows the parts of a row one after another."""
    expect(page.locator("#map-take-home, #map-kept").first).to_be_attached()
    seen = [page.evaluate(BAR)]
    until(page, lambda: seen.append(page.evaluate(BAR)) or seen[-12:] == [seen[-1]] * 12)
    return seen[-1]


def test_a_small_corpus_is_drawn_once_when_the_tab_opens_and_the_bar_above_each_map_of_a_session_is_the_same(visit, monkeypatch):
    page = visit()
    begins, answers = kept.begins, []
    monkeypatch.setattr(kept, "begins", lambda session: answers.append(begins(session)) or answers[-1])
    open_example(page, "Household advice")
    go_to(page, "Map")
    expect(page.locator("#map-course")).to_contain_text("450 sentences")
    expect(page.locator("#map-summary")).to_contain_text("450 sentences in")
    expect(page.locator("#map-draw")).to_have_text("Draw again")
    first = of_figure(page, "gd.layout.meta.map")  # waits: a page loads plotly with its first figure
    bar = bar_at_rest(page)
    go_to(page, "Search")
    go_to(page, "Map")
    until(page, lambda: len(answers) >= 2)
    assert answers[1:] == [False] * len(answers[1:])
    expect(page.locator("#map-draw")).to_be_enabled()
    assert of_figure(page, "gd.layout.meta.map") == first
    open_example(page, "Support tickets")  # while the map is in view
    expect(page.locator("#map-summary")).to_contain_text("926 sentences in")
    expect(page.locator("#map-draw")).to_have_text("Draw again")
    assert bar["roomy"] and bar_at_rest(page) == bar
    page.locator("#map-export button").first.click()
    expect(page.locator("#map-take-home [data-picture=png]")).to_be_visible()


def test_coloured_by_a_column_the_cards_are_its_values_and_one_isolates_its_rows(page):
    clusters = page.locator("#map-clusters [data-group] > b").all_inner_texts()
    choose(page, "#map-colour", "Column: team")
    cards = page.locator("#map-clusters [data-group]")
    expect(cards.first).to_contain_text("Technical")
    counts = [int(count) for count in page.locator("#map-clusters [data-group] > span").all_inner_texts()]
    assert sum(counts) == 926 and counts == sorted(counts, reverse=True)
    cards.nth(1).click()
    expect(page.locator("#map-selection .hits-head")).to_contain_text(f"{counts[1]} sentences with team “Billing”")
    assert lit(page) == counts[1]
    go_to(page, "Clusters")
    expect(cards.nth(1)).to_have_attribute("aria-pressed", "true")
    choose(page, "#map-colour", "Clusters")
    expect(page.locator("#map-clusters [data-group] > b")).to_have_text(clusters)


def test_a_map_answers_to_click_lasso_list_and_query(page):
    points, buttons = box_of(page, f"{PLOT} .nsewdrag"), box_of(page, f"{PLOT} .modebar")
    assert buttons["y"] + buttons["height"] <= points["y"]
    x, y, row = place(page, page.locator(PLOT).evaluate(ALONE))
    page.mouse.move(x, y)
    expect(page.locator(f"{PLOT} .hovertext")).to_be_visible()
    page.mouse.click(x, y)
    expect(page.locator("#map-selection .hits-head")).to_have_text(re.compile(f"Row {row + 1} and its nearest"))
    expect(page.locator("#map-selection li")).to_have_count(11)
    assert of_figure(page, "gd._fullData.at(-2).x.length") == 11  # the rings
    lasso(page)
    head = page.locator("#map-selection .hits-head")
    expect(head).to_have_text(re.compile(r"\d+ sentences inside the lasso"))
    chosen = int(re.match(r"[\d,]+", head.inner_text().strip()).group())
    assert 20 < chosen < 900 and bright(page) == chosen
    expect(page.locator("#map-selection")).to_contain_text("Distinctive words")
    assert len(saved_rows(page.get_by_role("link", name="csv", exact=True))) == chosen
    lasso(page, 60)  # a second outline inside the first is a new one
    expect(head).not_to_have_text(re.compile(f"^{chosen} "))
    go_to(page, "Clusters")
    page.locator("#map-clusters [data-group]").nth(1).focus()
    page.keyboard.press("Enter")
    expect(head).to_have_text(re.compile(r"\d+ sentences in “"))
    expect(page.locator("#map-panel").get_by_role("tab", name="Selection", exact=True)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#map-clusters [data-group]").nth(1)).to_be_visible()
    expect(page.locator("#map-told")).to_contain_text("sentences in “")
    page.locator("#map-query input, #map-query textarea").first.fill("charged two times")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#map-selection")).to_contain_text("10 nearest to “charged two times”")
    expect(page.locator("#map-colour input")).to_have_value("Similarity to the query")
    wait_for(page, "!gd._fullData[0].selectedpoints")
    expect(page.locator("#map-clusters [aria-pressed=true]")).to_have_count(0)
    assert of_figure(page, "gd._fullData.at(-1).x.length") == 1  # the star
    page.locator("#map-all").click()
    expect(page.locator("#map-selection")).to_contain_text("Click a point")
    expect(page.locator("#map-colour input")).to_have_value("Clusters")
    wait_for(page, "gd._fullData.at(-1).x.length === 0")
    assert bright(page) == 926


def test_a_choice_and_a_zoom_survive_other_colours_and_a_double_click_ends_both(page):
    page.locator("#map-clusters [data-group]").nth(1).click()
    expect(page.locator("#map-selection .hits-head")).to_have_text(re.compile(r"\d+ sentences in “"))
    chosen = lit(page)
    of_figure(page, "Plotly.relayout(gd, {'xaxis.range[0]': 2, 'xaxis.range[1]': 6})")
    choose(page, "#map-colour", "Column: team")
    expect(page.locator(f"{PLOT} .legend")).to_contain_text("Billing")
    assert 0 < lit(page) == chosen < 926
    low, high = of_figure(page, "gd.layout.xaxis.range")
    assert high - low < 8
    page.locator(PLOT).scroll_into_view_if_needed()
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()

    def ended() -> bool:
        page.mouse.dblclick(box["x"] + 8, box["y"] + 8)
        page.wait_for_timeout(1_000)
        return "Click a point" in page.locator("#map-selection").inner_text()

    until(page, ended)  # plotly takes two clicks for a double one within 300 ms, which a busy page may miss
    assert bright(page) == 926


def test_the_kept_page_opens_from_disk_and_asks_nobody(page, browser, tmp_path):
    page.locator("#map-export button").first.click()
    with opened_from_disk(browser, saved(page.locator("#map-page")), tmp_path, color_scheme="dark") as kept:
        expect(kept.locator(".annotation").first).to_be_visible()
        expect(kept.locator("table").first).to_contain_text("invoice")
        assert kept.evaluate("() => document.querySelector('.js-plotly-plot')._fullData[0].text[0].length") > 10
    page.locator("#map-export button").first.click()  # the menu closes after a choice
    rows = saved_rows(page.locator("#map-csv"))
    assert len(rows) == 926 and {"row", "sentence", "cluster", "map_x", "map_y", "team"} <= set(rows[0])


def test_a_cluster_is_renamed_in_place_and_the_map_stays_where_it_is(page):
    cards = page.locator("#map-clusters li")
    made = cards.nth(1).locator("b").inner_text()
    cards.nth(1).locator("[data-group]").click()
    expect(page.locator("#map-told")).to_contain_text(f"in “{made}”")
    wait_for(page, "gd._fullData[0].selectedpoints")
    go_to(page, "Clusters")
    before = place(page), bright(page), of_figure(page, "gd.layout.meta.figure")
    pencil, field = page.get_by_role("button", name=f"Rename {made}", exact=True), page.locator("#map-clusters .new-name")
    pencil.focus()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    expect(field).to_have_value(made)
    field.fill("never")
    page.keyboard.press("Escape")
    expect(pencil).to_be_focused()
    expect(cards.nth(1).locator("b")).to_have_text(made)
    pencil.click()
    field.fill("outlier")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("toast-body")).to_contain_text("belongs to another group")
    expect(field).to_have_value("outlier")  # to be mended
    field.fill("Refunds <b>& more</b>")
    page.keyboard.press("Enter")
    expect(cards.nth(1).locator("b")).to_have_text("Refunds <b>& more</b>")
    expect(page.get_by_role("button", name="Rename Refunds <b>& more</b>", exact=True)).to_be_focused()
    expect(page.locator(f"{PLOT} .annotation", has_text="Refunds <b>& more</b>")).to_be_visible()
    expect(page.locator("#map-told")).to_contain_text("in “Refunds <b>& more</b>”")
    assert (place(page), bright(page), of_figure(page, "gd.layout.meta.figure")) == before
    go_to(page, "Selection")
    expect(page.locator("#map-selection .selection li").first).to_contain_text("Refunds <b>& more</b>")
    choose(page, "#map-colour", "Column: team")
    expect(page.locator(f"{PLOT} .legend")).to_contain_text("Billing")
    expect(page.locator(f"{PLOT} .annotation", has_text="Refunds <b>& more</b>")).to_be_visible()
    choose(page, "#map-colour", "Clusters")
    go_to(page, "Clusters")
    cards.nth(1).locator(".rename").click()
    field.fill("")
    cards.nth(2).locator(".rename").focus()  # leaving the field keeps what is in it
    expect(cards.nth(1).locator("b")).to_have_text(made)
    expect(page.locator(f"{PLOT} .annotation", has_text="Refunds")).to_have_count(0)


def test_a_filter_fades_the_other_points_and_is_added_to_the_title_and_the_file(page):
    page.locator("#map-filter > button").click()
    choose_filter(page, "team", "Billing", "#map-filters")
    expect(page.locator("#map-told")).to_have_text(re.compile(r"\d+ sentences with team: Billing"))
    expect(page.locator("#map-filter > button.open")).to_contain_text("Filter: 1")  # it stays open for the next choice
    billing = int(re.match(r"[\d,]+", page.locator("#map-told").inner_text().strip()).group())
    assert 0 < lit(page) == billing < 926
    expect(page.locator("#map-selection")).to_contain_text(re.compile(r"Clusters: .+ \d+ of \d+, "))
    title = page.evaluate("studioResults.aboutResult(document.querySelector('#map-kept [data-present]')).title")
    assert title.endswith(f" · {billing} sentences with team: Billing")
    text = page.locator("#map-filters [data-column=text]")
    text.locator("summary").click()
    text.locator("input").fill("zzzz")
    page.keyboard.press("Enter")
    expect(page.locator("#map-told")).to_contain_text("No sentences with team: Billing, “zzzz” in text")
    expect(page.locator("#map-selection")).to_contain_text("Remove a filter")
    wait_for(page, "gd._fullData[0].selectedpoints?.length === 0")
    assert bright(page) == 0
    text.locator("input").fill("")
    page.keyboard.press("Enter")
    expect(page.locator("#map-told")).not_to_contain_text("zzzz")
    page.keyboard.press("Escape")
    rows = saved_rows(page.get_by_role("link", name="csv", exact=True))
    assert len(rows) == billing and {row["team"] for row in rows} == {"Billing"}
    page.locator("#map-all").click()
    expect(page.locator("#map-selection")).to_contain_text("Click a point")
    expect(page.locator("#map-filter > button")).not_to_contain_text("1")
    assert bright(page) == 926 and page.locator("#map-filters :checked").count() == 0


def test_what_is_chosen_within_a_filter_stays_over_a_reload_and_is_searched_alone_until_its_chip_is_removed(page):
    choose(page, "#map-colour", "Column: priority")
    page.locator("#map-filter > button").click()
    choose_filter(page, "team", "Billing", "#map-filters")
    expect(page.locator("#map-told")).to_contain_text("with team: Billing")  # and the selection is shown
    go_to(page, "Clusters")
    page.locator("#map-clusters [data-group]", has_text="normal").click()
    expect(page.locator("#map-told")).to_have_text(re.compile(r"\d+ sentences with priority “normal”, with team: Billing"))
    expect(page.locator("#map-filter > button")).to_contain_text("Filter: 1")
    chosen = page.locator("#map-told").inner_text()
    rows = re.search(r"\d+", chosen)[0]
    page.reload()
    arrive(page)
    expect(page.locator("#map-told")).to_have_text(chosen)
    expect(page.locator("#map-colour input")).to_have_value("Column: priority")
    expect(page.locator("#map-filter > button")).to_contain_text("Filter: 1")
    assert lit(page) == int(rows)
    page.locator("#map-selection").get_by_role("button", name="Search inside").click()
    head = page.locator("#hits .hits-head")
    expect(query(page)).to_be_focused()
    expect(query(page)).to_have_value("")
    search(page, "charged twice")
    expect(head).to_contain_text(f"10 of {rows} that fit (926 in all)")
    expect(page.locator("#standing")).to_be_hidden()
    page.locator("#chips").get_by_role("button", name=re.compile(f"^Remove: Inside: {rows} sentences with")).click()
    expect(head).to_contain_text("10 of 926")
    expect(page.locator("#standing")).to_be_visible()


@pytest.fixture
def saved_meanwhile(app_url, model_folder):
    """A model that is saved while the app runs."""
    folder = SERVED[0].settings.models / "saved-meanwhile"
    shutil.copytree(model_folder, folder, copy_function=os.link)
    yield
    shutil.rmtree(folder)


def test_another_model_moves_the_points_and_a_slider_goes_between(page, saved_meanwhile):
    first = place(page)[0]
    go_to(page, "Compare")
    page.locator("#map-other input").click()
    expect(page.get_by_role("option", name="saved-meanwhile")).to_be_visible()
    assert "all-MiniLM-L6-v2" not in page.get_by_role("option").all_inner_texts()  # the map's own model
    page.keyboard.press("Escape")
    page.locator("#map-compare-start").click()
    expect(page.get_by_test_id("toast-body")).to_contain_text("Choose the other model first")
    page.locator("#map-other input").fill("all-MiniLM-L6-v2")
    page.keyboard.press("Enter")
    page.locator("#map-compare-start").click()
    expect(page.locator("#map-moved")).to_contain_text("All rows have the same neighbours")
    page.locator("#map-share input[type=range]").wait_for()
    until(page, lambda: seen_whole(page, "#map-plot") and seen_whole(page, "#map-share"))  # what the slider moves is seen beside it
    wait_for(page, f"Math.abs(({PLACE})(gd, 0)[0] - {first}) > 0.5")
    page.locator("#map-share input[type=range]").evaluate(SLIDE, 0)
    wait_for(page, f"Math.abs(({PLACE})(gd, 0)[0] - {first}) < 0.5")


def test_markup_in_sentences_and_columns_stays_text(page, write):
    attack = "<img src=x onerror=alert(1)><b>bold</b>"
    lines = [f'"{attack} {i % 3} apples",<i>kind{i % 2}</i>' for i in range(40)]
    upload(page, write("odd.csv", "\n".join(["text,<u>kind</u>", *lines]) + "\n"))
    index(page, "odd.csv")
    go_to(page, "Map")
    expect(page.locator("#map-course")).to_contain_text("odd.csv: 40 sentences")
    expect(page.locator("#map-summary")).to_contain_text("cluster")
    go_to(page, "Clusters")
    page.locator("#map-clusters [data-group]").first.click()
    expect(page.locator("#map-selection li").first).to_contain_text(attack)
    expect(page.locator("#map-selection li").first).to_contain_text("<i>kind")
    choose(page, "#map-colour", "Column: <u>kind</u>")
    go_to(page, "Clusters")
    expect(page.locator("#map-clusters [data-group]").first).to_contain_text("<i>kind")
    page.locator("#map-numbers-box button").first.click()
    expect(page.locator("#map-numbers")).to_contain_text("<u>kind</u>")
    assert page.locator("img[src=x], #map-selection i:not([style]), #map-clusters b *").count() == 0
