"""Load a transformer and its tokenizer from a folder: one at a time, safetensors only, no remote code, no progress bars."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from sbert_app.errors import UserError
from sbert_app.models.engine.engine import UnreadWeights
from sbert_app.models.engine.hardware import Hardware, use_fastest_attention
from sbert_app.models.files.layout import DEFAULT_MAX_LENGTH, check_files, first_line, quoted
from sbert_app.models.files.soundness import cast, check_complete, check_finite, check_tokenizer

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

ENCODER_CLASS, CLASSIFIER_CLASS = "AutoModel", "AutoModelForSequenceClassification"
LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}

# Loading changes global state: torch's default dtype, torch.nn.init, and the modules that transformers and peft import at
# first use. Two loads at once would corrupt it, hence one lock per process, the only mutable object at module level. It is held
# while a model is read from disk, never during a download or while taking another lock. Reentrant: an adapter loads its base.
LOADING = threading.RLock()


def load_transformer(
    folder: Path, hardware: Hardware, auto_class: str = ENCODER_CLASS, labels: int | None = None, name: str = ""
) -> tuple[Any, Any]:
    """Load (model in eval mode, fast tokenizer). labels: outputs of a new, random head. Raises UserError for a damaged folder."""
    name = name or folder.name
    check_files(folder, name)
    with LOADING:
        model, tokenizer, report = _from_disk(folder, auto_class, labels, name)
        if model.config.is_encoder_decoder or not getattr(tokenizer, "is_fast", False):
            raise UserError(f"The model {quoted(name)} is not an encoder with a fast tokenizer: choose another model.")
        prefix = "" if labels is None else f"{model.base_model_prefix}."  # with a new head, only the transformer must be complete
        check_complete(name, report, prefix, auto_class == ENCODER_CLASS or labels is not None)
        check_finite(name, model)
        check_tokenizer(name, tokenizer, model)
        cast(model, torch.float32 if getattr(model, "only_fp32", False) else hardware.dtype)
        use_fastest_attention(model, hardware)
        return model.eval().to(hardware.device), tokenizer


def load_without_weights(folder: Path, name: str = "", **config: Any) -> tuple[UnreadWeights, Any]:
    """(config, fast tokenizer) of a folder that was found sound before: without transformers' models, half of a command's start.

    config: what the folder's config does not say. Raises UserError for a folder that is damaged.
    """
    check_files(folder, name)
    with LOADING, _readable(name):
        transformers = import_transformers()
        settings = transformers.AutoConfig.from_pretrained(folder, **LOCAL, **config)
        return UnreadWeights(settings), transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)


def import_transformers() -> Any:
    """Import transformers without its progress bars. Its models, which take two seconds more, come when they are named."""
    import transformers  # slow: half a second

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def _from_disk(folder: Path, auto_class: str, labels: int | None, name: str) -> tuple[Any, Any, dict[str, Any]]:
    """Return (model, tokenizer, transformers' report on the weights). The caller holds LOADING."""
    transformers = import_transformers()
    import sbert_app.models.words.network  # noqa: F401 - makes it known to AutoModel

    head = {} if labels is None else {"num_labels": labels}
    with _readable(name):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
        # fp32, cast later: loading in another type would change torch's default for all threads
        model, report = getattr(transformers, auto_class).from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **LOCAL, **head
        )
    return model, tokenizer, report


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # transformers raises a dozen types for an unreadable folder
        raise UserError(
            f"The model {quoted(name)} could not be loaded: {first_line(error)}. Save or download it again, or choose another."
        ) from error


def length_limit(limit: int | None, tokenizer: Any, config: Any) -> int:
    """Most tokens per sentence: the folder's limit, at most what the tokenizer and the model's positions allow."""
    positions = getattr(config, "max_position_embeddings", None) or DEFAULT_MAX_LENGTH
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # these count positions from padding_idx + 1
    return int(min(limit or tokenizer.model_max_length, tokenizer.model_max_length, positions))
