"""Names and paths as people type them: nothing that is typed ends in an error of the file system."""

import logging
import unicodedata
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.models.folders import quoted

log = logging.getLogger(__name__)

NAME_LENGTH = 1_000  # characters; a path may be that long


def plain_name(name: object) -> str:
    """A model's name without blanks around it. Raises UserError for what can be no name."""
    if not isinstance(name, str):
        raise UserError("The model must be given by its name.")
    if len(name) > NAME_LENGTH:
        raise UserError(f"The model's name has {len(name):,} characters, at most {NAME_LENGTH:,} are possible: {quoted(name)}.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise UserError(f"The model's name {quoted(name)} holds a line break or another character of no name. Type it again.")
    return name.strip()


def expanded(name: str) -> Path:
    """The path that is meant, `~` replaced by the home folder."""
    try:
        return Path(name).expanduser()
    except RuntimeError:  # "~someone" who has no account here
        return Path(name)


def is_folder(path: Path) -> bool:
    """Whether there is a folder that can be looked at; a name that the file system refuses is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def subfolders(models: Path) -> list[Path]:
    """The model folders under `models`, damaged ones too; none where that cannot be read. Unfinished ones begin with a dot."""
    try:
        folders = [folder for folder in models.iterdir() if is_folder(folder) and not folder.name.startswith(".")]
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("the saved models cannot be listed: %s", error)
        return []
    return sorted(folders)
