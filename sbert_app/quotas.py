"""Who may use how much: one table of quotas by kind of visitor, its file, and amounts that are counted in periods."""

import math
import time
import tomllib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from sbert_app.errors import UserError

ANONYMOUS, SIGNED_IN = "anonymous", "signed_in"  # kinds of visitors of a hosted app
PERIODS = {"hour": 3600.0, "day": 86400.0}  # seconds
MOST_COUNTS = 10_000  # beyond so many, those whose period is over are dropped


@dataclass(frozen=True)
class Quota:
    """What one visitor may use in a period."""

    rows: float = math.inf  # indexed
    bytes: float = math.inf  # uploaded
    indexings: float = math.inf
    training_minutes: float = math.inf
    device_seconds: float = math.inf  # of computing, training not counted

    def __post_init__(self) -> None:
        for name, amount in vars(self).items():
            if type(amount) not in (int, float) or not amount >= 0:
                raise ValueError(f"{name} must be a number from 0 on, got {amount!r}")


Quotas = Mapping[tuple[str, str], Quota]  # by kind of visitor and period; none where it is missing

HOSTED_QUOTAS: Quotas = {
    (ANONYMOUS, "hour"): Quota(200_000, 200e6, 40, 15, 900),
    (ANONYMOUS, "day"): Quota(500_000, 500e6, 120, 30, 3600),
    (SIGNED_IN, "hour"): Quota(500_000, 500e6, 100, 45, 1800),
    (SIGNED_IN, "day"): Quota(2_000_000, 2e9, 400, 120, 10_800),
}


def read_quotas(path: str) -> Quotas:
    """Those of a TOML file, such as `[anonymous.hour]` with `rows = 1000`; "": the defaults of a hosted app. Raises UserError."""
    if not path:
        return HOSTED_QUOTAS
    try:
        tables = tomllib.loads(Path(path).expanduser().read_text(encoding="utf-8"))
        quotas = {(kind, period): Quota(**amounts) for kind, periods in tables.items() for period, amounts in periods.items()}
        if not quotas.keys() <= HOSTED_QUOTAS.keys():
            raise ValueError(f"tables must be of {', '.join(f'[{kind}.{period}]' for kind, period in HOSTED_QUOTAS)}")
    except (OSError, ValueError, TypeError, AttributeError) as error:
        names = ", ".join(each.name for each in fields(Quota))
        raise UserError(f"SBERT_STUDIO_QUOTAS is {path!r}, which is no table of {names}: {error}.") from None
    return quotas


@dataclass
class Count:
    """An amount that was used in a period. began: seconds since 1970."""

    began: float
    amount: float = 0.0


@dataclass
class Counts:
    """Amounts by key, each in a period of `seconds` that its first use begins. The caller holds a lock."""

    seconds: float
    clock: Callable[[], float] = time.time
    _counts: dict[Hashable, Count] = field(default_factory=dict)

    def of(self, key: Hashable) -> Count:
        """The count of the period that is now, to be changed; a new one counts from its first use."""
        now = self.clock()
        if (count := self._counts.get(key)) is None or not self._is_now(count, now) or not count.amount:
            if len(self._counts) >= MOST_COUNTS:
                self._counts = {each: old for each, old in self._counts.items() if self._is_now(old, now) and old.amount}
            count = self._counts[key] = Count(now)
        return count

    def _is_now(self, count: Count, now: float) -> bool:
        """Whether its period is not over, nor yet to come since the clock was set back."""
        return 0 <= now - count.began < self.seconds
