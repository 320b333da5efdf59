"""Build the page: a bar with corpus and model, one tab per feature, and the API endpoints."""

import secrets
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from sbert_app.jobs import JOBS
from sbert_app.runtime.sessions import SessionKey
from sbert_app.runtime.workbench import Workbench
from sbert_app.serve.routes import routes
from sbert_app.ui.arrival import Arrival
from sbert_app.ui.corpus.panel import CorpusPanel
from sbert_app.ui.duplicates import tab as duplicates
from sbert_app.ui.evaluation import tab as evaluation
from sbert_app.ui.fine_tune import tab as fine_tune
from sbert_app.ui.header import LOGO, TITLE, ModelPicker
from sbert_app.ui.kit.endpoints import add_endpoint
from sbert_app.ui.kit.events import PRIVATE, handler
from sbert_app.ui.map.tab import MapTab
from sbert_app.ui.middleware import Guard
from sbert_app.ui.search.tab import SearchTab
from sbert_app.ui.similarity import tab as similarity
from sbert_app.ui.theme import STYLE, build_theme, page_head
from sbert_app.ui.timing import tab as timing

CLEAN_SECONDS = 3600
QUICK_AT_ONCE = 16  # concurrent quick requests of one kind; heavy jobs wait in the lines of the workbench
MOST_QUEUED = 1_000
# Gradio looks for requests 1,000 times a second, and 100 times for `gr.Progress`, unused here: 4 % of a core for nothing.
POLL_SECONDS, PROGRESS_SECONDS = 0.005, 1.0
PAGES_KEPT = 5_000  # Gradio keeps the state of this many pages and clients, most recent first
THREADS = 128  # a waiting job holds a thread: more than jobs may wait, so that quick requests always get one


def build_app(bench: Workbench) -> gr.Blocks:
    """Build the page on a workbench, without launching it."""
    app: gr.Blocks
    with gr.Blocks(title=TITLE, analytics_enabled=False, delete_cache=(CLEAN_SECONDS, CLEAN_SECONDS)) as app:
        session = gr.State(SessionKey(bench.sessions))
        # Hosted: the owner of training runs, a secret stored in the browser, so that a reload finds the run again.
        owner = gr.BrowserState("", storage_key="sbert-studio-owner") if bench.settings.hosted else gr.State("")
        picker = ModelPicker(bench)
        model = picker.in_use
        corpus = CorpusPanel(bench, session, model, picker.menu)
        opened = corpus.opened
        tabs = {}
        with gr.Tabs(elem_id="tabs", overflow_behavior="wrap") as all_tabs:
            with gr.Tab("Similarity", id="similarity") as tabs["similarity"]:
                similarity.build(bench, session, model, opened)
            with gr.Tab("Search", id="search") as tabs["search"]:
                search = SearchTab(bench, session, opened)
            with gr.Tab("Duplicates", id="duplicates") as tabs["duplicates"]:
                start, found = duplicates.build(bench, session, opened)
            with gr.Tab("Map", id="map") as tabs["map"]:
                corpus_map = MapTab(bench, session, model)
                corpus_map.listen(opened, tabs["map"])
                search.listen(opened, corpus_map.panel.selection)
            with gr.Tab("Fine-tune", id="fine-tune") as tabs["fine-tune"]:
                panel, labels = fine_tune.build(bench, session, owner, picker, opened)
                found.take_threshold(labels)
            with gr.Tab("Timing", id="timing") as tabs["timing"]:
                timing.build(bench, session, model, opened, tabs["timing"])
            with gr.Tab("Evaluation", id="evaluation") as tabs["evaluation"]:
                evaluation.build(bench, session, model, tabs["evaluation"])
        for job in JOBS:
            add_endpoint(job, bench)
        corpus.listen([search.start, start])
        Arrival(bench, picker, corpus, tabs, all_tabs).listen(app, session, search.query)

        def leave(request: gr.Request) -> None:
            bench.sessions.leave(request.session_hash or "")

        def ensure_owner(owner: str) -> str:
            return owner or (secrets.token_urlsafe(32) if bench.settings.hosted else "")

        # With the queue: without it Gradio does not send changed State to the page.
        app.load(ensure_owner, owner, owner, **PRIVATE).then(handler(panel.attach_live), owner, panel.outputs, **PRIVATE)
        app.unload(leave)
    app.queue(default_concurrency_limit=QUICK_AT_ONCE, max_size=MOST_QUEUED)
    app._queue.sleep_when_free, app._queue.progress_update_sleep_when_free = POLL_SECONDS, PROGRESS_SECONDS
    return app


def launch_options(bench: Workbench) -> dict[str, Any]:
    """Arguments of `launch`, besides address and port."""
    return {
        "theme": build_theme(),
        "css_paths": [STYLE],
        "head": page_head(),
        "favicon_path": LOGO,
        "max_file_size": bench.settings.limits.file_bytes,
        "max_threads": THREADS,
        "state_session_capacity": PAGES_KEPT,
        "run_history": False,  # it would copy inputs and outputs to the browser's storage
        "footer_links": ["api"],
        "ssr_mode": False,
        "enable_monitoring": False,
        "mcp_server": bench.settings.mcp,
        "num_workers": 0,  # other processes would serve files and accept uploads without the middleware below
        "app_kwargs": {
            "middleware": [Middleware(Guard, settings=bench.settings)],
            "routes": routes(bench),
        },
    }
