"""Take the README's pictures of the real app: `make screenshots`. They are written to docs/images, light and dark.

`python -m tests.screenshots FOLDER` takes every tab at three widths instead, to look at after a change of looks.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from tests.browser.chromium import chromium, go_to
from tests.browser.conftest import served

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = (1280, 800)
SIZES = ((1280, 900), (1920, 1080), (390, 844))  # to look at
PATIENCE = 180_000  # milliseconds


def similarity(page: Page) -> None:
    page.locator("#score").wait_for()
    page.get_by_role("button", name="Negation", exact=True).click()
    page.get_by_text("one may deny the other").wait_for()
    page.locator("#cross-score").wait_for()


def search(page: Page) -> None:
    go_to(page, "Search")
    page.locator(".hit").first.wait_for()


def duplicates(page: Page) -> None:
    go_to(page, "Duplicates")
    page.locator("#find-duplicates").click()
    page.locator(".dup-group").first.wait_for()


def cluster_map(page: Page) -> None:
    go_to(page, "Map")
    page.locator("#map-clusters [data-group]").first.wait_for()
    page.locator("#map-plot .annotation").first.wait_for()


def fine_tune(page: Page) -> None:
    go_to(page, "Fine-tune")
    page.locator("#example-requests_scored").click()
    page.locator("#estimate p").wait_for()


def timing(page: Page) -> None:
    go_to(page, "Timing")
    page.locator("#race-chart .js-plotly-plot").wait_for()


def evaluation(page: Page) -> None:
    go_to(page, "Evaluation")
    page.locator("#eval-start").click()
    page.locator("#eval-words li").first.wait_for()
    page.locator("#eval-grid").evaluate("grid => window.scrollTo(0, grid.getBoundingClientRect().top + scrollY - 24)")


TABS = (similarity, search, duplicates, cluster_map, fine_tune, timing, evaluation)


@contextmanager
def opened(browser: Browser, url: str, theme: str, size: tuple[int, int], scale: float) -> Iterator[Page]:
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{url}?__theme={theme}&corpus=support_tickets.csv")
    page.locator("body.arrived").wait_for()
    yield page
    context.close()


def main(folder: Path, sizes: Sequence[tuple[int, int]], scale: float) -> None:
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as home, sync_playwright() as playwright:
        app = served(Path(home), hosted=False)
        url = next(app)
        browser = playwright.chromium.launch(**chromium())
        for theme, size, show in product(("light", "dark"), sizes, TABS):
            with opened(browser, url, theme, size, scale) as page:
                show(page)
                page.wait_for_timeout(1_500)  # until nothing moves
                width = f"-{size[0]}" if len(sizes) > 1 else ""
                page.screenshot(path=folder / f"{show.__name__}{width}-{theme}.png")
        browser.close()
        next(app, None)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), SIZES, 1.0)
    else:
        main(IMAGES, [SIZE], 1.5)
