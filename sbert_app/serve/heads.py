"""Close connections on which no complete request head arrives: uvicorn itself bounds only the pause between two requests."""

import asyncio
from typing import Any

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 30.0  # to send the head of a request in


class BoundedHeads(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A connection that is closed HEAD_SECONDS after it was opened, or a further head was begun, unless the head is complete."""

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
