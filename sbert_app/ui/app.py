"""The page: a header with the model picker, one tab per job, the API beside them."""

from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services.corpora import CorpusService
from sbert_app.services.search import SearchService
from sbert_app.services.similarity import SimilarityService
from sbert_app.services.workbench import Workbench
from sbert_app.ui import api
from sbert_app.ui.tabs import search, similarity
from sbert_app.ui.theme import STYLE, build_theme

TITLE = "SBERT Studio"
LOGO = Path(__file__).resolve().parents[2] / "assets" / "logo.svg"
CLEAN_SECONDS = 3600
BRAND = '<div class="brand">{logo}<div><h1>{title}</h1><p>Sentence-BERT you can touch</p></div></div>'


def build_app(bench: Workbench) -> gr.Blocks:
    """Draw the page over a workbench. Nothing is launched."""
    app: gr.Blocks
    with gr.Blocks(title=TITLE, analytics_enabled=False, delete_cache=(CLEAN_SECONDS, CLEAN_SECONDS)) as app:
        session_id = gr.State("")
        opened = gr.State("")  # gets a new value each time the session has another corpus
        model = _header(bench)
        with gr.Tabs(elem_id="tabs"):
            with gr.Tab("Similarity", id="similarity"):
                similarity.build(SimilarityService(bench), session_id, model, opened)
            with gr.Tab("Search", id="search"):
                search.build(CorpusService(bench), SearchService(bench), session_id, model, opened)
        api.build(bench)

        def open_session(request: gr.Request) -> str:
            return bench.sessions.open(request.session_hash or "").id

        def leave(request: gr.Request) -> None:
            bench.sessions.leave(request.session_hash or "")

        app.load(open_session, None, session_id, show_progress="hidden", api_visibility="private")
        app.unload(leave)
    return app


def launch_options(bench: Workbench) -> dict[str, Any]:
    """What `launch` gets besides address and port."""
    return {
        "theme": build_theme(),
        "css_paths": [STYLE],
        "favicon_path": LOGO,
        "max_file_size": bench.settings.limits.file_bytes,
        "run_history": False,  # would copy inputs and outputs into the browser's storage
        "footer_links": ["api"],
        "ssr_mode": False,
    }


def _header(bench: Workbench) -> gr.State:
    """Draw the header. Returns the name of the model that is in use: one that was loaded, never a name just typed."""
    names = [info.name for info in bench.registry.list() if info.kind == "encoder" and info.available]
    custom = not bench.settings.hosted
    in_use = gr.State(DEFAULT_ENCODER)
    with gr.Row(elem_id="header", equal_height=True):
        gr.HTML(BRAND.format(logo=LOGO.read_text(encoding="utf-8"), title=TITLE), js_on_load=None)
        picker = gr.Dropdown(
            names,
            value=DEFAULT_ENCODER,
            label="Model",
            info=f"Runs on {bench.registry.hardware}." + (" Type a Hub name or a folder for another." if custom else ""),
            allow_custom_value=custom,
            filterable=custom,
            elem_id="model",
        )
    note = gr.HTML(elem_id="model-note", js_on_load=None)

    def on_pick(name: str, in_use: str) -> tuple[str, str, Any]:
        try:
            encoder = bench.registry.encoder(name)
        except UserError as error:
            gr.Warning(str(error), title="Model not changed")
            return in_use, in_use, gr.skip()
        facts = f"{encoder.name}: {encoder.dim} dimensions, up to {encoder.max_length} tokens. {encoder.note}"
        return name, name, "" if name == DEFAULT_ENCODER else f'<p class="model-note">{escape(facts)}</p>'

    picker.input(on_pick, [picker, in_use], [picker, in_use, note], api_visibility="private")
    return in_use
