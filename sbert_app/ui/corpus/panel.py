"""The panel that hangs from the corpus button: recent, examples, upload or pasted lines; choose text columns, index, export."""

import secrets
from functools import partial
from typing import Any

import gradio as gr

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.mending import MENDS, findings, mended
from sbert_app.corpus.reader import existing, joined
from sbert_app.corpus.text_column import guess_column, looks_like_prose
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.job import unread_table, waiting_table
from sbert_app.jobs.corpus.opening import delete_saved, open_example, open_saved, read_lines, saved_corpora
from sbert_app.runtime import Session, Workbench
from sbert_app.storage import writing
from sbert_app.tables import Table, read_table
from sbert_app.ui.corpus import view
from sbert_app.ui.corpus.panels import CollectionPanel, IndexingPanel
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, sent
from sbert_app.ui.kit.files import Shelf, uploaded
from sbert_app.wording import amount

EMBEDDINGS = {"npy": "Export embeddings as numpy array", "parquet": "Export embeddings as table (parquet)"}
JOINED = "Several columns are joined, in the order of the file."
MENDED = "Only in the copy that is searched. Without a tick nothing is changed."
PREVIEW_ROWS, PREVIEW_LENGTH = 5, 200  # characters of a cell


def corpus_start(bench: Workbench) -> gr.HTML:
    """What a tab shows while no corpus is open. assets/page.js passes its clicks to the corpus panel; style.css hides it later."""
    return gr.HTML(view.start(saved_corpora(bench), bench.settings.hosted), elem_classes="corpus-start", js_on_load=None)


class CorpusPanel:
    """`opened`: a State that changes whenever another corpus is opened, which tells every tab to show it."""

    def __init__(self, bench: Workbench, session: gr.State, model: gr.State, menu: gr.HTML) -> None:
        self._bench, self._shelf = bench, Shelf()
        self._session, self._model, self._menu = session, model, menu
        self.opened = gr.State("")
        with gr.Column(elem_id="corpus-panel"):
            with gr.Row(elem_id="corpus-sources"):
                with gr.Column(scale=1, min_width=300), gr.Tabs():
                    with gr.Tab("Upload"):
                        # No file_types: Gradio's own error stays on top of the box and does not say what to do.
                        self.file = gr.File(label=view.FORMATS, height=170, elem_id="corpus-file", elem_classes="drop-zone")
                    with gr.Tab("Paste"):
                        self.pasted = gr.Textbox(label="One sentence per line", lines=5, max_lines=14, elem_id="pasted")
                        self.use_pasted = gr.Button("Use these lines", size="sm", elem_id="use-pasted")
                with gr.Column(scale=1, min_width=300):
                    self.choices = gr.HTML(view.choices([]), elem_id="corpus-choices", js_on_load=None)
            self.collection = CollectionPanel(bench, session)
            with gr.Column(visible=False, elem_id="choose") as self.choose:
                self.summary = gr.HTML(elem_id="offered", js_on_load=None)
                self.columns = gr.Dropdown(label="Text column(s)", info=JOINED, multiselect=True, elem_id="columns")
                self.mends = gr.CheckboxGroup(label="Mend before reading", info=MENDED, visible=False, elem_id="mends")
                with gr.Row(elem_classes="examples"):
                    self.index = gr.Button("Read", variant="primary", elem_id="index")
                    self.cancel = gr.Button("Cancel", elem_id="index-cancel")
                self.preview = gr.Dataframe(label="First rows", interactive=False, wrap=True, elem_id="preview")
            with gr.Row(visible=False, elem_classes="examples", elem_id="export") as self.export:
                self.other_columns = gr.Button("Choose other columns", size="sm", elem_id="other-columns")
                # A file is made when its first button is pressed; the next click, on the second, downloads it.
                self.makes = {kind: gr.Button(title, size="sm", elem_id=f"make-{kind}") for kind, title in EMBEDDINGS.items()}
                self.downloads = {
                    kind: gr.DownloadButton(f"embeddings.{kind}", size="sm", visible=False, elem_id=f"download-{kind}")
                    for kind in EMBEDDINGS
                }
            progress = gr.HTML(elem_id="progress", js_on_load=None)
            stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="stop")
        self.indexing = IndexingPanel(bench, session, self.index, stop, progress)
        self.notice = self.indexing.notice

    def listen(self, starts: list[gr.HTML]) -> None:
        """Connect events. starts: the choices of corpora that tabs show while none is open."""
        self._starts = starts
        self.shown: list[Any] = [self.opened, self._menu, self.choose, self.choices, *starts]  # what `show` updates
        session, with_model = [self._session], [self._session, self._model]
        self.offered = table = [self.choose, self.summary, self.columns, self.mends, self.preview, self.file, self.index]
        chosen = [*session, self.columns, self.mends]
        uploaded = self.file.upload(handler(self._on_file), [*session, self.file], table, **PRIVATE)
        uploaded.failure(lambda: None, None, self.file, **PRIVATE)  # so that another file can be uploaded
        self.use_pasted.click(handler(self._on_pasted), [*session, self.pasted], table, **PRIVATE)
        self.cancel.click(lambda: gr.Column(visible=False), None, self.choose, **PRIVATE)
        self.other_columns.click(handler(self._on_other_columns), session, table, **PRIVATE)
        self.columns.input(handler(self._on_columns), chosen, table, trigger_mode="always_last", **PRIVATE)
        self.mends.input(handler(self._on_mends), chosen, [self.preview, self.index], trigger_mode="always_last", **PRIVATE)
        self.collection.listen([*self.shown, self.notice], self._on_opening)
        self._menu.picked(handler(self._on_picked), with_model, [*self.shown, self.notice], **PRIVATE)
        self.indexing.listen([self.columns, self.mends], self._model, self.opened, self.shown, self.show)
        exported = [self.export, self.other_columns, *self.downloads.values()]
        self.opened.change(handler(self._on_opened), session, exported, **PRIVATE)
        for kind, button in self.makes.items():
            button.click(handler(partial(self._on_make, kind)), session, self.downloads[kind], **PRIVATE)

    def show(self, session: Session, wanted: str = "") -> Updates:
        """Show the session's corpus in the header, and tell the tabs. wanted: the address's name while none is open."""
        indexed, opened = session.get(IndexedCorpus), secrets.token_hex(4)
        return {
            self.opened: opened if indexed else "",
            self._menu: view.menu(indexed, opened, session.get(OpenCollection), wanted),
            self.choose: gr.Column(visible=unread_table(session) is not None),
            **self._listed(),
        }

    def unread(self, session: Session) -> Updates:
        """After a reload: the file that was uploaded and is not read, if there is one."""
        unread = view.unread(unread_table(session))
        return {**self._on_other_columns(session), self.notice: unread} if unread else {}

    def _listed(self) -> Updates:
        saved = saved_corpora(self._bench)
        return {self.choices: view.choices(saved), **dict.fromkeys(self._starts, view.start(saved, self._bench.settings.hosted))}

    def _on_file(self, session: Session, file: str | None) -> Updates:
        with uploaded(file, "Choose a file.") as path:
            session.put(read_table(path, self._bench.settings.limits))
        return {**self._on_other_columns(session), self.file: None}

    def _on_pasted(self, session: Session, text: str) -> Updates:
        session.put(read_lines(text, self._bench.settings.limits))
        return self._on_other_columns(session)

    def _on_other_columns(self, session: Session) -> Updates:
        """Show the table, to confirm its text columns."""
        table = waiting_table(session)
        column = guess_column(table.frame)
        choices = gr.Dropdown(choices=list(table.frame.columns), value=[column])
        return {**self._on_columns(session, [column], []), self.choose: gr.Column(visible=True), self.columns: choices}

    def _on_columns(self, session: Session, columns: list[str], mends: list[str]) -> Updates:
        """Show what is wrong with the texts of these columns."""
        table = waiting_table(session)
        faults = [*findings(table, existing(table, columns))]
        offered = [*dict.fromkeys(fault.mend for fault in faults if fault.mend)]
        chosen = [mend for mend in mends if mend in offered]
        return {
            self.summary: view.table_summary(table, columns[0], looks_like_prose(table.frame, columns[0]), faults),
            self.mends: gr.CheckboxGroup(choices=[(MENDS[mend], mend) for mend in offered], value=chosen, visible=bool(offered)),
            **self._on_mends(session, columns, chosen),
        }

    def _on_mends(self, session: Session, columns: list[str], mends: list[str]) -> Updates:
        """Show the table as it would be read."""
        table = waiting_table(session)
        columns = existing(table, columns)
        frame = mended(table, columns, mends).frame if mends else table.frame
        filled = int((joined(frame, columns) != "").sum())
        texts_first = [*columns, *frame.columns.drop(columns)]
        preview = frame[texts_first].head(PREVIEW_ROWS).map(lambda cell: html.short(cell, PREVIEW_LENGTH))
        return {self.preview: preview, self.index: gr.Button(f"Read {amount(filled, 'row')}")}

    def _on_picked(self, session: Session, model: str, event: gr.EventData) -> Updates:
        """A corpus was chosen or deleted, here or on a tab without a corpus."""
        match sent(event):
            case {"example": str(name)}:
                open_example(self._bench, session, name, model)
            case {"open": str(corpus_id)}:
                open_saved(self._bench, session, corpus_id)
            case {"delete": str(corpus_id)}:
                delete_saved(self._bench, corpus_id)
                return self._listed()
            case _:
                raise UserError("Choose a corpus from the list.")
        return self._on_opening(session)

    def _on_opening(self, session: Session) -> Updates:
        """A corpus or a collection was opened."""
        return {**self.show(session), self.notice: view.ready(session.get(IndexedCorpus), session.get(OpenCollection))}

    def _on_opened(self, session: Session) -> Updates:
        is_open = (indexed := session.get(IndexedCorpus)) is not None and not indexed.corpus.store
        hidden = {button: gr.DownloadButton(visible=False) for button in self.downloads.values()}
        columns = gr.Button(visible=session.get(Table) is not None)
        return {self.export: gr.Row(visible=is_open), self.other_columns: columns, **hidden}

    def _on_make(self, kind: str, session: Session) -> Any:
        indexed, path = session.whole_corpus(), self._shelf.folder() / f"embeddings.{kind}"
        with writing("The file"):
            indexed.write_embeddings(path)
        return gr.DownloadButton(f"Download {path.name} ({path.stat().st_size / 1e6:.1f} MB)", value=str(path), visible=True)
