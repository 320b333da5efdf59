"""Buttons to download the open corpus's embeddings, as an array or as a table."""

from typing import Any

import gradio as gr

from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.files import Shelf

FILES = {"embeddings.npy": "as numpy array", "embeddings.parquet": "as table (parquet)"}


class ExportPanel:
    """Components and event handlers. A file is made when its button is pressed; the next click downloads it."""

    def __init__(self, corpora: CorpusService, session_id: gr.State) -> None:
        self._corpora, self._session_id = corpora, session_id
        self._shelf = Shelf()
        with gr.Row(visible=False, elem_classes="examples", elem_id="export") as self.row:
            self.columns = gr.Button("Choose other columns", size="sm", elem_id="other-columns")
            self.makes = {
                name: gr.Button(f"Export embeddings {title}", size="sm", elem_id=f"make-{name.partition('.')[2]}")
                for name, title in FILES.items()
            }
            self.downloads = {
                name: gr.DownloadButton(name, size="sm", visible=False, elem_id=f"download-{name.partition('.')[2]}")
                for name in FILES
            }

    def listen(self, opened: gr.State) -> None:
        """opened: changes whenever another corpus is opened."""
        opened.change(handler(self._on_opened), self._session_id, [self.row, self.columns, *self.downloads.values()], **PRIVATE)
        for name, button in self.makes.items():
            button.click(handler(self._on_make(name)), self._session_id, self.downloads[name], **PRIVATE)

    def _on_opened(self, session_id: str) -> Updates:
        is_open = (indexed := self._corpora.current(session_id)) is not None and not indexed.corpus.store
        hidden = {button: gr.DownloadButton(visible=False) for button in self.downloads.values()}
        return {
            self.row: gr.Row(visible=is_open),
            self.columns: gr.Button(visible=self._corpora.has_table(session_id)),
            **hidden,
        }

    def _on_make(self, name: str) -> Any:
        def on_make(session_id: str) -> Any:
            path = self._shelf.folder() / name
            self._corpora.export(session_id, path)
            return gr.DownloadButton(f"Download {name} ({path.stat().st_size / 1e6:.1f} MB)", value=str(path), visible=True)

        return on_make
