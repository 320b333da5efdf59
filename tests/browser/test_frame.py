"""The bar: as high as promised, in one place on every tab, and what hangs from it never moves the page."""

import re

from playwright.sync_api import expect

from tests.browser.chromium import go_to, put_on
from tests.browser.conftest import arrive
from tests.browser.corpus import choose_model, open_example, open_menu
from tests.browser.test_accessibility import TABS

# Where the open tab's own content begins.
CONTENT = """() => {
  const shown = [...document.querySelectorAll('#tabs > .tabitem')].filter(each => each.offsetParent);
  return Math.min(...shown.map(each => each.getBoundingClientRect().top + scrollY));
}"""
# Of each tab, once it is open: the boxes of the bar's parts, where its content begins, and how wide the page is.
FRAMES = f"""async () => {{
  const parts = ['#header .brand svg', '#corpus-menu button', '#model', '#help', '#more', '#tabs > .tab-wrapper'];
  const top = {CONTENT}, page = document.documentElement, found = [];
  for (const tab of document.querySelectorAll('#tabs > .tab-wrapper [role=tab]')) {{
    tab.click();
    do await new Promise(requestAnimationFrame); while (tab.ariaSelected !== 'true' || top() === Infinity);
    scrollTo(0, 0);
    const boxes = parts.map(name => document.querySelector(name).getBoundingClientRect());
    found.push([boxes.map(({{ x, y, width, height }}) => [x, y, width, height].map(Math.round)), top(), page.scrollWidth]);
  }}
  return found;
}}"""
# Hits, and what is below them, move when an answer comes, on a busy machine later than half a second after a key.
SHIFTS = """() => {
  window.shifted = 0;
  const below = Node.DOCUMENT_POSITION_FOLLOWING | Node.DOCUMENT_POSITION_CONTAINED_BY;
  const answer = ({ node }) => node?.parentElement?.closest('#search-body')
    && document.querySelector('#hits')?.compareDocumentPosition(node) & below;
  const add = list => {
    for (const { hadRecentInput, value, sources } of list.getEntries())
      if (!hadRecentInput && !(sources.length && sources.every(answer))) window.shifted += value;
  };
  new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: false });
}"""


WIDTHS = {1280: 96, 1920: 96, 390: 104}  # and the most that the bar may be high


def test_the_bar_is_low_and_the_same_on_every_tab_with_and_without_corpus_and_notice(page, other_model):
    for state in ("nothing open", "a corpus", "a corpus and a notice"):
        if state == "a corpus":
            open_example(page, "Household advice")
        if state == "a corpus and a notice":
            choose_model(page, other_model)
            expect(page.locator("#stale-row")).to_be_visible()
        for width, most in WIDTHS.items():
            put_on(page, "light", width)
            boxes, tops, wide = zip(*page.evaluate(FRAMES), strict=True)
            assert list(boxes) == [boxes[0]] * len(TABS) and max(tops) <= most and max(wide) <= width, (state, width, tops, wide)
        put_on(page, "light", 1280)


def test_on_a_phone_what_is_ready_has_a_row_that_can_be_closed_and_nothing_lies_over_another_or_sticks_out(visit):
    page = visit(390)
    open_menu(page)
    formats, arrow = (page.locator(f"#corpus-file [data-testid={name}]").bounding_box() for name in ("block-label", "upload-icon"))
    assert formats["y"] + formats["height"] <= arrow["y"]
    page.keyboard.press("Escape")
    top = page.evaluate(CONTENT)
    open_example(page, "Household advice")
    row, tabs = page.locator(".ready"), page.locator("#tabs > .tab-wrapper")
    expect(row).to_be_visible()
    box, above = row.bounding_box(), tabs.bounding_box()
    assert box["y"] >= above["y"] + above["height"] and box["width"] > 350
    assert page.evaluate(CONTENT) >= box["y"] + box["height"] and page.evaluate("document.documentElement.scrollWidth") <= 390
    row.get_by_role("button", name="Close").click()
    expect(row).to_have_count(0)
    assert page.evaluate(CONTENT) == top
    go_to(page, "Search")
    for column in ("topic", "difficulty"):
        page.locator(f"#filters details[data-column={column}] summary").click()
        card = page.locator(f"#filters details[data-column={column}] .popover-card").bounding_box()
        assert card["x"] >= 0 and card["x"] + card["width"] <= 390
    go_to(page, "Timing")
    ticks, last = (page.locator(f"#race-ticks {name}").bounding_box() for name in (".ticks", "span:last-child"))
    assert last["x"] + last["width"] <= ticks["x"] + ticks["width"] + 1
    for key, tab in {"7": "Evaluation", "1": "Similarity"}.items():  # names at the two ends of the row
        page.locator("body").press(key)
        expect(page.get_by_role("tab", name=tab, exact=True)).to_be_in_viewport(ratio=1)
    go_to(page, "Search")
    page.evaluate("scrollTo(0, 200), studio.selected('search', '')")  # scrolled before the server has answered
    expect(page.get_by_label("Query", exact=True)).to_be_focused()
    assert page.evaluate("scrollY") == 200


# The colours of an element before and while a file is dragged over the page.
DRAGGED = """async name => {
  const colours = () => ['backgroundColor', 'borderTopColor'].map(each => getComputedStyle(document.querySelector(name))[each]);
  const before = colours(), dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(['a'], 'a.csv'));
  document.querySelector('h1').dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true }));
  await new Promise(done => setTimeout(done, 100));
  return [before, colours()];
}"""


def test_what_takes_a_file_lights_up_while_one_is_dragged_over_the_page(shared_page):
    page = shared_page
    for tab, place in {"Fine-tune": "#labelled-file", "Search": "button.drop"}.items():
        go_to(page, tab)
        expect(page.locator(place).locator("visible=true").first).to_be_visible()
        before, during = page.evaluate(DRAGGED, place)
        assert all(one != other for one, other in zip(before, during, strict=True)), place
        expect(page.locator("body.dragging")).to_have_count(0)


def test_nothing_moves_while_an_example_is_opened_searched_and_another_one_indexed(shared_page):
    page = shared_page
    page.evaluate(SHIFTS)
    open_example(page, "Household advice")
    go_to(page, "Search")
    expect(page.locator("#hits .hit").first).to_be_visible()
    page.get_by_label("Query", exact=True).fill("bread goes stale")
    page.keyboard.press("Enter")
    expect(page.locator("#hits .hit").first).to_contain_text("Bread")
    go_to(page, "Similarity")
    open_example(page, "Support tickets")
    expect(page.locator("#corpus-notice")).to_contain_text("is ready")
    assert page.evaluate("shifted") <= 0.02


def test_keys_open_tabs_and_search_and_are_dead_in_fields(shared_page):
    page = shared_page
    page.locator("body").press("4")
    expect(page.get_by_role("tab", name="Map", exact=True)).to_have_attribute("aria-selected", "true")
    page.locator("body").press("/")
    expect(page.get_by_role("tab", name="Search", exact=True)).to_have_attribute("aria-selected", "true")
    query = page.get_by_label("Query", exact=True)
    if "corpus=" in page.url:  # where one is open, "/" goes on to its query, a moment later
        expect(query).to_be_focused()
        query.blur()
    page.locator("body").press("?")
    expect(page.locator("#help .popover-card")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help .popover-card")).to_be_hidden()
    open_example(page, "Household advice")
    query.fill("")
    query.press("4")
    query.press("j")
    expect(query).to_have_value("4j")
    expect(page.get_by_role("tab", name="Search", exact=True)).to_have_attribute("aria-selected", "true")
    query.press("Enter")
    expect(page.locator("#hits [data-query='4j']")).to_be_visible()
    query.blur()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#hits .hit").nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("#hits .hit").first).to_be_focused()
    page.get_by_role("tab", name="Map", exact=True).click()
    page.get_by_role("tab", name="Search", exact=True).click()
    expect(query).to_be_focused()
    query.press("Escape")
    expect(query).not_to_be_focused()


def test_back_opens_the_tab_before_and_asks_the_query_before_once_more_and_forward_the_next(shared_page):
    page = shared_page
    open_example(page, "Household advice")
    go_to(page, "Search")
    answer = page.locator("#hits [data-query]")
    for query in ("wet shoes", "coffee stain"):
        expect(answer).to_be_attached()
        page.get_by_label("Query", exact=True).fill(query)
        page.get_by_label("Query", exact=True).press("Enter")
        expect(answer).to_have_attribute("data-query", query)
        expect(page).to_have_url(re.compile(query.replace(" ", ".")))
    go_to(page, "Map")
    for way, tab, query in (
        (page.go_back, "Search", "coffee stain"), (page.go_back, "Search", "wet shoes"),
        (page.go_forward, "Search", "coffee stain"), (page.go_forward, "Map", "coffee stain"),
    ):  # fmt: skip
        way()
        expect(page.get_by_role("tab", name=tab, exact=True)).to_have_attribute("aria-selected", "true")
        expect(answer).to_have_attribute("data-query", query)
        expect(page.get_by_label("Query", exact=True)).to_have_value(query)
        expect(page).to_have_url(re.compile(query.replace(" ", ".")))
        expect(page).to_have_url(re.compile(f"tab={tab.lower()}"))


def test_the_theme_changes_from_the_menu_and_stays_over_a_reload(page):
    for theme in ("dark", "light"):
        page.get_by_label("More", exact=True).click()
        page.get_by_role("button", name="Light or dark").click()
        expect(page.locator("#more .popover-card")).to_be_hidden()
        assert f"__theme={theme}" in page.url
        page.reload()
        arrive(page)
        assert page.evaluate("document.body.classList.contains('dark')") == (theme == "dark")
