"""Measure the computing time of a run."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Clock:
    """Seconds spent computing events, without the time between them."""

    seconds: float = 0.0

    def each(self, events: Iterator[Any]) -> Iterator[Any]:
        while True:
            start = time.perf_counter()
            event = next(events, None)
            self.seconds += time.perf_counter() - start
            if event is None:
                return
            yield event
