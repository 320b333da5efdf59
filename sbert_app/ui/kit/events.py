"""Where errors meet the screen: a user's mistake is shown as it stands, ours is logged and admitted."""

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from sbert_app.errors import UserError

log = logging.getLogger(__name__)

# Hidden progress: Gradio would lay each error over every output, above buttons that are needed to go on.
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
Updates = dict[Any, Any]  # component -> its new value or state; what is not in it stays as it is

OURS = "Something went wrong on our side. It has been logged; please try again."


def handler(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an event handler, plain or generator, so that every error is shown in the same way."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with _shown():
                yield from function(*args, **kwargs)

        return generator

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with _shown():
            return function(*args, **kwargs)

    return plain


def typed(value: Any) -> str:
    """What stands in a text box, trimmed; "" for what no text box sends."""
    return value.strip() if isinstance(value, str) else ""


@contextmanager
def _shown() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise gr.Error(str(error), print_exception=False) from None
    except gr.Error:
        raise
    except Exception as error:
        log.exception("a handler failed")
        raise gr.Error(OURS, print_exception=False) from error
