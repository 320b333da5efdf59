"""What a visitor may not do, as tests state it in a line: the sentence, then the call."""

from collections.abc import Callable
from inspect import isgenerator
from typing import Any

import pytest

from sbert_app.errors import UserError


def refused(sentence: str, call: Callable[..., Any], *values: Any, **named: Any) -> None:
    """The call, worked off if it yields steps, ends in a UserError whose text has this sentence, a regular expression."""
    with pytest.raises(UserError, match=sentence):
        if isgenerator(answer := call(*values, **named)):
            list(answer)
