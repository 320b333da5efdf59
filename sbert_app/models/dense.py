"""Dense layers after pooling, read and written as sentence-transformers' module of that name."""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sbert_app.errors import UserError
from sbert_app.models.files.layout import check_files, damaged, first_line, quoted, read_config, write_json

TANH = "torch.nn.modules.activation.Tanh"
IDENTITY = "torch.nn.modules.linear.Identity"
ACTIVATIONS = {
    TANH: nn.Tanh,
    "torch.nn.modules.activation.ReLU": nn.ReLU,
    "torch.nn.modules.activation.GELU": nn.GELU,
    "torch.nn.modules.activation.Sigmoid": nn.Sigmoid,
    IDENTITY: nn.Identity,
}
WEIGHTS = "model.safetensors"


class Dense(nn.Module):
    """activation(W x + b), (B, inputs) -> (B, outputs)."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, activation: str = TANH) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=bias)
        self.activation, self._activate = activation, ACTIVATIONS[activation]()

    def forward(self, pooled: Tensor) -> Tensor:
        return self._activate(self.linear(pooled))


def read_dense(folder: Path, name: str) -> Dense:
    """Read a layer, in fp32. Raises UserError if its folder is damaged or its settings are not supported."""
    check_files(folder, name)
    config = read_config(folder, name)
    activation = config.get("activation_function", TANH)
    other = any(config.get(f"module_{end}_name") not in (None, "sentence_embedding") for end in ("input", "output"))
    if other or not isinstance(activation, str) or activation not in ACTIVATIONS or config.get("use_residual"):
        raise UserError(f"The model {quoted(name)} has a dense layer of a kind that this app does not support: choose another.")
    try:
        layer = Dense(config["in_features"], config["out_features"], config.get("bias", True), activation)
        layer.load_state_dict(load_file(folder / WEIGHTS))
    except Exception as error:  # safetensors and torch raise half a dozen types
        raise damaged(name, f"{folder.name}: {first_line(error)}") from error
    if not all(torch.isfinite(parameter).all() for parameter in layer.parameters()):
        raise damaged(name, f"the weights of {folder.name} contain NaN or infinite values")
    return layer


def write_dense(folder: Path, layer: Dense) -> None:
    """Write a layer's folder. sentence-transformers reads it too."""
    folder.mkdir(exist_ok=True)
    save_file({name: weight.detach().cpu().contiguous() for name, weight in layer.state_dict().items()}, folder / WEIGHTS)
    linear = layer.linear
    sizes = {"in_features": linear.in_features, "out_features": linear.out_features, "bias": linear.bias is not None}
    write_json(folder / "config.json", sizes | {"activation_function": layer.activation})
