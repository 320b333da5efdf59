"""Whatever is sent to a handler of the page or to an endpoint: a result, or a sentence; never a fault of ours."""

import asyncio
import logging
import traceback
from dataclasses import replace
from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import SessionState
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sbert_app.runtime.workbench import Workbench, open_workbench
from sbert_app.services.corpora import CorpusService
from sbert_app.settings import Limits, Settings
from sbert_app.timing import experiment, queries
from sbert_app.ui.app import build_app
from sbert_app.ui.kit.events import OURS

STEPS = 3  # of a generator: then the tab is closed
LINES = "\n".join(f"sentence {i} about {'cats' if i % 2 else 'invoices'}" for i in range(12))

texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "",
            " ",
            "\0",
            "\ud800",
            "‮",
            "👩‍👩‍👧",
            "all-MiniLM-L6-v2",
            "cross-MiniLM-L6-stsb",
            "a\n",
            "..",
            "/etc/passwd",
            "=1+1",
            "x" * 30_000,
        ]
    ),
    st.text(alphabet=st.characters(), max_size=20),
)
numbers = st.one_of(st.integers(-3, 20), st.integers(), st.floats(), st.booleans())
scalars = st.one_of(st.none(), numbers, texts)
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)), max_leaves=6
)


class Page:
    """The app without a browser: `send` does what a request to one of its functions does."""

    def __init__(self, bench: Workbench) -> None:
        self.bench, self.app = bench, build_app(bench)
        self.functions = [function for function in self.app.fns.values() if function.fn and not function.js]
        corpora = CorpusService(bench)
        self.session = bench.sessions.open()
        corpora.offer(self.session.id, corpora.read_lines(LINES))
        list(corpora.index(self.session.id, ["text"]))
        self._loop = asyncio.new_event_loop()

    def send(self, function: Any, inputs: list[Any], event: Any) -> None:
        self._loop.run_until_complete(self._send(function, inputs, event))

    async def _send(self, function: Any, inputs: list[Any], event: Any) -> None:
        state = SessionState(self.app)
        for component in function.inputs:
            if isinstance(component, gr.State) and component.value == "":  # the session, and what gets a new value with it
                state[component._id] = self.session.id
        data = gr.EventData(None, event)
        iterator = None
        for _ in range(STEPS):
            result = await self.app.process_api(
                function,
                inputs,
                state=state,
                iterator=iterator,
                session_hash="fuzz",
                event_data=data,
                request=gr.Request(session_hash="fuzz"),
            )
            iterator = result["iterator"]
            if not result["is_generating"]:
                return
        if iterator is not None:
            await iterator.aclose()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "CHECK_SECONDS", 0.1)
        patch.setattr(queries, "SIZES", (200,))
        limits = replace(Limits(), race_seconds=3)
        yield Page(open_workbench(Settings(home=tmp_path_factory.mktemp("home"), device="cpu", limits=limits)))


def ours(error: Exception) -> bool:
    """Whether an error is a fault of this project: one we admitted, or one that came out of our code unhandled."""
    if isinstance(error, gr.Error):
        return OURS in str(error)
    return any("/sbert_app/" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


@pytest.mark.fuzz
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_request_is_our_fault(page, data):
    function = data.draw(st.sampled_from(page.functions), "function")
    inputs = [data.draw(st.one_of(values, st.just(page.session.id)), "input") for _ in function.inputs]
    event = data.draw(values, "event")
    logging.disable(logging.CRITICAL)
    try:
        page.send(function, inputs, event)
    except Exception as error:
        if ours(error):
            raise AssertionError(f"{function.name} with {inputs!r}") from (error.__cause__ or error)
    finally:
        logging.disable(logging.NOTSET)
