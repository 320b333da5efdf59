"""Every handler is a public endpoint: what comes in is checked here before a service works on it."""

import unicodedata
from collections.abc import Iterable
from typing import Any

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables import storable


def text(value: Any, name: str) -> str:
    """A text that tokenisers and files take. Raises UserError for what is no text."""
    if not isinstance(value, str):
        raise UserError(f"The {name} must be text.")
    return storable(value)


def line(value: Any, name: str) -> str:
    """A trimmed text on one line, such as a name. Raises UserError for what holds a line break or another control character."""
    trimmed = text(value, name).strip(" ")
    if any(unicodedata.category(character) == "Cc" for character in trimmed):
        raise UserError(f"The {name} must be on one line, without control characters. Type it again.")
    return trimmed


def sentence(value: Any, name: str, limits: Limits, way_out: str) -> str:
    """A trimmed text that tokenisers take, cut at the limit. Raises UserError for a blank one and for what is no text."""
    trimmed = text(value, name).strip()
    if not trimmed:
        raise UserError(f"The {name} is blank. {way_out}")
    return trimmed[: limits.sentence_characters]


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    """A whole number in low..high. Raises UserError for anything else."""
    whole = (isinstance(value, float) and value.is_integer()) or (isinstance(value, int) and not isinstance(value, bool))
    if not whole or not low <= value <= high:
        raise UserError(f"The {name} must be a whole number in {low:,}..{high:,}, got {value!r}.")
    return int(value)


def number(value: Any, name: str, low: float, high: float) -> float:
    """A number in low..high. Raises UserError for anything else, NaN too."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"The {name} must be a number in {low:g}..{high:g}, got {value!r}.")
    return float(value)


def one_of(value: Any, name: str, choices: Iterable[str]) -> str | None:
    """One of the choices, None for "" and None. Raises UserError for anything else."""
    if value in ("", None):
        return None
    if value not in (known := list(choices)):
        raise UserError(f"Unknown {name} {value!r}. Must be one of {', '.join(known)}.")
    return str(value)


def names(value: Any, name: str) -> list[str]:
    """A list of texts. Raises UserError for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UserError(f"The {name} must be a list of names.")
    return value
