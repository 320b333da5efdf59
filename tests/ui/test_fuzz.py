"""Whatever is sent to a handler of the page or to an endpoint: a result, or a sentence; never a fault of ours."""

import logging
import traceback
from dataclasses import replace

import gradio as gr
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sbert_app.errors import OUR_FAULT
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Limits, Settings
from sbert_app.timing import experiment, measurements
from tests.ui.page import Page

HOSTILE = ["", " ", "\0", "\ud800", "‮", "👩‍👩‍👧", "a\n", "..", "/etc/passwd", "=1+1", "x" * 30_000]
MODELS = ["all-MiniLM-L6-v2", "cross-MiniLM-L6-stsb"]
texts = st.one_of(st.text(max_size=40), st.sampled_from(HOSTILE + MODELS), st.text(alphabet=st.characters(), max_size=20))
numbers = st.one_of(st.integers(-3, 20), st.integers(), st.floats(), st.booleans())
scalars = st.one_of(st.none(), numbers, texts)
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)), max_leaves=6
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "CHECK_SECONDS", 0.1)
        patch.setattr(measurements, "SIZES", (200,))
        limits = replace(Limits(), race_seconds=3)
        yield Page(Workbench(Settings(home=tmp_path_factory.mktemp("home"), device="cpu", limits=limits)))


def ours(error: Exception) -> bool:
    """Whether an error is a fault of this project: one we admitted, or one that came out of our code unhandled."""
    if isinstance(error, gr.Error):
        return OUR_FAULT in str(error)
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
