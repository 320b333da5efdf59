"""One real app for all browser tests; each test is a new visitor, and fails on errors of the page and foreign requests."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from tests.browser.chromium import chromium, executable, put_on


@pytest.fixture(scope="session")
def app_url(tmp_path_factory) -> Iterator[str]:
    os.environ["GRADIO_TEMP_DIR"] = str(tmp_path_factory.mktemp("gradio"))
    yield from served(tmp_path_factory.mktemp("home"), hosted=False)


@pytest.fixture(scope="session")
def hosted_url(app_url, tmp_path_factory) -> Iterator[str]:
    """The same app as a Space serves it: many visitors, none of whom sees another's runs."""
    yield from served(tmp_path_factory.mktemp("hosted"), hosted=True)


PATIENCE = 120_000  # milliseconds for whatever is waited for: a busy machine is slow, not wrong
SERVED: list[Any] = []  # the workbenches of the apps that run
APPS: list[Any] = []


@pytest.fixture
def no_training_left() -> Iterator[None]:
    """End what is still training when a test is over: a slow machine would still compute it beside the tests that follow."""
    yield
    for bench in SERVED:
        worker = bench.worker
        for info in bench.runs.list():
            worker.stop(info.id)
        while worker.count():
            time.sleep(0.1)


def wait_until_idle() -> None:
    """Wait for the handlers of all apps: what one returns, such as gr.HTML(visible=False), would be part of an app being built."""
    while any(job for app in APPS for job in app._queue.active_jobs):
        time.sleep(0.1)


def served(home: Path, hosted: bool, collections: tuple[str, ...] = (), **settings: Any) -> Iterator[str]:
    from sbert_app.runtime.workbench import warm_up
    from sbert_app.settings import Settings
    from sbert_app.ui.gradio_changes import speak_english
    from tests.served import Served

    speak_english()
    wait_until_idle()
    app = Served(Settings(home=home, device="cpu", hosted=hosted, collections=collections, **settings))
    if not hosted:
        warm_up(app.bench)
    SERVED.append(app.bench)
    APPS.append(app.page)
    yield app.url
    APPS.remove(app.page)
    app.close()
    app.bench.lines.active.close()
    app.bench.stop_converting()
    with app.bench.device.hold(short=True):  # a thread that computes while Python shuts down would abort the process
        pass


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    api.expect.set_options(timeout=PATIENCE)
    if executable() is None:
        pytest.skip("no Chromium on this machine")
    with api.sync_playwright() as playwright:
        options = chromium()
        browser = playwright.chromium.launch(**options | {"args": [*options["args"], "--process-per-site"]})
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def contexts(browser) -> Iterator[list[Any]]:
    """One browser context for the first visitor of each test, one for the second: what they download and compile is kept."""
    contexts: list[Any] = []
    yield contexts
    for context in contexts:
        context.close()


# Gradio's trackers of what is pending count its seconds in each frame, and the one of the whole page does so for ever (6.31):
# a page on which nothing happens took a tenth of a processor. Here they count twice a second.
SELDOM = """(() => {
  const frame = requestAnimationFrame, counts = step => /performance\\.now\\(\\)[^]*&&\\w+\\(\\)/.test(step);
  window.requestAnimationFrame = step => counts(step) ? setTimeout(() => frame(step), 500) : frame(step);
})()"""


def new_context(browser: Any, url: str) -> Any:
    """A context with a small page that stays open: it keeps the process alive that has compiled the scripts of the next page.

    Of a visitor who asked for less motion, for the points of a map that is being drawn would move for four seconds of a processor;
    and whose browser speaks German, for the app is in English all the same.
    """
    context = browser.new_context(accept_downloads=True, reduced_motion="reduce", locale="de-DE")
    context.add_init_script(SELDOM)
    context.new_page().goto(f"{url}favicon.ico")
    return context


STORED = "cookies,local_storage,indexeddb,cache_storage,service_workers"


def stranger(context: Any, url: str) -> Any:
    """A new page of a visitor whom the app has never seen."""
    context.clear_permissions()
    page = context.new_page()
    parts = urlparse(url)
    client = context.new_cdp_session(page)
    client.send("Storage.clearDataForOrigin", {"origin": f"{parts.scheme}://{parts.netloc}", "storageTypes": STORED})
    client.detach()
    return page


# Gradio aborts the requests of a page that is left.
WATCHED = {
    "pageerror": lambda error: f"page error: {error}" if error.name != "AbortError" else None,
    "console": lambda line: line.text if "Content Security Policy" in line.text else None,
    "request": lambda request: None if allowed(request.url) else f"foreign request: {request.url}",
}


def allowed(url: str) -> bool:
    return url.startswith(("data:", "blob:")) or urlparse(url).hostname == "127.0.0.1"


def opened(page: Any, bad: list[str], url: str, width: int = 1280, theme: str = "light") -> Any:
    """Open the app on a page, which tells `bad` of its errors and of requests to other hosts."""
    page.set_viewport_size({"width": width, "height": 900})
    page.set_default_timeout(PATIENCE)
    for event, fault in WATCHED.items():
        page.on(event, lambda happened, fault=fault: bad.extend(filter(None, [fault(happened)])))
    page.goto(f"{url}{'&' if '?' in url else '?'}__theme={theme}")
    arrive(page)
    return page


def arrive(page: Any) -> None:
    """Wait until a page that is being loaded is there, and looks at each frame: playwright's other waits look twice a second."""
    page.wait_for_function("document.body?.classList.contains('arrived')")


def tell(page: Any) -> None:
    """What a page shows, for the report of a test that failed."""
    focused = page.evaluate("document.activeElement?.outerHTML.slice(0, 300)")
    print(page.url, page.locator("body").aria_snapshot(), f"focused: {focused}", sep="\n")


@pytest.fixture
def visit(request, browser, contexts, app_url):
    """Open the app as one more visitor. At the end no page may have had an error or asked another host."""
    pages, bad, failed = [], [], request.session.testsfailed

    def visit(width: int = 1280, theme: str = "light", url: str = app_url):
        if len(pages) == len(contexts):
            contexts.append(new_context(browser, app_url))
        pages.append(stranger(contexts[len(pages)], url))
        return opened(pages[-1], bad, url, width, theme)

    yield visit
    for page in pages:
        if request.session.testsfailed > failed and not page.is_closed():
            tell(page)
        page.close()
    assert bad == []


@pytest.fixture
def page(visit):
    return visit()


@pytest.fixture(scope="session")
def shared_context(browser, app_url):
    context = new_context(browser, app_url)
    yield context
    context.close()


@pytest.fixture(scope="module")
def kept(shared_context) -> Iterator[list[Any]]:
    """The page that the tests of a file share, once there is one, and what was wrong on it."""
    kept: list[Any] = []
    yield kept
    for page, _ in kept:
        page.close()


@pytest.fixture
def shared_page(request, kept, shared_context, app_url):
    """A page in the state in which the test before left it, but as wide and light as a new one; a new one after a failure.

    For tests that say all that they need: loading a page takes three seconds.
    """
    if not kept:
        bad: list[str] = []
        kept.append((opened(stranger(shared_context, app_url), bad, app_url), bad))
    (page, bad), failed = kept[0], request.session.testsfailed
    page.evaluate("document.querySelectorAll('.toast-close').forEach(button => button.click()), scrollTo(0, 0)")
    if page.viewport_size != {"width": 1280, "height": 900} or page.locator("body.dark").count():
        put_on(page, "light", 1280)
    yield page
    if bad or request.session.testsfailed > failed:
        tell(page)
        kept.pop()[0].close()
    assert bad == []


@pytest.fixture
def quick_estimates(monkeypatch) -> None:
    """The time of a training is extrapolated from two batches, not five, each time that data or settings change."""
    from sbert_app.runs import plan

    monkeypatch.setattr(plan, "WARM_UP_BATCHES", 0)
    monkeypatch.setattr(plan, "TIMED_BATCHES", 2)
    monkeypatch.setattr(plan, "DEV_SAMPLE", 8)


@pytest.fixture(scope="session")
def other_model(tmp_path_factory, shallow_folder) -> Path:
    """Another encoder: fewer layers, and another pooling. Its embeddings of the examples are computed once."""
    folder = Path(shutil.copytree(shallow_folder, tmp_path_factory.mktemp("models") / "first-token"))
    config = folder / "1_Pooling" / "config.json"
    settings = json.loads(config.read_text())
    config.write_text(json.dumps(settings | {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}))
    return folder
