"""Every tab with its result by axe-core: nothing serious, in both themes, on a phone and a laptop; and nothing sideways."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.chromium import go_to, put_on
from tests.browser.corpus import index, open_example, open_menu, upload

TABS = ("Similarity", "Search", "Duplicates", "Map", "Fine-tune", "Timing", "Evaluation")
SERIOUS = ("serious", "critical")
BROKEN = "() => axe.run({resultTypes: ['violations']}).then(({violations}) => violations)"


def faults(page: Page) -> list[str]:
    """Rules broken, with the first element of each, once the plots' script is read: until then Gradio draws an empty frame."""
    expect(page.locator("[aria-label='Empty value']:visible")).to_have_count(0)
    if page.evaluate("!window.axe"):  # half a megabyte
        page.evaluate(Axe().axe_script)
    return [f"{v['id']}: {v['nodes'][0]['html'][:160]}" for v in page.evaluate(BROKEN) if v["impact"] in SERIOUS]


def test_nothing_serious_and_nothing_sideways_on_any_tab(visit, write):
    """Each place in both themes and at both widths; the bar, which is on all of them, in each theme at each width."""
    page, seen, found = visit(width=390), [], []
    assert page.locator("html").get_attribute("lang") == "en"

    def look(place: str) -> None:
        seen.append(place)
        for theme, width in zip(("light", "dark"), (1280, 390) if len(seen) % 2 else (390, 1280), strict=True):
            put_on(page, theme, width)
            sideways = ["scrolls sideways"] * (page.evaluate("document.documentElement.scrollWidth") > width)
            found.extend(f"{place}, {theme}, {width}: {fault}" for fault in faults(page) + sideways)

    go_to(page, "Search")
    expect(page.locator(".start:visible")).to_be_visible()
    look("Search without a corpus")
    open_menu(page)
    look("the corpus menu")
    open_example(page, "Household advice")
    for tab in TABS:
        go_to(page, tab)
        if tab == "Similarity":  # the example becomes what its score is compared with
            expect(page.locator("#comparison")).to_contain_text("field_notes")
        if tab == "Fine-tune":
            page.locator("#example-requests_scored").click()
            expect(page.locator("#start")).to_be_visible()
        if tab == "Map":  # Gradio's own empty plot has a name that axe refuses
            expect(page.locator("#map-plot .js-plotly-plot")).to_be_visible()
        if tab == "Duplicates":
            page.locator("#find-duplicates").click()
            expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥")
        look(tab)
    upload(page, write("faults.csv", "text,date\n<b>Late</b> parcel,2026-03-01\n<b>Late</b> parcel,2.3.2026\n,3.3.2026\n"))
    expect(page.locator(".faults li").first).to_be_visible()
    page.locator(".faults summary").first.click()
    look("what is wrong with a file")
    assert found == []


def reach(page: Page, selector: str, most: int = 80) -> None:
    """Press Tab until an element is focused."""
    for _ in range(most):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


def test_search_and_duplicates_by_keyboard_alone(page):
    page.get_by_role("tab", name="Similarity", exact=True).focus()
    page.keyboard.press("ArrowRight")
    reach(page, ".start [data-name='field_notes.csv']")
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_be_visible()
    reach(page, "#query :is(input, textarea)")
    page.keyboard.press("Control+a")
    page.keyboard.type("bread goes stale")
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_contain_text("Bread goes stale")
    assert page.title() == "Search · SBERT Studio"
    reach(page, "button[data-top]")
    page.keyboard.press("Enter")
    expect(page.locator(".hit").nth(10)).to_be_focused()  # the first new one
    page.keyboard.press("?")
    expect(page.locator("#help .popover-card")).to_be_in_viewport()
    page.keyboard.press("Escape")
    reach(page, "button.more")
    page.keyboard.press("Enter")
    expect(page.locator("#query :is(input, textarea)")).not_to_have_value("bread goes stale")
    page.get_by_role("tab", name="Search", exact=True).focus()
    page.keyboard.press("ArrowRight")
    reach(page, "#find-duplicates")
    page.keyboard.press("Enter")
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥")
    reach(page, "#duplicates-threshold input[type=range]")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥ 0.84")
    page.keyboard.press("Home")
    expect(page.locator("#duplicates-headline")).to_contain_text("(cosine ≥ 0.5)")
    reach(page, "#duplicates-remove input[value=similar]")
    page.keyboard.press("Space")
    expect(page.locator(".keep-all").first).to_be_visible()
    reach(page, "#duplicates-cleaned")
    with page.expect_download():
        page.keyboard.press("Enter")
    reach(page, ".keep-all")
    page.keyboard.press("Space")
    expect(page.locator(".keep-all").first).to_have_attribute("aria-pressed", "true")


def test_in_high_contrast_what_is_chosen_has_a_frame_and_marked_words_stand_out(shared_page):
    page = shared_page
    page.emulate_media(forced_colors="active")
    open_example(page, "Household advice")
    go_to(page, "Search")
    mark = page.evaluate("getComputedStyle(document.body.appendChild(document.createElement('mark'))).backgroundColor")
    expect(page.locator(".hit mark").first).to_have_css("background-color", mark)
    tabs = page.locator("#tabs > .tab-wrapper [role=tab]")
    widths = tabs.evaluate_all("tabs => tabs.map(tab => getComputedStyle(tab).borderTopWidth)")
    assert [name for name, width in zip(TABS, widths, strict=True) if width == "2px"] == ["Search"]
    page.emulate_media(forced_colors="none")


def test_before_something_is_deleted_the_keys_go_to_keep_and_from_a_closed_menu_to_its_button(shared_page, write):
    page = shared_page
    go_to(page, "Similarity")
    upload(page, write("short.csv", "text\nIt rains\nIt snows\nIt is hot\n"))
    index(page, "short.csv")
    open_menu(page)
    page.get_by_role("button", name="Delete short.csv").press("Enter")
    expect(page.locator(".card.asking [data-corpus=cancel]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Delete short.csv")).to_be_focused()
    page.get_by_role("button", name="Example: Household advice", exact=True).press("Enter")
    expect(page.locator("#corpus-menu button")).to_be_focused()
    page.locator("#corpus-notice").get_by_role("button", name="Search it").press("Enter")
    expect(page.get_by_role("tab", name="Search", exact=True)).to_be_focused()
