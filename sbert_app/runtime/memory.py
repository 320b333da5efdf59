"""Memory: what a visitor's value holds, whatever its type, and giving back to the system what was freed."""

import ctypes
import gc
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

ATOMS = (str, bytes, int, float)
WALKED = ("sbert_app.", "scipy.sparse.")  # modules whose objects are their attributes


def held(value: object) -> dict[int, int]:
    """Approximate bytes of each object that a value is made of, by the object's id: values that share one count it once.

    What has `nbytes` counts itself. Only texts and numbers are counted with what holds them.
    """
    sizes: dict[int, int] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in sizes or each is None or isinstance(each, type):
            continue
        own = getattr(each, "nbytes", None)
        if own is not None:
            sizes[id(each)] = int(own)
            continue
        parts = list(_parts(each))
        atoms = sum(sys.getsizeof(part) for part in parts if isinstance(part, ATOMS))
        sizes[id(each)] = sys.getsizeof(each) + atoms
        waiting += [part for part in parts if not isinstance(part, ATOMS)]
    return sizes


def _parts(value: Any) -> Iterable[object]:
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    return vars(value).values() if type(value).__module__.startswith(WALKED) and hasattr(value, "__dict__") else ()


def give_back(unreachable: bool = False) -> None:
    """Return freed memory, some milliseconds for each 100 MB. Does nothing where the C library is not glibc.

    The C library keeps what a job has freed, for the next one: after corpora, maps and a training that was a third of the process.
    unreachable: look for what only refers to itself first, such as a trained network. That stops all threads for a moment.
    """
    if unreachable:
        gc.collect()
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    try:
        trim: Callable[[int], object] = ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return lambda _: None
    return trim
