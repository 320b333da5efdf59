"""Give memory that was freed back to the system.

The C library keeps what a job has freed, for the next one: after corpora, maps and a training that was a third of the process.
"""

import ctypes
import gc
from collections.abc import Callable
from functools import cache


def give_back(unreachable: bool = False) -> None:
    """Return freed memory, some milliseconds for each 100 MB. Does nothing where the C library is not glibc.

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
