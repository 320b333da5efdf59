"""Files of visitors: uploads are deleted soon after they are read, downloads are kept until Gradio has copied them."""

import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.errors import UserError
from sbert_app.ui.kit.events import PRIVATE, dimming, handler

# Not at once: Gradio stores identical uploads of two visitors as one file, which the second may not have read yet.
KEPT_SECONDS = 60.0
FOLDERS_KEPT = 8
# Gradio's DownloadButton downloads what was made before its click; this one downloads what its click has made.
DOWNLOAD = """file => {
  if (!file?.url) return;
  const link = Object.assign(document.createElement('a'), {href: file.url, download: file.orig_name});
  document.body.append(link);
  link.click();
  link.remove();
}"""


@contextmanager
def uploaded(file: str | None, message: str) -> Iterator[Path]:
    """Yield an upload's path and delete the file later. Raises UserError with this message if no file was sent."""
    if not file:
        raise UserError(message)
    path = Path(file)
    if not path.is_file():
        raise UserError("The uploaded file was already read and deleted. Choose the file again.")
    try:
        yield path
    finally:
        delete_later(path, KEPT_SECONDS)


def delete_later(path: Path, kept: float) -> None:
    """Delete a file once `kept` seconds have gone by without a new upload of it."""

    def work() -> None:
        left = kept
        with suppress(OSError):  # deleted meanwhile
            while left > 0:
                time.sleep(left)
                left = path.stat().st_mtime + kept - time.time()
            path.unlink()

    threading.Thread(target=work, daemon=True).start()


class Shelf:
    """The last temporary folders, for all visitors: only the visitor who gets a path can open it."""

    def __init__(self, kept: int = FOLDERS_KEPT) -> None:
        self._folders: deque[tempfile.TemporaryDirectory[str]] = deque(maxlen=kept)

    def folder(self) -> Path:
        """Create an empty folder."""
        self._folders.append(tempfile.TemporaryDirectory(prefix="sbert-studio-"))
        return Path(self._folders[-1].name)

    def put(self, name: str, text: str) -> Path:
        """Write a text to a file in a new folder."""
        path = self.folder() / name
        path.write_text(text, encoding="utf-8", newline="")
        return path


class FileButton:
    """A button that makes a file and downloads it, with one click. The file itself is not shown."""

    def __init__(self, name: str, elem_id: str, visible: bool = True) -> None:
        self.name, self._elem_id, self._shelf = name, elem_id, Shelf()
        self.button = gr.Button(f"Download {name}", size="sm", elem_id=elem_id, elem_classes="download", visible=visible)
        self._file = gr.File(visible=False, label=name, elem_id=f"{elem_id}-file")

    def listen(self, content: Callable[..., str], inputs: list[Any]) -> None:
        """At a click download the text that `content` makes of the inputs."""

        def make(*values: Any) -> str:
            return str(self._shelf.put(self.name, content(*values)))

        made = dimming(self._elem_id, self.button.click, handler(make), inputs, self._file)
        made.success(None, self._file, None, js=DOWNLOAD, **PRIVATE)

    def labelled(self, amount: str) -> Any:
        """The button with the amount that its file will hold; hidden for ""."""
        return gr.Button(f"Download {self.name} ({amount})", visible=bool(amount))
