"""Turn typed model names and paths into folders, without file system errors."""

import logging
import unicodedata
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.models.files.folders import quoted

log = logging.getLogger(__name__)

NAME_LENGTH = 1_000  # characters; a name may be a path


def plain_name(name: object) -> str:
    """A model's name, stripped. Raises UserError if it cannot be one."""
    if not isinstance(name, str):
        raise UserError("The model must be given by its name.")
    if len(name) > NAME_LENGTH:
        raise UserError(f"The model's name has {len(name):,} characters, at most {NAME_LENGTH:,} are allowed: {quoted(name)}.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise UserError(f"The model's name {quoted(name)} contains a line break or another invalid character. Type it again.")
    return name.strip()


def expand_home(name: str) -> Path:
    """The path, with `~` replaced by the home folder."""
    try:
        return Path(name).expanduser()
    except RuntimeError:  # "~name" of an unknown user
        return Path(name)


def is_folder(path: Path) -> bool:
    """Whether the path is an accessible folder; False for a name that the file system refuses."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def subfolders(models: Path) -> list[Path]:
    """The folders under `models`, damaged ones too, without unfinished (hidden) ones; [] if it cannot be read."""
    try:
        folders = [folder for folder in models.iterdir() if is_folder(folder) and not folder.name.startswith(".")]
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("the saved models cannot be listed: %s", error)
        return []
    return sorted(folders)
