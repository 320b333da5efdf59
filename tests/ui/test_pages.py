"""A page that was visited costs little memory, and keeps what its visitor has."""

import inspect
import tracemalloc
from types import SimpleNamespace

import gradio as gr
import pytest
from gradio.blocks import BlocksConfig

from sbert_app.ui.app import build_app
from sbert_app.ui.gradio_changes import use_lean_pages

MOST_BYTES = 150_000
PAGES = 20


@pytest.fixture(scope="module")
def page(shared_bench):
    return build_app(shared_bench)


def test_a_page_costs_little_and_keeps_its_state(page, monkeypatch):
    page.state_session_capacity = 1_000
    use_lean_pages(server := SimpleNamespace(), page)
    monkeypatch.setattr(BlocksConfig, "config_for_block", lambda *_: pytest.fail("computes what nobody reads"))
    pages = server.state_holder
    state, box = (next(b for b in page.blocks.values() if isinstance(b, kind)) for kind in (gr.State, gr.Textbox))
    pages["first"][state._id] = "mine"
    tracemalloc.start()
    for number in range(PAGES):
        pages[f"page {number}"][box._id] = gr.Textbox(render=False)
        pages[f"page {number}"]._update_value_in_config(box._id, "typed")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / PAGES < MOST_BYTES
    assert pages["first"][state._id] == "mine" and pages["page 1"][state._id] == state.value


def test_what_carries_data_never_waits_for_the_last(page):
    """Gradio's page would send what came with the event before: two filters of three that were ticked quickly were lost."""
    functions = [function for function in page.fns.values() if function.fn]
    carrying = [function for function in functions if "event" in inspect.signature(function.fn).parameters]
    assert len(carrying) > 10
    assert [function.name for function in carrying if function.trigger_mode == "always_last"] == []
