"""Check values from a page or client before a service uses them: every handler of the page is reachable as an endpoint."""

import unicodedata
from collections.abc import Iterable
from typing import Any

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.wording import storable


def text(value: Any, name: str) -> str:
    """Text without NUL characters and lone surrogates. Raises UserError for anything but text."""
    if not isinstance(value, str):
        raise UserError(f"The {name} must be text.")
    return storable(value)


def exact(value: Any, name: str) -> str:
    """Text that `text` leaves as it is, such as a name: cleaned, it would be another's, or "", which means the default."""
    if text(value, name) != value:
        raise UserError(f"The {name} {value!r} contains a character that no text has. Type it again.")
    return str(value)


def line(value: Any, name: str) -> str:
    """Trimmed text on one line, such as a name. Raises UserError for line breaks and other control characters."""
    trimmed = text(value, name).strip(" ")
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise UserError(f"The {name} must be on one line, without control characters. Type it again.")
    return trimmed


def sentence(value: Any, name: str, limits: Limits, hint: str) -> str:
    """Trimmed text, cut at the sentence limit. Raises UserError, ending with `hint`, for blank text, and for anything but text."""
    if not (trimmed := text(value, name).strip()):
        raise UserError(f"The {name} is blank. {hint}")
    return trimmed[: limits.sentence_characters]


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    """A whole number in low..high. Raises UserError for anything else."""
    is_whole = (isinstance(value, float) and value.is_integer()) or (isinstance(value, int) and not isinstance(value, bool))
    if not is_whole or not low <= value <= high:
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
    if value not in (allowed := list(choices)):
        raise UserError(f"Unknown {name} {value!r}. Must be one of {', '.join(allowed)}.")
    return str(value)


def names(value: Any, name: str) -> list[str]:
    """A list of texts. Raises UserError for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UserError(f"The {name} must be a list of names.")
    return value
