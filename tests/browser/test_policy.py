"""The content policy in a real browser: what the page does, it may do; who may show it in a frame."""

import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import go_to, until
from tests.browser.conftest import opened, served, stranger
from tests.browser.corpus import open_example
from tests.browser.downloads import saved
from tests.browser.present import smallest_presented
from tests.browser.test_evaluation import choose
from tests.browser.test_timing import seconds

pytestmark = pytest.mark.usefixtures("short_checks", "quick_estimates")

WATCH = """addEventListener('securitypolicyviolation', event => {
  (window.violations ??= []).push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
}, true)"""
HUB = "https://huggingface.co/"


def test_every_tab_present_and_the_exports_live_within_the_policy(shared_context: Any, app_url: str) -> None:
    """And so does the tour, in tests/browser/test_tour.py: every test fails on what its page was refused."""
    page, bad, errors = stranger(shared_context, app_url), [], []
    page.add_init_script(WATCH)
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    opened(page, bad, app_url)
    smallest_presented(page, "#comparison [data-present]")
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
    assert page.evaluate("window.violations ?? []") == [] and errors == bad == []
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://evil.example/beacon.png'}))")
    page.wait_for_function("window.violations?.length === 1")  # they are seen
    until(page, lambda: any("Content Security Policy" in line for line in bad))  # by every test that uses `visit`
    page.close()


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


def test_a_foreign_page_frames_nothing_but_the_hub_its_space(browser: Any, app_url: str, hosted_url: str, tmp_path: Path) -> None:
    with contextmanager(served)(tmp_path, hosted=True, space=True) as space_url:
        for url, sites in {app_url: [], hosted_url: [], space_url: [HUB]}.items():
            assert [site for site in (HUB, "https://evil.example/") if framed(browser, site, url)] == sites, url
