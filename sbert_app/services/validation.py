"""Every handler is a public endpoint: what comes in is checked here before a service works on it."""

from typing import Any

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables import storable


def sentence(value: Any, name: str, limits: Limits, way_out: str) -> str:
    """A trimmed text that tokenisers take, cut at the limit. Raises UserError for a blank one and for what is no text."""
    if not isinstance(value, str):
        raise UserError(f"The {name} must be text.")
    text = storable(value).strip()
    if not text:
        raise UserError(f"The {name} is blank. {way_out}")
    return text[: limits.sentence_characters]


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    """A whole number in low..high. Raises UserError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or not low <= value <= high:
        raise UserError(f"The {name} must be a whole number in {low}..{high:,}, got {value!r}.")
    return int(value)
