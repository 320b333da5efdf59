"""A page that is opened or reloaded: its address names tab, corpus, query and filters. The browser tab remembers its session, whose
id is a secret and never in the address: a reload resumes it, with the map and everything else that it holds."""

import json
from dataclasses import dataclass
from typing import Any

import gradio as gr

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.jobs import open_collection
from sbert_app.jobs.corpus.opening import open_key
from sbert_app.runtime import Session, Workbench
from sbert_app.runtime.sessions import SessionKey
from sbert_app.ui.corpus import view
from sbert_app.ui.corpus.panel import CorpusPanel
from sbert_app.ui.header import ModelPicker
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, visitor_of
from sbert_app.ui.search.panels import AddressFilters

# assets/page.js
READ, KEEP = "(place, model) => [studio.read(), model]", "names => studio.keep(...names.split(' '))"
ARRIVE = "() => studio.arrive()"
LONGEST = 4_000  # characters of a value from the address


@dataclass(frozen=True)
class ChosenModel:
    """The model chosen in a session's header."""

    name: str


@dataclass(frozen=True)
class Place:
    """Where a page was: values of the address, the session of its browser tab. "" where there is none."""

    tab: str = ""
    corpus: str = ""
    query: str = ""
    filters: str = ""
    session: str = ""
    left_by: str = ""  # the connection by which the page was left
    kept: str = ""  # the corpus that the page itself put in the address

    @classmethod
    def read(cls, text: Any) -> "Place":
        """Read the JSON of assets/page.js; whatever is not as expected counts as absent."""
        try:
            values = json.loads(text) if isinstance(text, str) else {}
        except ValueError:
            values = {}
        names = cls.__dataclass_fields__ if isinstance(values, dict) else ()
        return cls(**{name: values[name] for name in names if isinstance(values.get(name), str) and len(values[name]) <= LONGEST})


class Arrival:
    """Connects the page's load event. tabs: their components by id."""

    def __init__(self, bench: Workbench, picker: ModelPicker, panel: CorpusPanel, tabs: dict[str, gr.Tab]) -> None:
        self._bench, self._picker, self._panel, self._tabs = bench, picker, panel, tabs
        self._place = gr.Textbox(visible=False)

    def listen(self, app: gr.Blocks, all_tabs: gr.Tabs, key: gr.State, query: gr.Textbox) -> None:
        """query: the Search tab's, filled in from the address."""
        self._all_tabs, self._key, self._query = all_tabs, key, query
        model = self._picker.in_use
        # The session comes at once, so that a click in the first second is served; loading the model may take several.
        place = [key, self._place, query, all_tabs]
        arrived = app.load(handler(self._on_arrival), [self._place, model], place, js=READ, **PRIVATE)
        outputs = [*self._picker.outputs, *self._panel.shown, *self._panel.offered[1:], self._panel.notice]
        arrived.then(None, self._place, None, js=KEEP, **PRIVATE)
        arrived.then(handler(self._restore), [key, model], outputs, **PRIVATE).then(None, None, None, js=ARRIVE, **PRIVATE)
        model.change(handler(self._on_model), [key, model], None, **PRIVATE)
        for name, tab in self._tabs.items():
            tab.select(None, self._panel.notice, self._panel.notice, js=f"line => studio.selected('{name}', line)", **PRIVATE)

    def _on_arrival(self, text: str, _: str, request: gr.Request) -> Updates:
        place, bench = Place.read(text), self._bench
        visitor = visitor_of(request)
        session = bench.sessions.resume(place.session, visitor, place.left_by) or bench.sessions.open(visitor)
        session.put(place)
        session.put(AddressFilters.read(place.corpus, place.query, place.filters))
        updates: Updates = {self._key: SessionKey(bench.sessions, session.id), self._place: f"{session.id} {visitor.connection}"}
        if place.query:
            updates[self._query] = place.query
        if place.tab in self._tabs:
            updates[self._all_tabs] = gr.Tabs(selected=place.tab)
        return updates

    def _restore(self, session: Session, model: str) -> Updates:
        place, updates = session.get(Place) or Place(), self._model(session, model)
        if session.get(IndexedCorpus) is None or place.corpus not in ("", place.kept):  # no reload, but a bookmark
            opened = open_collection.open_key(self._bench, session, place.corpus)
            found = opened or open_key(self._bench, session, place.corpus, model)
            if place.corpus and not found:
                updates[self._panel.notice] = view.missing(place.corpus, self._bench.settings.hosted)
        return updates | self._panel.show(session, place.corpus) | self._panel.unread(session)

    def _model(self, session: Session, model: str) -> Updates:
        """The model chosen before the reload, if it can still be loaded."""
        chosen = session.get(ChosenModel)
        try:
            return self._picker.use(chosen.name if chosen else model)
        except UserError:
            return self._picker.refresh()

    def _on_model(self, session: Session, model: str) -> None:
        session.put(ChosenModel(model))
