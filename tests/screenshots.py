"""Take the README's pictures of the real app: `make screenshots`. They are written to docs/images, light and dark."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from tests.browser.chromium import chromium, go_to
from tests.browser.conftest import served

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
PATIENCE = 180_000  # milliseconds


def similarity(page: Page) -> None:
    page.locator("#score").wait_for()
    page.get_by_role("button", name="Negation", exact=True).click()
    page.get_by_text("one may deny the other").wait_for()
    page.locator("#cross-score").wait_for()


def search(page: Page) -> None:
    go_to(page, "Search")
    page.locator(".hit").first.wait_for()


def cluster_map(page: Page) -> None:
    go_to(page, "Map")
    page.locator("#map-clusters [data-group]").first.wait_for()
    page.locator("#map-plot .annotation").first.wait_for()


def timing(page: Page) -> None:
    go_to(page, "Timing")
    page.locator("#race-chart .js-plotly-plot").wait_for()


def evaluation(page: Page) -> None:
    go_to(page, "Evaluation")
    page.locator("#eval-start").click()
    page.locator("#eval-words li").first.wait_for()
    page.locator("#eval-grid").evaluate("grid => window.scrollTo(0, grid.getBoundingClientRect().top + scrollY - 24)")


@contextmanager
def opened(browser: Browser, url: str, theme: str) -> Iterator[Page]:
    context = browser.new_context(viewport=SIZE, device_scale_factor=1.5, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{url}?__theme={theme}&corpus=support_tickets.csv")
    page.locator("body.arrived").wait_for()
    yield page
    context.close()


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as home, sync_playwright() as playwright:
        app = served(Path(home), hosted=False)
        url = next(app)
        browser = playwright.chromium.launch(**chromium())
        for theme in ("light", "dark"):
            for show in (similarity, search, cluster_map, timing, evaluation):
                with opened(browser, url, theme) as page:
                    show(page)
                    page.wait_for_timeout(1_500)  # until nothing moves
                    page.screenshot(path=IMAGES / f"{show.__name__}-{theme}.png")
        browser.close()
        next(app, None)


if __name__ == "__main__":
    main()
