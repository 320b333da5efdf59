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


# By the name of its picture: a tab, what is clicked there, and what is waited for.
TABS = {
    "similarity": ("Similarity", 'role=button[name="Negation"]', ["text=one may deny the other", "#cross-score"]),
    "search": ("Search", "", [".hit"]),
    "duplicates": ("Duplicates", "#find-duplicates", [".dup-group"]),
    "cluster_map": ("Map", "", ["#map-clusters [data-group]", "#map-plot .annotation"]),
    "fine_tune": ("Fine-tune", "#example-requests_scored", ["#estimate p"]),
    "timing": ("Timing", "", ["#race-chart .js-plotly-plot"]),
    "evaluation": ("Evaluation", "#eval-start", ["#eval-words li"]),
}


def show(page: Page, name: str) -> None:
    tab, clicked, awaited = TABS[name]
    go_to(page, tab)
    if name == "similarity":
        page.locator("#score").wait_for()
    if clicked:
        page.locator(clicked).click()
    for each in awaited:
        page.locator(each).first.wait_for()
    if name == "evaluation":
        page.locator("#eval-grid").evaluate("grid => window.scrollTo(0, grid.getBoundingClientRect().top + scrollY - 24)")


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
        for theme, size, name in product(("light", "dark"), sizes, TABS):
            with opened(browser, url, theme, size, scale) as page:
                show(page, name)
                page.wait_for_timeout(1_500)  # until nothing moves
                width = f"-{size[0]}" if len(sizes) > 1 else ""
                page.screenshot(path=folder / f"{name}{width}-{theme}.png")
        browser.close()
        next(app, None)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), SIZES, 1.0)
    else:
        main(IMAGES, [SIZE], 1.5)
