"""One real app for all browser tests; each test gets a fresh browser context that fails on errors and foreign requests."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from tests.browser.chromium import chromium, executable, free_port


@pytest.fixture(scope="session")
def app_url(tmp_path_factory) -> Iterator[str]:
    os.environ["GRADIO_TEMP_DIR"] = str(tmp_path_factory.mktemp("gradio"))
    yield from served(tmp_path_factory.mktemp("home"), hosted=False)


@pytest.fixture(scope="session")
def hosted_url(app_url, tmp_path_factory) -> Iterator[str]:
    """The same app as a Space serves it: many visitors, none of whom sees another's runs."""
    yield from served(tmp_path_factory.mktemp("hosted"), hosted=True)


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A real browser, a server and trainings share the processor: what a busy machine made late is tried again, twice at most."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2))


SERVED: list[Any] = []  # the services of the apps that run


@pytest.fixture
def no_training_left() -> Iterator[None]:
    """End what is still training when a test is over: a slow machine would still compute it beside the tests that follow."""
    yield
    for services in SERVED:
        worker = services.trainings.worker
        for info in services.trainings.runs.list():
            worker.stop(info.id)
        while worker.count():
            time.sleep(0.1)


def served(home: Path, hosted: bool) -> Iterator[str]:
    from sbert_app.runtime.workbench import close, open_workbench, warm_up
    from sbert_app.services.bundle import build_services
    from sbert_app.settings import Settings
    from sbert_app.ui.app import build_app, launch_options

    bench = open_workbench(Settings(home=home, device="cpu", hosted=hosted))
    warm_up(bench)
    services = build_services(bench)
    app = build_app(bench, services)
    options = {"server_name": "127.0.0.1", "server_port": free_port(), "prevent_thread_lock": True, "quiet": True}
    _, url, _ = app.launch(**options, **launch_options(bench))
    SERVED.append(services)
    yield url
    app.close()
    close(bench)


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    api.expect.set_options(timeout=60_000)  # a busy machine is slow, not wrong
    if executable() is None:
        pytest.skip("no Chromium on this machine")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium())
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, app_url):
    """Open the app as one more visitor. At the end no page may have had an error or asked another host."""
    contexts, bad = [], []

    def allowed(url: str) -> bool:
        return url.startswith(("data:", "blob:")) or urlparse(url).hostname == "127.0.0.1"

    def visit(width: int = 1280, theme: str = "light", url: str = app_url):
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        # Gradio aborts the requests of a page that is left.
        page.on("pageerror", lambda error: bad.append(f"page error: {error}") if error.name != "AbortError" else None)
        page.on("console", lambda line: bad.append(line.text) if "Content Security Policy" in line.text else None)
        page.on("request", lambda request: None if allowed(request.url) else bad.append(f"foreign request: {request.url}"))
        page.goto(f"{url}{'&' if '?' in url else '?'}__theme={theme}")
        page.get_by_role("tab", name="Similarity", exact=True).wait_for()
        page.locator("body.arrived").wait_for()
        return page

    yield visit
    for context in contexts:
        context.close()
    assert bad == []


@pytest.fixture
def page(visit):
    return visit()


@pytest.fixture
def other_model(tmp_path, model_folder) -> Path:
    """The bundled weights with another pooling: another encoder."""
    folder = Path(shutil.copytree(model_folder, tmp_path / "first-token"))
    config = folder / "1_Pooling" / "config.json"
    settings = json.loads(config.read_text())
    config.write_text(json.dumps(settings | {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}))
    return folder
