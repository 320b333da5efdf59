"""Whether two models can be timed side by side, and on what."""

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder

BACKBONE = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")


def on_one_engine(encoder: Encoder, cross: CrossEncoder) -> tuple[Encoder, CrossEncoder]:
    """Both on one engine, which stays the same: their own if they share it, else torch. For timing them side by side."""
    if encoder.engine.name == cross.engine.name:
        return encoder.on(encoder.engine), cross.on(cross.engine)
    return encoder.on(encoder.torch_engine), cross.on(cross.torch_engine)


def size_of(model: Encoder | CrossEncoder) -> str:
    """The size of its transformer, such as "6 layers of 384"; of an encoder over word vectors, what it is."""
    config = model.config
    layers, width = getattr(config, "num_hidden_layers", None), getattr(config, "hidden_size", None)
    return f"{layers} layers of {width}" if layers and width else str(config.model_type)


def same_backbone(encoder: Encoder, cross: CrossEncoder) -> bool:
    """Whether both transformers have the same type and size, so that their speeds can be compared."""
    first, second = encoder.config, cross.config
    return all(getattr(first, key, None) == getattr(second, key, None) for key in BACKBONE)
