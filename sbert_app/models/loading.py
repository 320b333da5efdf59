"""Load a transformer, its weights complete and finite, and its tokenizer: one at a time, safetensors only, no remote code."""

import hashlib
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from sbert_app.errors import UserError
from sbert_app.models.engine.engine import UnreadWeights
from sbert_app.models.engine.forward import use_fastest_attention
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.files.layout import check_files, damaged, first_line, quoted

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

LAYER = re.compile(r"\blayers?\.\d+\.")
ENCODER_CLASS, CLASSIFIER_CLASS = "AutoModel", "AutoModelForSequenceClassification"
FIRST_TOKEN = {"bert", "camembert", "electra", "roberta", "xlm-roberta"}  # classifiers of transformers whose head reads it alone
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
    head = {} if labels is None else {"num_labels": labels}
    with LOADING:
        transformers = import_transformers()
        import sbert_app.models.words.network  # noqa: F401 - makes it known to AutoModel

        with _readable(name):
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
            # fp32, cast later: loading in another type would change torch's default for all threads
            model, report = getattr(transformers, auto_class).from_pretrained(
                folder, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **LOCAL, **head
            )
        if model.config.is_encoder_decoder or not getattr(tokenizer, "is_fast", False):
            raise UserError(f"The model {quoted(name)} is not an encoder with a fast tokenizer: choose another model.")
        prefix = "" if labels is None else f"{model.base_model_prefix}."  # with a new head, only the transformer must be complete
        _check_complete(name, report, prefix, auto_class == ENCODER_CLASS or labels is not None)
        _check_weights(name, model, len(tokenizer))
        cast(model, torch.float32 if getattr(model, "only_fp32", False) else hardware.dtype)
        use_fastest_attention(model, hardware)
        if auto_class == CLASSIFIER_CLASS:
            shorten_last_layer(model)
        return model.eval().to(hardware.device), tokenizer


def shorten_last_layer(classifier: Any) -> None:
    """Compute of the last layer only attention for all tokens, the rest for the first: the head reads no other.

    With six layers that is an eighth of all products less, and the same logits. No other kind than FIRST_TOKEN is changed.
    """
    if classifier.config.model_type in FIRST_TOKEN:
        # Of what attention gives and what is added to it, (B, T, dim) each -> (B, 1, dim).
        last = classifier.base_model.encoder.layer[-1].attention.output
        last.register_forward_pre_hook(lambda _, inputs: tuple(tokens[:, :1] for tokens in inputs))


def load_without_weights(folder: Path, name: str, **config: Any) -> tuple[UnreadWeights, Any]:
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


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # transformers raises a dozen types for an unreadable folder
        raise UserError(
            f"The model {quoted(name)} could not be loaded: {first_line(error)}. Save or download it again, or choose another."
        ) from error


def _check_complete(name: str, report: dict[str, Any], prefix: str, pooler_unused: bool) -> None:
    """Raise UserError for missing weights, which transformers would fill with random numbers, and for surplus layers.

    report: from `from_pretrained(output_loading_info=True)`. prefix: of the weights that must be in the file.
    """
    missing = sorted(key for key in report["missing_keys"] if key.startswith(prefix))
    if pooler_unused:
        missing = [key for key in missing if "pooler" not in key.split(".")]
    if missing:
        raise damaged(name, f"{len(missing)} weights are missing, such as {missing[0]}")
    unexpected = sorted(key for key in report["unexpected_keys"] if LAYER.search(key))
    if unexpected:
        raise damaged(name, f"config.json has no place for {len(unexpected)} weights, such as {unexpected[0]}")


def _check_weights(name: str, model: Any, tokens: int) -> None:
    """Raise UserError if a weight is NaN or infinite, or if there are fewer word vectors than the tokenizer has tokens."""
    for key, parameter in model.named_parameters():
        if not torch.isfinite(parameter.detach().sum()):  # of the sum: one pass, no copy
            raise damaged(name, f"the weights {key} contain NaN or infinite values")
    vectors = model.get_input_embeddings().num_embeddings
    if tokens > vectors:
        raise UserError(
            f"The model {quoted(name)} has {vectors:,} word vectors, its tokenizer {tokens:,} tokens: they do not match. "
            "Save or download the model again, or choose another."
        )


def cast(model: Any, dtype: torch.dtype) -> None:
    """Cast the weights in place; buffers that are never saved (rotary angles) stay fp32. Raises RuntimeError if that fails."""
    for tensor in model.state_dict(keep_vars=True).values():
        if tensor.is_floating_point():
            tensor.data = tensor.data.to(dtype)
    types = {parameter.dtype for parameter in model.parameters()} | {b.dtype for b in model.buffers() if b.is_floating_point()}
    if not types <= {dtype, torch.float32} or any(parameter.dtype != dtype for parameter in model.parameters()):
        raise RuntimeError(f"the weights have the types {', '.join(sorted(map(str, types)))}, expected {dtype}")


def fingerprint(settings: str, *modules: torch.nn.Module) -> str:
    """Hash of the settings that change a model's results, and of its modules' weights. 16 hex digits."""
    digest = hashlib.blake2b(settings.encode(), digest_size=8)
    for module in modules:
        for name, weight in module.state_dict().items():
            digest.update(name.encode())
            digest.update(weight.reshape(-1).view(torch.uint8).cpu().numpy())
    return digest.hexdigest()
