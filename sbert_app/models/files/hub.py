"""Find a Hugging Face Hub model on this machine, or download it."""

import logging
import re
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.models.files.folders import first_line, quoted
from sbert_app.models.loading import LOADING

log = logging.getLogger(__name__)

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "README.md"]  # the card says what a cross-encoder was trained for


def local_copy(name: str) -> Path | None:
    """The copy of a Hub model on this machine, None if there is none."""
    with LOADING:  # huggingface_hub imports its modules at first use, as transformers does
        from huggingface_hub import snapshot_download
    try:
        return Path(snapshot_download(name, allow_patterns=HUB_FILES, local_files_only=True))
    except (OSError, ValueError):
        return None


def from_hub(name: str) -> Path:
    """The local copy of a Hub model, downloaded if missing. Pickled weights are never downloaded."""
    copy = local_copy(name)
    if copy is not None:
        return copy
    log.info("%s is not on this machine, trying the Hub", quoted(name))
    with LOADING:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
    try:
        return Path(snapshot_download(name, allow_patterns=HUB_FILES))
    except RepositoryNotFoundError as error:
        raise UserError(f"The Hub has no model named {quoted(name)}. Check the spelling: 'org/model'.") from error
    except (HfHubHTTPError, OSError, ValueError) as error:
        log.warning("download of %s failed: %s", quoted(name), first_line(error))
        raise UserError(
            f"The model {quoted(name)} is not on this machine and the Hub cannot be reached. "
            f"Connect to the internet once, type a model folder, or use the bundled one."
        ) from error
