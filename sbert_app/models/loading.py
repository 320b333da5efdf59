"""Load a transformer and its tokenizer from a folder: one at a time, safetensors only, no remote code, quiet."""

import os
import threading
from pathlib import Path
from typing import Any

import torch

from sbert_app.errors import UserError
from sbert_app.models.attention import use_fastest_attention
from sbert_app.models.folders import DEFAULT_MAX_LENGTH, check_files, first_line, quoted
from sbert_app.models.hardware import Hardware
from sbert_app.models.soundness import cast, check_complete, check_finite, check_tokenizer

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

ENCODER_CLASS, CLASSIFIER_CLASS = "AutoModel", "AutoModelForSequenceClassification"

# Loading changes the whole process for a while: torch's default number type, torch.nn.init, the modules that transformers
# and peft import at the first use of a name. Two loads at once mix all of that up, so the lock is the process's as well: the one
# exception to "nothing mutable at module level". It is held while a model comes from the disk, never during a download,
# and nothing else is waited for meanwhile. A thread may take it again: an adapter loads its base.
LOADING = threading.RLock()


def load_transformer(
    folder: Path, hardware: Hardware, auto_class: str = ENCODER_CLASS, labels: int | None = None, name: str = ""
) -> tuple[Any, Any]:
    """Return (model in eval mode on the device, fast tokenizer). labels: outputs of a new, random head.

    Raises UserError for a folder that cannot be read, or whose weights are not whole.
    """
    name = name or folder.name
    check_files(folder, name)
    with LOADING:
        model, tokenizer, report = _from_disk(folder, auto_class, labels, name)
        if model.config.is_encoder_decoder or not getattr(tokenizer, "is_fast", False):
            raise UserError(f"The model {quoted(name)} is not an encoder with a fast tokenizer: choose another model.")
        check_complete(name, report, _needed_prefix(model, labels), auto_class == ENCODER_CLASS or labels is not None)
        check_finite(name, model)
        check_tokenizer(name, tokenizer, model)
        cast(model, hardware.dtype)
        use_fastest_attention(model, hardware)
        return model.eval().to(hardware.device), tokenizer


def _from_disk(folder: Path, auto_class: str, labels: int | None, name: str) -> tuple[Any, Any, dict[str, Any]]:
    """Model in fp32, tokenizer, and transformers' report on the weights. The caller holds LOADING.

    Always fp32, cast later: torch's default number type then stays what it is for the threads that compute meanwhile.
    """
    import transformers  # heavy: half a second, only when a model is first needed

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    head = {} if labels is None else {"num_labels": labels}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        model, report = getattr(transformers, auto_class).from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options, **head
        )
    except Exception as error:  # transformers raises a dozen types for a folder it cannot read
        raise UserError(
            f"The model {quoted(name)} could not be loaded: {first_line(error)}. Save or download it again, or choose another."
        ) from error
    return model, tokenizer, report


def _needed_prefix(model: Any, labels: int | None) -> str:
    """How the weights begin that must be in the file: below a new head, those of the transformer itself."""
    return "" if labels is None else f"{model.base_model_prefix}."


def length_limit(wanted: int | None, tokenizer: Any, config: Any) -> int:
    """Tokens a sentence may have: what the folder asks for, and no more than the model has positions for."""
    positions = getattr(config, "max_position_embeddings", None) or DEFAULT_MAX_LENGTH
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # these count positions from padding_idx + 1
    return int(min(wanted or tokenizer.model_max_length, tokenizer.model_max_length, positions))
