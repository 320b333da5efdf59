"""Which models are timed side by side, and on what."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from sbert_app.models.converted import refuse_draft
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.trained_for import check_one_score
from sbert_app.models.registry import Registry

BACKBONE = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")


def on_one_engine(encoder: Encoder, cross: CrossEncoder) -> tuple[Encoder, CrossEncoder]:
    """Both on one engine, which stays the same: their own if they share it, else torch. For timing them side by side."""
    if encoder.engine.name == cross.engine.name:
        return encoder.on(encoder.engine), cross.on(cross.engine)
    return encoder.on(encoder.torch_engine), cross.on(cross.torch_engine)


def size_of(model: Encoder | CrossEncoder) -> str:
    """The size of its transformer, such as "6 layers of 384"; the type of an encoder over word vectors."""
    config = model.config
    layers, width = getattr(config, "num_hidden_layers", None), getattr(config, "hidden_size", None)
    return f"{layers} layers of {width}" if layers and width else str(config.model_type)


def same_backbone(encoder: Encoder, cross: CrossEncoder) -> bool:
    """Whether both transformers have the same type and size, so that their speeds can be compared."""
    first, second = encoder.config, cross.config
    return all(getattr(first, key, None) == getattr(second, key, None) for key in BACKBONE)


def cross_encoder_like(registry: Registry, encoder: Encoder, name: str = "") -> tuple[CrossEncoder, bool]:
    """Return (cross-encoder to time beside the encoder, whether its head is trained); an untrained one only serves for timing.

    name: which; "": the bundled one or, where that has another backbone, the encoder's with an untrained head.
    """
    refuse_draft(encoder.name, "timing")
    chosen = registry.cross_encoder(name or DEFAULT_CROSS_ENCODER)
    check_one_score(chosen)
    if name or same_backbone(encoder, chosen) or encoder.folder is None or encoder.of_words:
        return chosen, True
    fp32 = replace(registry.hardware, dtype=torch.float32)
    untrained = CrossEncoder.untrained(encoder.folder / encoder.layout.transformer_path, fp32, labels=1)
    untrained.name = f"{encoder.name} with an untrained head"
    return untrained.cast(registry.hardware), False


def on_each_device(registry: Registry, name: str) -> Iterator[Encoder]:
    """Yield the encoder on the app's device, and if that is a GPU, on the CPU too."""
    refuse_draft(name, "timing")
    encoder = registry.encoder(name)
    yield encoder
    if encoder.hardware.device.type != "cpu" and encoder.folder is not None:
        yield Encoder.from_folder(encoder.folder, choose_hardware("cpu"), encoder.name)
