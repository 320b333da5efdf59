"""Check a model after loading: its kind, whether it works, and whether two can be timed side by side."""

from typing import TypeVar

import numpy as np

from sbert_app.errors import UserError
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.files.folders import first_line, quoted

SAMPLE = "Does this model read a sentence?"

Model = TypeVar("Model", bound=Encoder | CrossEncoder)
BACKBONE = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")


def tested(model: Model) -> Model:
    """Return the model after running a test sentence. Raises UserError if that fails or returns NaN or infinity."""
    try:
        outputs = model.score([(SAMPLE, SAMPLE)]) if isinstance(model, CrossEncoder) else model.encode([SAMPLE])
    except Exception as error:  # a broken model can raise anything
        raise UserError(f"The model {quoted(model.name)} fails on a test sentence: {first_line(error)}. Choose another.") from error
    if len(outputs) != 1 or not np.isfinite(outputs).all():
        raise UserError(f"The model {quoted(model.name)} returns NaN or infinity. Save or download it again, or choose another.")
    return model


def check_kind(kind: str, name: str, actual: str) -> None:
    """Raise UserError unless a model is of the kind that is needed."""
    if actual != kind:
        raise UserError(f"The model {quoted(name)} is of kind {actual}; this needs a model of kind {kind}.")


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
