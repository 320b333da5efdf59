"""What Gradio keeps for each page or client that ever called: no more than it needs."""

from typing import Any

from gradio import Blocks
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder


class Unkept(dict[int, dict[str, Any]]):
    """A dictionary that keeps nothing.

    It stands for a page's own copy of every component's configuration: half a megabyte, which only deep links would read, and
    those are closed.
    """

    def __setitem__(self, key: int, value: dict[str, Any]) -> None:
        return None

    def __missing__(self, key: int) -> dict[str, Any]:
        return {}


class LeanPages(StateHolder):
    """Gradio's store of pages, without that copy."""

    def __getitem__(self, session_id: str) -> SessionState:
        known = session_id in self.session_data
        state = super().__getitem__(session_id)
        if not known:
            state.config_values = Unkept()
        return state


def keep_little(server: App, page: Blocks) -> None:
    """Let a launched page keep little for each visitor."""
    server.state_holder = LeanPages()
    server.state_holder.set_blocks(page)
