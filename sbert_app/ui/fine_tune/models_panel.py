"""The fold with the models that were saved under a name: each can be used, or deleted."""

from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.errors import UserError
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.models.files.listing import ModelInfo
from sbert_app.runtime.workbench import Workbench
from sbert_app.ui.header import ModelPicker, scorer_label
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, sent

NONE_SAVED = "No saved models yet. A verdict offers to save the model that was trained."
# assets/page.js opens and closes the question before a card is deleted, as in the list of corpora.
SCRIPT = """element.addEventListener('click', event => {
  const { model, name } = event.target.closest('[data-model]')?.dataset ?? {};
  if (model) trigger('picked', {[model]: name});
});"""
CARD = Markup(
    '<li class="card"><button type="button" data-model="use" data-name="{name}" aria-label="Use {name}"{disabled}><b>{name}</b>'
    '<span>{facts}</span></button><button type="button" class="small" data-corpus="ask" aria-label="Delete {name}">Delete</button>'
    '<p class="ask" role="alert">Delete {name} from this machine? A corpus that it has indexed has to be indexed again. '
    '<button type="button" class="small danger" data-model="delete" data-name="{name}">Delete</button> '
    '<button type="button" class="small" data-corpus="cancel">Keep</button></p></li>'
)


class SavedModels:
    """A hosted app saves none, and shows no fold."""

    def __init__(self, bench: Workbench, picker: ModelPicker) -> None:
        self._bench, self._picker = bench, picker
        with gr.Accordion("Saved models", open=False, visible=not bench.settings.hosted, elem_id="saved-models") as fold:
            self._list = gr.HTML(elem_id="saved-model-list", js_on_load=SCRIPT)
        fold.expand(handler(self._listed), None, self._list, **PRIVATE)
        self._list.picked(handler(self._on_picked), picker.in_use, [self._list, *picker.outputs], **PRIVATE)

    def _listed(self) -> Markup:
        return cards([info for info in self._bench.registry.list() if info.origin == "saved"])

    def _on_picked(self, in_use: str, event: gr.EventData) -> Updates:
        match sent(event):
            case {"use": str(name)}:
                return self._picker.use(name)
            case {"delete": str(name)}:
                self._bench.registry.delete(name)
                shown: dict[Any, Any] = self._picker.use(DEFAULT_ENCODER) if name == in_use else self._picker.listed()
                return {self._list: self._listed(), **shown}
        raise UserError("Choose a model from the list.")


def cards(models: list[ModelInfo]) -> Markup:
    if not models:
        return html.empty(NONE_SAVED)
    return Markup('<ul class="cards">{}</ul>').format(Markup().join(map(_card, models)))


def _card(info: ModelInfo) -> Markup:
    kind = {"damaged": "damaged, can only be deleted", "cross-encoder": scorer_label(info.kind, info.trained_for)}.get(info.kind)
    facts = " · ".join(filter(None, (kind or info.kind, f"{info.dim} dimensions" if info.dim else "")))
    usable = info.kind == "encoder" and info.available
    return CARD.format(name=info.name, facts=facts, disabled="" if usable else Markup(" disabled"))
