"""The requests that are being answered, limited in total and by network address."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from sbert_app.services.embeddings import RefusedError
from sbert_app.settings import Limits


class Places:
    """Used by one event loop, which needs no lock."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._taken: Counter[str] = Counter()

    @contextmanager
    def take(self, address: str) -> Iterator[None]:
        """Hold a place while a request is read and answered. Raises RefusedError (429) if none is free."""
        if self._taken.total() >= self._limits.requests or self._taken[address] >= self._limits.requests_an_address:
            text = "Too many requests are being answered at once. Try again in a moment."
            raise RefusedError(text, status=429, code="rate_limit_exceeded")
        self._taken[address] += 1
        try:
            yield
        finally:
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]
