"""The content policy in a real browser: what the page does, it may do; who may show it in a frame."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import go_to
from tests.browser.conftest import opened, served, stranger
from tests.browser.corpus import open_example
from tests.browser.downloads import saved
from tests.browser.test_evaluation import choose
from tests.browser.test_timing import seconds
from tests.browser.test_tour import begin, tell

pytestmark = pytest.mark.usefixtures("short_checks", "quick_estimates")

WATCH = """addEventListener('securitypolicyviolation', event => {
  (window.violations ??= []).push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
}, true)"""
HUB = "https://huggingface.co/"


def present(page: Page, button: str) -> None:
    page.locator(button).click()
    page.locator(".present-text, .present-chart .main-svg").last.wait_for()
    page.keyboard.press("Escape")
    expect(page.locator(".present")).to_have_count(0)


def take_the_tour(page: Page, errors: list[str]) -> None:
    """Similarity, Search, Duplicates, Map and Timing do their work; Present and the files of the map."""
    begin(page)
    for step in range(1, 6):
        tell(page, step)
        page.locator("#tour button", has_text="Next").click()
    expect(page.locator("#race-words")).to_contain_text("100,000 sentences")
    present(page, "#race-take-home [data-present]")
    expect(page.locator("#tour")).to_be_visible()  # the key that left the full screen did not leave the tour
    assert errors == []
    with page.expect_navigation():  # the tour forgets what it opened by a new page
        page.locator("#tour button", has_text="Leave").click()
    expect(page.locator("#tour")).to_have_count(0)
    errors.clear()  # Gradio's client calls it an error that a page was left while something was being answered


def use_every_tab(page: Page) -> None:
    present(page, "#comparison [data-present]")
    open_example(page, "Household advice")
    go_to(page, "Search")
    expect(page.locator("#hits .hit").first).to_be_visible()
    go_to(page, "Duplicates")
    page.locator("#find-duplicates").click()
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥ 0.85")
    go_to(page, "Map")
    expect(page.locator("#map-draw")).to_have_text("Draw again")
    expect(page.locator("#map-draw")).to_be_enabled()
    for kind in ("svg", "png"):
        page.locator("#map-export button").first.click()
        assert saved(page.locator(f"#map-take-home [data-picture={kind}]"))[1]
    go_to(page, "Fine-tune")
    page.get_by_role("button", name=re.compile("^Example: ")).locator("visible=true").first.click()
    expect(page.locator("#estimate")).to_contain_text("Extrapolated")
    go_to(page, "Timing")
    seconds(page, 1)
    page.locator("#race").click()
    expect(page.locator("#race")).to_be_disabled()
    expect(page.locator("#race")).to_be_enabled()
    go_to(page, "Evaluation")
    choose(page, "eval-systems", "Word overlap")
    choose(page, "eval-sets", "Everyday pairs")
    page.locator("#eval-start").click()
    expect(page.locator("#eval-grid tbody button").first).to_be_visible()
    assert saved(page.locator("a[download$='.csv']:visible"))[1]
    page.get_by_label("More", exact=True).click()
    assert saved(page.locator("[data-keep-session]"))[1]


def test_every_tab_the_tour_present_and_the_exports_live_within_the_policy(shared_context: Any, app_url: str) -> None:
    page, bad, errors = stranger(shared_context, app_url), [], []
    page.add_init_script(WATCH)
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    opened(page, bad, app_url)
    take_the_tour(page, errors)
    use_every_tab(page)
    assert page.evaluate("window.violations ?? []") == [] and errors == bad == []
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://evil.example/beacon.png'}))")
    page.wait_for_function("window.violations?.length === 1")  # they are seen
    page.close()


@pytest.fixture(scope="module")
def space_url(app_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from served(tmp_path_factory.mktemp("space"), hosted=True, space=True)


def framed(browser: Any, site: str, url: str) -> bool:
    """Whether the app comes up in a frame of a page of this site."""
    context = browser.new_context()
    context.grant_permissions(["local-network-access"])  # what keeps the app out shall be its own policy
    page = context.new_page()
    page.route(site, lambda route: route.fulfill(body=f'<iframe src="{url}" width=900 height=700>', content_type="text/html"))
    page.goto(site)
    page.wait_for_function("document.querySelector('iframe').contentWindow.length !== undefined")
    frame = page.frames[1]
    frame.wait_for_load_state()
    shown = frame.url.startswith(url)
    if shown:
        expect(frame.get_by_role("tab", name="Similarity", exact=True)).to_be_visible()
    context.close()
    return shown


def test_a_foreign_page_frames_nothing_but_the_hub_its_space(browser: Any, app_url: str, hosted_url: str, space_url: str) -> None:
    for url, sites in {app_url: [], hosted_url: [], space_url: [HUB]}.items():
        assert [site for site in (HUB, "https://evil.example/") if framed(browser, site, url)] == sites, url
