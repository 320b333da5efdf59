"""Reduce what Gradio keeps in memory for each page and client."""

from typing import Any

from gradio import Blocks
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder


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
