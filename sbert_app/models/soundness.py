"""Is what was loaded a sound model: every weight from the file, finite, in the number type that was wanted."""

import re
from typing import Any

import torch

from sbert_app.errors import UserError
from sbert_app.models.folders import damaged, quoted

LAYER = re.compile(r"\blayers?\.\d+\.")


def check_complete(name: str, report: dict[str, Any], prefix: str, pooler_unused: bool) -> None:
    """Raise UserError where weights are missing from the file or left over: transformers fills gaps with random numbers.

    report: what `from_pretrained` gives with `output_loading_info`. prefix: how the weights begin that must be there.
    """
    missing = sorted(key for key in report["missing_keys"] if key.startswith(prefix))
    if pooler_unused:
        missing = [key for key in missing if "pooler" not in key.split(".")]
    if missing:
        raise damaged(name, f"{len(missing)} weights are missing, such as {missing[0]}")
    left = sorted(key for key in report["unexpected_keys"] if LAYER.search(key))
    if left:
        raise damaged(name, f"config.json has no place for {len(left)} weights, such as {left[0]}")


def check_finite(name: str, model: Any) -> None:
    """Raise UserError where a weight is NaN or infinite: then their sum is, and one pass without a copy shows it."""
    for key, parameter in model.named_parameters():
        if not torch.isfinite(parameter.detach().sum()):
            raise damaged(name, f"the weights {key} are not all numbers")


def check_tokenizer(name: str, tokenizer: Any, model: Any) -> None:
    """Raise UserError where the tokenizer gives numbers that the model has no vector for."""
    tokens, vectors = len(tokenizer), model.get_input_embeddings().num_embeddings
    if tokens > vectors:
        raise UserError(
            f"The model {quoted(name)} has {vectors:,} word vectors, its tokenizer {tokens:,} tokens: they do not belong together. "
            "Save or download the model again, or choose another."
        )


def cast(model: Any, dtype: torch.dtype) -> None:
    """Put the weights into another number type, in place. What is computed and never saved (rotary angles) stays fp32.

    Raises RuntimeError where a weight is of another type afterwards.
    """
    for tensor in model.state_dict(keep_vars=True).values():
        if tensor.is_floating_point():
            tensor.data = tensor.data.to(dtype)
    types = {parameter.dtype for parameter in model.parameters()} | {b.dtype for b in model.buffers() if b.is_floating_point()}
    if not types <= {dtype, torch.float32} or any(parameter.dtype != dtype for parameter in model.parameters()):
        raise RuntimeError(f"the weights are of the types {', '.join(sorted(map(str, types)))}, wanted {dtype}")
