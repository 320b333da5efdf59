"""What the app changes in Gradio's server: the memory of a page, what is logged, how long a request head may take."""

import asyncio
import logging
import sys
import traceback
from types import SimpleNamespace
from typing import Any

from gradio import Blocks, queueing
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 30.0  # to send the head of a request in

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


class BoundedHeads(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A connection that is closed HEAD_SECONDS after it was opened, or a further head was begun, unless the head is complete.

    uvicorn itself bounds only the pause between two requests.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._bound()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._bound()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unbound()
        super().connection_lost(exc)

    def _bound(self) -> None:
        """Start the time when a head begins; end it when the head is complete, or another protocol has the connection."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.transport.get_protocol() is not self:
            self._unbound()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _unbound(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def bound_heads() -> None:
    """Make every server that is started from now on in this process use it: Gradio has no setting for the protocol."""
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{BoundedHeads.__name__}"
