"""Loaded weights: check that they are complete, finite and of the requested number type, and tell different ones apart."""

import hashlib
import re
from typing import Any

import torch

from sbert_app.errors import UserError
from sbert_app.models.files.layout import damaged, quoted

LAYER = re.compile(r"\blayers?\.\d+\.")


def check_complete(name: str, report: dict[str, Any], prefix: str, pooler_unused: bool) -> None:
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


def check_finite(name: str, model: Any) -> None:
    """Raise UserError if a weight is NaN or infinite. Checks the sums: one pass, no copy."""
    for key, parameter in model.named_parameters():
        if not torch.isfinite(parameter.detach().sum()):
            raise damaged(name, f"the weights {key} contain NaN or infinite values")


def check_tokenizer(name: str, tokenizer: Any, model: Any) -> None:
    """Raise UserError if the tokenizer has more tokens than the model has word vectors."""
    tokens, vectors = len(tokenizer), model.get_input_embeddings().num_embeddings
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
