"""Temporary files for download, kept until Gradio has copied them; the oldest are deleted."""

import tempfile
from collections import deque
from pathlib import Path

FOLDERS_KEPT = 8


class Shelf:
    """The last FOLDERS_KEPT temporary folders, for all visitors: only the visitor who gets a path can open it."""

    def __init__(self) -> None:
        self._folders: deque[tempfile.TemporaryDirectory[str]] = deque(maxlen=FOLDERS_KEPT)

    def put(self, files: dict[str, str]) -> list[Path]:
        """Write files, given as name -> text, to a new folder and return their paths."""
        folder = self.folder()
        paths = [folder / name for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        return paths

    def folder(self) -> Path:
        """Create an empty folder."""
        folder = tempfile.TemporaryDirectory(prefix="sbert-studio-")
        self._folders.append(folder)
        return Path(folder.name)
