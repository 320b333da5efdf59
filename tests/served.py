"""The app, running in this process, for tests that speak HTTP with it."""

import re
import time
from collections.abc import Callable

import httpx

from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from sbert_app.ui.app import build_app, launch_options
from tests.browser.chromium import free_port

SLOW = 60  # seconds: the first request loads the model


class Served:
    """A running app: its workbench, its page, its server, its address and a client."""

    def __init__(self, settings: Settings) -> None:
        self.bench = Workbench(settings)
        self.page = build_app(self.bench)
        options = {"server_name": "127.0.0.1", "server_port": free_port(), "prevent_thread_lock": True, "quiet": True}
        self.app, self.url, _ = self.page.launch(**options, **launch_options(self.bench))
        self.close = self.page.close
        self.http = httpx.Client(base_url=self.url, timeout=SLOW)

    def routes(self) -> set[tuple[str, str]]:
        """(method, path) of every route, those of the router that Gradio includes among them."""
        routers = [route.original_router for route in self.app.routes if hasattr(route, "original_router")]
        routes = [*self.app.routes, *(route for router in routers for route in router.routes)]
        return {(method, route.path) for route in routes if hasattr(route, "path") for method in route.methods or ()}


def in_the_end(condition: Callable[[], bool]) -> bool:
    """Whether it comes to that within ten seconds."""
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def concrete(path: str) -> str:
    """A path that a route's fits."""
    return re.sub(r"\{[^}]+\}", "x", path)
