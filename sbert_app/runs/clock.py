"""How long a run has computed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Clock:
    """Seconds of computing, without the waits between two parts of the work."""

    seconds: float = 0.0

    def each(self, events: Iterator[Any]) -> Iterator[Any]:
        while True:
            start = time.perf_counter()
            event = next(events, None)
            self.seconds += time.perf_counter() - start
            if event is None:
                return
            yield event
