"""The page without a browser, for tests that send what a browser would."""

import asyncio
from typing import Any

import gradio as gr
from gradio.state_holder import SessionState

from sbert_app.runtime.sessions import SessionKey
from sbert_app.runtime.workbench import Workbench
from sbert_app.ui.app import build_app
from tests.searching import indexed

STEPS = 3  # of a generator: then the tab is closed
LINES = "\n".join(f"sentence {i} about {'cats' if i % 2 else 'invoices'}" for i in range(24))


class Page:
    """The app without a browser: `send` does what a request to one of its functions does."""

    def __init__(self, bench: Workbench) -> None:
        self.bench, self.app = bench, build_app(bench)
        self.functions = [function for function in self.app.fns.values() if function.fn]
        self.session = indexed(bench, LINES)
        self._loop = asyncio.new_event_loop()

    def send(self, function: Any, inputs: list[Any], event: Any = None) -> None:
        """What comes back is dropped; raises what the visitor would see as an error."""
        self._loop.run_until_complete(self._send(function, inputs, event))

    def value(self, component: Any) -> Any:
        """What a component has at first. A page has arrived: its session is there."""
        value = getattr(component, "value", None)
        return SessionKey(self.bench.sessions, self.session.id) if isinstance(value, SessionKey) else value

    async def _send(self, function: Any, inputs: list[Any], event: Any) -> None:
        state = SessionState(self.app)
        for component in function.inputs:
            if isinstance(component, gr.State):
                state[component._id] = self.value(component)
        data = gr.EventData(None, event)
        iterator = None
        for _ in range(STEPS):
            request = {"session_hash": "fuzz", "event_data": data, "request": gr.Request(session_hash="fuzz")}
            result = await self.app.process_api(function, inputs, state=state, iterator=iterator, **request)
            iterator = result["iterator"]
            if not result["is_generating"]:
                return
        if iterator is not None:
            await iterator.aclose()
