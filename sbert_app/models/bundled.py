"""The models that come with the app. The encoder needs no transformers on a CPU, whose models take two seconds to import.

Its files are known, byte by byte: it computes what transformers' BertModel computes, in the same order, and is converted from here.
Training goes through transformers, as all other models do.
"""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from sbert_app.errors import UserError
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.engine import UnreadWeights
from sbert_app.models.engine.forward import LONGEST, short_attention
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.files.finding import CROSS_ENCODER, DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, checked_bundled_folder
from sbert_app.models.files.layout import read_json, read_layout
from sbert_app.models.loading import cast

TABLES = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
ATTENTION = [f"attention.{part}" for part in ("self.query", "self.key", "self.value", "output.dense", "output.LayerNorm")]
LAYER = [*ATTENTION, "intermediate.dense", "output.dense", "output.LayerNorm"]


def bundled_encoder(folder: Path, hardware: Hardware, name: str, weights: bool = True) -> Encoder:
    """The encoder in the bundled folder, which was found to be the official one. weights: as for `Encoder.from_folder`."""
    read = partial(Bert, folder, SimpleNamespace(**read_json(folder / "config.json", name)), hardware)
    transformer = read() if weights else UnreadWeights(read.args[1])
    backend, config = Tokenizer.from_file(str(folder / "tokenizer.json")), read_json(folder / "tokenizer_config.json", name)
    tokenizer = SimpleNamespace(  # what an encoder asks of transformers' tokenizer, of which tokenizer.json is the whole
        backend_tokenizer=backend,
        model_max_length=config["model_max_length"],
        pad_token_id=backend.token_to_id(config["pad_token"]),
        unk_token=config["unk_token"],
        all_special_ids=[number for number, token in backend.get_added_tokens_decoder().items() if token.special],
    )
    encoder = Encoder(name, transformer, tokenizer, read_layout(folder, name), hardware)
    encoder.folder, encoder.reader = folder, read
    return encoder


def bundled_cross_encoder(folder: Path, hardware: Hardware, name: str, weights: bool = True) -> CrossEncoder:
    """Load this project's LoRA adapter over the bundled encoder's backbone."""
    if not (folder / "adapter_model.safetensors").exists():
        raise UserError("The bundled cross-encoder is missing from assets/cross_encoder: download the app again.")
    return CrossEncoder.from_adapter(checked_bundled_folder(), folder, hardware, name, weights)


def placed(hardware: Hardware) -> tuple[Encoder, CrossEncoder]:
    """Both bundled models with their weights on this hardware, where nothing is computed: it may only be emulated yet."""
    cpu, folder = Hardware(torch.device("cpu"), torch.float32), checked_bundled_folder()
    read = Encoder.from_folder(folder, cpu, DEFAULT_ENCODER)
    cast(read.transformer, hardware.dtype)
    encoder = Encoder(read.name, read.transformer.to(hardware.device), read.tokenizer, read.layout, hardware)
    cross = bundled_cross_encoder(CROSS_ENCODER, cpu, DEFAULT_CROSS_ENCODER).cast(hardware)
    cross.transformer.to(hardware.device)
    encoder.folder, cross.folder = folder, CROSS_ENCODER
    return encoder, cross


class Padding:
    """Only attention needs the padding. All else is computed of the tokens alone, (N, dim): of 16 mixed sentences half as much."""

    def __init__(self, attention_mask: Tensor | None) -> None:
        """attention_mask: (B, T); None: nothing is to be removed, and tokens stay (B, T, dim)."""
        self._mask = attention_mask
        self._places = None if attention_mask is None else attention_mask.flatten().nonzero()[:, 0]

    def removed(self, tokens: Tensor) -> Tensor:
        """(B, T, dim) -> (N, dim)."""
        return tokens if self._places is None else tokens.flatten(0, 1)[self._places]

    def added(self, tokens: Tensor) -> Tensor:
        """(N, dim) -> (B, T, dim), zero in the padding."""
        if self._mask is None:
            return tokens
        padded = tokens.new_zeros(self._mask.numel(), tokens.shape[1])
        padded[self._places] = tokens
        return padded.view(*self._mask.shape, -1)


class Bert:
    """A transformer as an encoder calls it: (B, T) ids and mask -> `last_hidden_state`, (B, T, dim). Never trained.

    With `position_ids`, rows are those of `Packing`: a token attends to those whose number in the mask is its own.
    """

    training = False

    def __init__(self, folder: Path, config: SimpleNamespace, hardware: Hardware) -> None:
        parts = ["embeddings.LayerNorm", *(f"encoder.layer.{i}.{part}" for i in range(config.num_hidden_layers) for part in LAYER)]
        names = [*TABLES, *(f"{part}.{kind}" for part in [*parts, "pooler.dense"] for kind in ("weight", "bias"))]
        stored = load_file(folder / "model.safetensors")
        self.config, self._weights = config, {name: stored[name].to(hardware.dtype) for name in names}

    def state_dict(self) -> dict[str, Tensor]:
        """The weights, under the names and in the order of transformers."""
        return self._weights

    def get_input_embeddings(self) -> SimpleNamespace:
        """The word vectors, as `weight`."""
        return SimpleNamespace(weight=self._weights[TABLES[0]])

    def __call__(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor | None = None) -> SimpleNamespace:
        words, positions, types = (self._weights[table] for table in TABLES)
        if position_ids is None:
            places = positions[: input_ids.shape[1]]
            unread = (attention_mask == 0)[:, None, None]  # (B, 1, 1, T)
        else:
            places = positions[position_ids]
            unread = attention_mask[:, None, :, None] != attention_mask[:, None, None]  # (B, 1, T, T)
        tokens = self._norm(words[input_ids] + types[0] + places, "embeddings.LayerNorm")
        mask = None
        if unread.any():
            mask = torch.zeros_like(unread, dtype=tokens.dtype).masked_fill_(unread, torch.finfo(tokens.dtype).min)
        padding = Padding(attention_mask if mask is not None and position_ids is None else None)
        tokens = padding.removed(tokens)
        for layer in range(self.config.num_hidden_layers):
            tokens = self._layer(tokens, padding, mask, f"encoder.layer.{layer}.")
        return SimpleNamespace(last_hidden_state=padding.added(tokens))

    def _layer(self, tokens: Tensor, padding: Padding, mask: Tensor | None, at: str) -> Tensor:
        query, key, value = (self._heads(padding.added(self._linear(tokens, at + part))) for part in ATTENTION[:3])
        if tokens.dtype == torch.bfloat16 and query.shape[2] <= LONGEST:
            attended, _ = short_attention(self, query, key, value, mask)
        else:
            attended = functional.scaled_dot_product_attention(query, key, value, mask).transpose(1, 2)
        attended = self._linear(padding.removed(attended.flatten(2)), at + "attention.output.dense")
        tokens = self._norm(attended + tokens, at + "attention.output.LayerNorm")
        inner = functional.gelu(self._linear(tokens, at + "intermediate.dense"))
        return self._norm(self._linear(inner, at + "output.dense") + tokens, at + "output.LayerNorm")

    def _heads(self, tokens: Tensor) -> Tensor:
        """(B, T, dim) -> (B, heads, T, d)."""
        return tokens.view(*tokens.shape[:2], self.config.num_attention_heads, -1).transpose(1, 2)

    def _linear(self, tokens: Tensor, part: str) -> Tensor:
        return functional.linear(tokens, self._weights[f"{part}.weight"], self._weights[f"{part}.bias"])

    def _norm(self, tokens: Tensor, part: str) -> Tensor:
        weight, bias = self._weights[f"{part}.weight"], self._weights[f"{part}.bias"]
        return functional.layer_norm(tokens, tokens.shape[-1:], weight, bias, self.config.layer_norm_eps)
