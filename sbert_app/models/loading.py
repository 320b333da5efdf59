"""Load a transformer and its tokenizer from a folder: safetensors only, no remote code, quiet."""

import os
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.models.attention import use_fastest_attention
from sbert_app.models.folders import DEFAULT_MAX_LENGTH, check_weights, read_json
from sbert_app.models.hardware import Hardware

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")


def load_transformer(folder: Path, hardware: Hardware, auto_class: str = "AutoModel", **config: Any) -> tuple[Any, Any]:
    """Return (model in eval mode on the device, fast tokenizer). `config` overrides the folder's own.

    Raises UserError for a folder that cannot be read.
    """
    check_weights(folder)
    import transformers  # heavy: half a second, only when a model is first needed

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        model = getattr(transformers, auto_class).from_pretrained(
            folder, dtype=hardware.dtype, use_safetensors=True, **options, **config
        )
    except Exception as error:  # transformers raises a dozen types for a folder it cannot read
        raise UserError(f"The model folder '{folder.name}' could not be loaded: {first_line(error)}") from error
    if model.config.is_encoder_decoder or not getattr(tokenizer, "is_fast", False):
        raise UserError(f"The model '{folder.name}' is not an encoder with a fast tokenizer: choose another model.")
    use_fastest_attention(model, hardware)
    return model.eval().to(hardware.device), tokenizer


def length_limit(wanted: int | None, tokenizer: Any, config: Any) -> int:
    """Tokens a sentence may have: what the folder asks for, and no more than the model has positions for."""
    positions = getattr(config, "max_position_embeddings", None) or DEFAULT_MAX_LENGTH
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # these count positions from padding_idx + 1
    return int(min(wanted or tokenizer.model_max_length, tokenizer.model_max_length, positions))


def is_cross_encoder(folder: Path) -> bool:
    """A folder whose architecture classifies sequences is a cross-encoder, not an encoder."""
    architectures = read_json(folder / "config.json").get("architectures") or [""]
    return bool(architectures[0].endswith("ForSequenceClassification"))


def first_line(error: Exception) -> str:
    """The first line of an error's text, short enough for a message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
