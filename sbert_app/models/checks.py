"""Check a model after loading: that it is of the kind that was asked for, and that it works."""

from typing import TypeVar

import numpy as np

from sbert_app.errors import UserError
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.files.layout import first_line, quoted

SAMPLE = "Does this model read a sentence?"

Model = TypeVar("Model", bound=Encoder | CrossEncoder)


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
