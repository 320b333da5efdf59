"""Files made on request wait here until Gradio has copied them; the oldest are deleted."""

import tempfile
from collections import deque
from pathlib import Path

FOLDERS_KEPT = 8


class Shelf:
    """A few folders, each deleted with its object. Knows no visitor: a path leads only to who was given it."""

    def __init__(self) -> None:
        self._folders: deque[tempfile.TemporaryDirectory[str]] = deque(maxlen=FOLDERS_KEPT)

    def put(self, files: dict[str, str]) -> list[Path]:
        """Write these files, name to text, into one new folder; where each is."""
        folder = self.folder()
        paths = [folder / name for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        return paths

    def folder(self) -> Path:
        """A new, empty folder."""
        folder = tempfile.TemporaryDirectory(prefix="sbert-studio-")
        self._folders.append(folder)
        return Path(folder.name)
