"""Who sends a request, and whose turn it is: visitors take turns, however many requests one of them sends."""

import re
from collections.abc import Generator, Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, IPv6Network
from typing import Any, Generic, TypeVar

from sbert_app.quotas import ANONYMOUS, SIGNED_IN
from sbert_app.step import each_within

Item = TypeVar("Item")


@dataclass(frozen=True)
class Visitor:
    """Connection of a browser or client; hosted, its network address, and its name if signed in. Empty: this machine's user."""

    connection: str = ""
    address: str = ""
    name: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name of whoever takes turns and has a quota; the kind is "" for a local app, which has none."""
        return (SIGNED_IN, self.name) if self.name else (ANONYMOUS, self.address) if self.address else ("", self.connection)


PORT = re.compile(r"^(?:\[(.*)\]|([\d.]+))(?::\d+)?$")  # 10.0.0.7:5001, [2001:db8::1]:5001; groups: the address, of one kind
ASKING: ContextVar[Visitor] = ContextVar("asking", default=Visitor())  # noqa: B039 - frozen. For whom this thread or task works


def network_address(forwarded: str, client: str) -> str:
    """The address of a hosted visitor: the last in `X-Forwarded-For`, which the proxy appends, else the client's. Without a port.

    Of IPv6 the network of 64 bits: each line has one, and every address in it.
    """
    found = PORT.sub(r"\1\2", forwarded.rpartition(",")[2].strip()) or client
    with suppress(ValueError):  # not an address alone
        address = IPv6Address(found)
        return str(address.ipv4_mapped or IPv6Network((address, 64), strict=False))
    return found


@contextmanager
def asking(visitor: Visitor) -> Iterator[None]:
    """Work for this visitor inside the block."""
    before = ASKING.set(visitor)
    try:
        yield
    finally:
        ASKING.reset(before)


def each_asking(visitor: Visitor, steps: Generator[Item, None, Any]) -> Generator[Item, None, Any]:
    """Yield the steps of a job, each made for this visitor, in whatever thread. Returns what the job returns."""
    with closing(steps):
        return (yield from each_within(partial(asking, visitor), steps))


class Turns(Generic[Item]):
    """What waits, in turn between visitors, and for each in order of arrival. The caller holds a lock.

    Start-time fair queueing: an item's round is one more than its visitor's last, but at least the round that is served now.
    """

    def __init__(self) -> None:
        self._waiting: dict[Item, tuple[int, Hashable]] = {}
        self._served: dict[Hashable, int] = {}  # the last round of each visitor, unless it is over
        self._round = 0

    def add(self, item: Item, visitor: Hashable) -> None:
        rounds = [number for number, other in self._waiting.values() if other == visitor]
        self._waiting[item] = max(self._round, max(rounds, default=self._served.get(visitor, -1)) + 1), visitor

    def order(self) -> list[Item]:
        """What waits, the next first."""
        return sorted(self._waiting, key=lambda item: self._waiting[item][0])

    def serve(self, item: Item) -> None:
        """It waits no longer, its turn has come."""
        number, visitor = self._waiting.pop(item)
        self._round = max(self._round, number)
        self._served = {other: last for other, last in self._served.items() if last >= self._round} | {visitor: number}

    def discard(self, item: Item) -> None:
        """It waits no longer, or never did."""
        self._waiting.pop(item, None)

    def __contains__(self, item: object) -> bool:
        return item in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)
