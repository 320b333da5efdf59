"""Build the page: a bar with corpus and model, one tab per feature, the API endpoints; its scripts and theme."""

import secrets
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from sbert_app.jobs import JOBS
from sbert_app.runtime.sessions import SessionKey
from sbert_app.runtime.workbench import Workbench
from sbert_app.serve.health import health_routes
from sbert_app.serve.routes import routes
from sbert_app.settings import ASSETS, Settings
from sbert_app.ui.arrival import Arrival
from sbert_app.ui.corpus.panel import CorpusPanel
from sbert_app.ui.duplicates.tab import DuplicatesTab
from sbert_app.ui.evaluation.tab import EvaluationTab
from sbert_app.ui.fine_tune.tab import FineTuneTab
from sbert_app.ui.gradio_changes import no_server, take_turns
from sbert_app.ui.guard import Guard
from sbert_app.ui.header import LOGO, TITLE, ModelPicker
from sbert_app.ui.kit.endpoints import add_endpoint
from sbert_app.ui.kit.events import PRIVATE, handler, visitor_of
from sbert_app.ui.kit.html import render
from sbert_app.ui.login import Door, check_login, login_options, quota_route
from sbert_app.ui.map.tab import MapTab
from sbert_app.ui.search.tab import SearchTab
from sbert_app.ui.similarity import tab as similarity
from sbert_app.ui.timing.tab import TimingTab

CLEAN_SECONDS = 3600
QUICK_AT_ONCE = 16  # concurrent quick requests of one kind; heavy jobs wait in the lines of the workbench
QUICK_OF_ONE = 2  # of one visitor: eight took as long for 200 comparisons, and another visitor waits for those on their way
MOST_QUEUED = 1_000
# Gradio looks for requests 1,000 times a second, and 100 times for `gr.Progress`, unused here: 4 % of a core for nothing.
POLL_SECONDS, PROGRESS_SECONDS = 0.005, 1.0
PAGES_KEPT = 5_000  # Gradio keeps the state of this many pages and clients, most recent first
THREADS = 128  # a waiting job holds a thread: more than jobs may wait, so that quick requests always get one
SCRIPTS = tuple(ASSETS / f"{name}.js" for name in ("page", "bar", "map_names", "take_home", "present", "keep_session", "tour"))
ACCENT = "#0f766e"  # SBERT's colour on the page; figures use a lighter teal, readable on light and dark

SHADES = {  # on a light and on a dark page
    "body_background_fill": ("#fafaf9", "#131316"),
    "block_background_fill": ("#ffffff", "#1b1b1f"),
    "panel_background_fill": ("#ffffff", "#1b1b1f"),  # of the page to log in at
    "block_label_background_fill": ("transparent", "transparent"),
    "block_info_text_color": ("#5f5f68", "#a5a5b0"),
    "block_label_text_color": ("#4a4a52", "#c4c4cc"),
    "block_title_text_color": ("#4a4a52", "#c4c4cc"),
    "button_primary_background_fill": (ACCENT, ACCENT),
    "button_primary_background_fill_hover": ("#115e59", "#115e59"),
    "button_primary_border_color": (ACCENT, ACCENT),
    "button_secondary_background_fill": ("#ffffff", "#1b1b1f"),
    "button_secondary_background_fill_hover": ("#f1f1f0", "#2b2b31"),
    "button_secondary_border_color": ("#d4d4d8", "#3f3f46"),
    "input_background_fill": ("#f6f6f5", "#26262b"),
    "input_placeholder_color": ("#6b6b74", "#9a9aa5"),
    "link_text_color": (ACCENT, "#5eead4"),
}


@no_server()
def build_app(bench: Workbench) -> gr.Blocks:
    """Build the page on a workbench, without launching it. Raises UserError where its login cannot work."""
    check_login(bench.settings)
    app: gr.Blocks
    bench.device.tell = gr.Warning
    with gr.Blocks(title=TITLE, analytics_enabled=False, delete_cache=(CLEAN_SECONDS, CLEAN_SECONDS)) as app:
        session = gr.State(SessionKey(bench.sessions))
        # Hosted: the owner of training runs, a secret stored in the browser, so that a reload finds the run again.
        owner = gr.BrowserState("", storage_key="sbert-studio-owner") if bench.settings.hosted else gr.State("")
        picker = ModelPicker(bench)
        model = picker.in_use
        corpus = CorpusPanel(bench, session, model, picker.menu)
        tabs = {}
        with gr.Tabs(elem_id="tabs", overflow_behavior="wrap") as all_tabs:
            with gr.Tab("Similarity", id="similarity") as tabs["similarity"]:
                pair = similarity.build(bench, session, model)
            with gr.Tab("Search", id="search") as tabs["search"]:
                search = SearchTab(bench, session, corpus.opened)
            with gr.Tab("Duplicates", id="duplicates") as tabs["duplicates"]:
                duplicates = DuplicatesTab(bench, session)
                duplicates.listen(corpus.opened)
            with gr.Tab("Map", id="map") as tabs["map"]:
                corpus_map = MapTab(bench, session, model)
                corpus_map.listen(corpus.opened, tabs["map"])
                pair.listen(session, model, search.listen(corpus_map.panel.selection).then)
            with gr.Tab("Fine-tune", id="fine-tune") as tabs["fine-tune"]:
                fine_tune = FineTuneTab(bench, session, owner, picker)
                fine_tune.listen(corpus.opened)
                duplicates.take_threshold(fine_tune.data.labels.card)
            with gr.Tab("Timing", id="timing") as tabs["timing"]:
                TimingTab(bench, session, model).listen(corpus.opened, tabs["timing"])
            with gr.Tab("Evaluation", id="evaluation") as tabs["evaluation"]:
                EvaluationTab(bench, session, model).listen(tabs["evaluation"])
        for job in JOBS:
            add_endpoint(job, bench)
        corpus.listen([search.start, duplicates.start])
        Arrival(bench, picker, corpus, tabs).listen(app, all_tabs, session, search.query)

        def leave(request: gr.Request) -> None:
            bench.sessions.leave(request.session_hash or "")

        def ensure_owner(owner: str) -> str:
            return owner or (secrets.token_urlsafe(32) if bench.settings.hosted else "")

        # With the queue: without it Gradio does not send changed State to the page.
        runs = fine_tune.panel
        live = app.load(ensure_owner, owner, owner, **PRIVATE).then(handler(runs.attach_live), owner, runs.outputs, **PRIVATE)
        last = live.then(handler(fine_tune.attach_again, early=True), [session, owner, runs.run_id], runs.outputs, **PRIVATE)
        runs.compare_after(last)
        app.unload(leave)
    app.queue(default_concurrency_limit=QUICK_AT_ONCE, max_size=MOST_QUEUED)
    take_turns(app, QUICK_OF_ONE, lambda event: visitor_of(gr.Request(event.request, session_hash=event.session_hash)).key)
    app._queue.sleep_when_free, app._queue.progress_update_sleep_when_free = POLL_SECONDS, PROGRESS_SECONDS
    return app


def launch_options(bench: Workbench) -> dict[str, Any]:
    """Arguments of `launch`, besides address and port."""
    return {
        "theme": build_theme(),
        "css_paths": [ASSETS / "style.css"],
        **login_options(bench.settings),
        "head": page_head(bench.settings),
        "favicon_path": LOGO,
        "max_file_size": bench.settings.limits.file_bytes,
        "max_threads": THREADS,
        "state_session_capacity": PAGES_KEPT,
        "share": False,  # whatever GRADIO_SHARE is
        "run_history": False,  # it would copy inputs and outputs to the browser's storage
        "footer_links": ["api"],
        "ssr_mode": False,
        "enable_monitoring": False,
        "mcp_server": bench.settings.mcp,
        "num_workers": 0,  # other processes would serve files and accept uploads without the guard below
        "app_kwargs": {
            "middleware": [Middleware(Guard, settings=bench.settings), Middleware(Door, bench=bench)],
            "routes": [*routes(bench), *health_routes(bench), quota_route(bench)],
        },
    }


def page_head(settings: Settings) -> str:
    """The page's scripts, and the empty page that keep_session.js fills in, as text that the browser does not read."""
    scripts = "".join(f"<script>{script.read_text(encoding='utf-8')}</script>" for script in SCRIPTS)
    empty = render("session_page.html", title="", source="")
    reset = f'<meta name="studio-reset" content="{settings.reset_minutes}">' if settings.hosted and settings.reset_minutes else ""
    return f'{reset}{scripts}<script type="text/plain" id="session-page">{empty}</script>'


def build_theme() -> gr.themes.Base:
    """IBM Plex, teal and greys; fonts that Gradio includes, so that nothing is loaded from other hosts. style.css has the rest."""
    theme = gr.themes.Base(
        primary_hue=gr.themes.colors.teal,
        secondary_hue=gr.themes.colors.teal,
        neutral_hue=gr.themes.colors.zinc,
        # Not weight 600: Gradio's SemiBold file of Plex Sans lacks some letters.
        font=[gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)), "system-ui", "sans-serif"],
        font_mono=[gr.themes.LocalFont("IBM Plex Mono"), "ui-monospace", "monospace"],
        radius_size=gr.themes.sizes.radius_md,
    )
    shades = {f"{name}{end}": shade for name, pair in SHADES.items() for end, shade in zip(("", "_dark"), pair, strict=True)}
    return theme.set(**shades, color_accent=ACCENT, button_border_width="1px")
