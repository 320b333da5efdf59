"""Where Chromium is and how it runs headless and quiet, for browser tests and benchmarks."""

import os
import random
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def chromium() -> dict[str, Any]:
    """Arguments of playwright's launch."""
    return {
        "executable_path": executable(),
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
        ],
    }


def executable() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def free_port() -> int:
    """A port below those that outgoing connections take (32768 to 60999 on Linux): one of them took a free one meanwhile."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


def until(page: Any, condition: Callable[[], Any]) -> None:
    """Wait for what only Python can see; meanwhile the page's events are handled."""
    for _ in range(1_200):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to that in a minute")


# Resolves when no colour is on its way any more.
WEAR = """dark => {
  document.body.classList.toggle('dark', dark);
  const moving = () => document.getAnimations().filter(each => each instanceof CSSTransition).map(each => each.finished);
  return new Promise(requestAnimationFrame).then(() => Promise.allSettled(moving())).then(() => null);
}"""


def put_on(page: Any, theme: str, width: int) -> None:
    """The theme and the width of another visitor, without another page."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("width => innerWidth === width", arg=width)
    page.evaluate(WEAR, theme == "dark")


def go_to(page: Any, name: str) -> None:
    """Open a tab."""
    page.get_by_role("tab", name=name, exact=True).click()
