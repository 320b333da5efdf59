"""Reduce what Gradio keeps in memory for each page and client, and what it logs."""

import logging
import sys
import traceback
from types import SimpleNamespace
from typing import Any

from gradio import Blocks, queueing
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder

log = logging.getLogger(__name__)


class DiscardingDict(dict[int, dict[str, Any]]):
    """A dictionary that stores nothing, instead of a page's copy of the configuration: 0.5 MB that only closed routes read."""

    def __setitem__(self, key: int, value: dict[str, Any]) -> None:
        return None

    def __missing__(self, key: int) -> dict[str, Any]:
        return {}


class LeanPages(StateHolder):
    """Gradio's store of page states, without that copy."""

    def __getitem__(self, session_id: str) -> SessionState:
        exists = session_id in self.session_data
        state = super().__getitem__(session_id)
        if not exists:
            state.config_values = DiscardingDict()
        return state


def use_lean_pages(server: App, page: Blocks) -> None:
    """Make a launched app use LeanPages."""
    server.state_holder = LeanPages()
    server.state_holder.set_blocks(page)


def log_in_one_line() -> None:
    """Log what Gradio refuses, such as a file that it did not receive, in one line: it would print a traceback for each request.

    What fails in a handler is logged by the handler, with its traceback.
    """
    setattr(queueing, "traceback", SimpleNamespace(print_exc=_one_line))  # noqa: B010 - mypy allows no assignment


def _one_line() -> None:
    error = sys.exc_info()[1]
    place = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__ if error else None)[-1:]]
    log.warning("a request failed in Gradio: %s: %s %s", type(error).__name__, " ".join(str(error).split())[:200], place)
