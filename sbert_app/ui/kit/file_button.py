"""A button that makes a file and downloads it, with one click."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from sbert_app.ui.kit.events import PRIVATE, busy, handler, no_longer_busy
from sbert_app.ui.kit.shelf import Shelf

# Gradio's DownloadButton downloads what was made before its click; this one downloads what its click has made.
DOWNLOAD = """file => {
  if (!file?.url) return;
  const link = Object.assign(document.createElement('a'), {href: file.url, download: file.orig_name});
  document.body.append(link);
  link.click();
  link.remove();
}"""


class FileButton:
    """A button, and the file that it made last, which is not shown."""

    def __init__(self, name: str, elem_id: str, visible: bool = True) -> None:
        self.name = name
        self._shelf = Shelf()
        self.button = gr.Button(f"Download {name}", size="sm", elem_id=elem_id, visible=visible)
        self._file = gr.File(visible=False, label=name, elem_id=f"{elem_id}-file")

    def listen(self, content: Callable[..., str], inputs: list[Any]) -> None:
        """At a click download the text that `content` makes of the inputs."""

        def make(*values: Any) -> str:
            (path,) = self._shelf.put({self.name: content(*values)})
            return str(path)

        elem_id = str(self.button.elem_id)
        made = self.button.click(handler(make), inputs, self._file, **busy(elem_id))
        made.success(None, self._file, None, js=DOWNLOAD, **PRIVATE)
        no_longer_busy(made, elem_id)

    def labelled(self, amount: str, visible: bool = True) -> Any:
        """The button with the amount that its file will hold."""
        return gr.Button(f"Download {self.name} ({amount})", visible=visible)
