"""The bar on top: logo, corpus menu, the picker of the model that all tabs use, "?" and "⋯"; and dropdowns that choose a scorer."""

from collections.abc import Iterable
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.errors import UserError
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.files.listing import DESIGNS, ModelInfo
from sbert_app.models.files.trained_for import LIKENESS, in_words
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import ASSETS, BASIC, HUGGING_FACE
from sbert_app.ui.corpus.view import menu as corpus_menu
from sbert_app.ui.kit.html import render

TITLE = "SBERT Studio"
LOGO = ASSETS / "logo.svg"
LOADING = "Loading the model."
TEMPORARY = "The data folder is not writable: what you save is lost when the app ends. Set SBERT_STUDIO_HOME to another folder."

# assets/page.js passes clicks on corpora, on any tab, to the menu, whose custom event is "picked".
MENU_SCRIPT = "studio.pick = corpus => trigger('picked', corpus); studio.follow(element);"


class ModelPicker:
    """The header. `in_use`: the name of the loaded model, never one just typed. `menu`: the button that opens the corpus panel."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        custom = not bench.settings.hosted
        self.in_use = gr.State(DEFAULT_ENCODER)
        with gr.Row(elem_id="header"):
            gr.HTML(render("header.html", title=TITLE), js_on_load=None)
            self.menu = gr.HTML(corpus_menu(None, ""), elem_id="corpus-menu", js_on_load=MENU_SCRIPT)
            # The registry would list them, but it imports torch: the page would come two seconds later. `refresh` asks it.
            names = [DEFAULT_ENCODER, *bench.settings.allowed_models, *DESIGNS]
            self._picker = gr.Dropdown(
                names, value=DEFAULT_ENCODER, label="Model", info=LOADING, allow_custom_value=custom, filterable=custom,
                elem_id="model", elem_classes="custom" if custom else None,
            )  # fmt: skip
            if bench.settings.login == HUGGING_FACE:
                gr.LoginButton("Sign in", "Log out ({})", size="sm", min_width=90, elem_id="login")
            gr.HTML(render("what_is_this.html", logout=bench.settings.login == BASIC), elem_id="what-is-this", js_on_load=None)
        if bench.settings.temporary and not bench.settings.hosted:
            gr.HTML(Markup('<p role="alert">{}</p>').format(TEMPORARY), elem_id="temporary", elem_classes="notice", js_on_load=None)
        self._note = gr.HTML(elem_id="model-note", elem_classes="notice", js_on_load=None)
        self.outputs = [self._picker, self.in_use, self._note]  # what `use` updates
        self._picker.input(self._on_pick, [self._picker, self.in_use], self.outputs, api_visibility="private")

    def names(self) -> list[str]:
        """The encoders available without a download."""
        return list(self._bench.registry.encoders(untrained=True))

    def refresh(self) -> dict[Any, Any]:
        """Update the list, as models are saved while the app runs, and what they run on."""
        return {self._picker: gr.Dropdown(choices=self.names(), info=self._place(DEFAULT_ENCODER))}

    def listed(self) -> dict[Any, Any]:
        """Update the list alone: a model was saved that is not to be used at once."""
        return {self._picker: gr.Dropdown(choices=self.names())}

    def use(self, name: str) -> dict[Any, Any]:
        """Use a model in all tabs. Raises UserError if it cannot be loaded."""
        encoder = self._bench.registry.encoder(name)
        facts = f"{encoder.name}: {encoder.dim} dimensions, up to {encoder.max_length} tokens. {encoder.note}"
        note = Markup() if name == DEFAULT_ENCODER and not encoder.note else Markup('<p title="{0}">{0}</p>').format(facts)
        picker = gr.Dropdown(choices=list(dict.fromkeys([*self.names(), name])), value=name, info=self._place(name))
        return {self._picker: picker, self.in_use: name, self._note: note}

    def _place(self, name: str) -> str:
        custom = "" if self._bench.settings.hosted else " Or type a Hub name or a folder."
        return f"On {self._bench.registry.runs_on(name)}.{custom}"

    def _on_pick(self, name: str, in_use: str) -> dict[Any, Any]:
        try:
            return self.use(name)
        except UserError as error:
            gr.Warning(str(error), title="Model not changed")
            return {self._picker: in_use, self.in_use: in_use}


def scorer_label(name: str, trained_for: str) -> str:
    """A cross-encoder or poly-encoder, with what it was trained for."""
    return f"{name} · {in_words(trained_for)}"


# Before torch is imported, and with it the registry that lists the others.
SCORERS_AT_FIRST = [(scorer_label(DEFAULT_CROSS_ENCODER, LIKENESS), DEFAULT_CROSS_ENCODER)]


def scorer_choices(models: Iterable[ModelInfo]) -> list[tuple[str, str]]:
    """The choices of a dropdown, label and name; encoders, which score no pairs, by their names alone."""
    return [(info.name if info.kind == "encoder" else scorer_label(info.name, info.trained_for), info.name) for info in models]


def second_opinion(elem_id: str) -> gr.Dropdown:
    """A dropdown that chooses who else scores pairs."""
    return gr.Dropdown(
        SCORERS_AT_FIRST, label="Cross-encoder for a second opinion", allow_custom_value=True, min_width=280, elem_id=elem_id
    )
