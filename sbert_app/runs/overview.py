"""One line of the table of runs: what a run was trained on, its verdict, and its size on disk."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sbert_app.errors import UserError
from sbert_app.runs.run import DAMAGED, Run, RunInfo


@dataclass(frozen=True)
class RunOverview:
    """word, change: the verdict and its first measure, "" and None before the end; base: "" if the run is damaged."""

    info: RunInfo
    base: str
    word: str
    examples: int  # held out
    change: dict[str, Any] | None
    nbytes: int


def overview(run: Run, info: RunInfo) -> RunOverview:
    """Read a run's line from its folder; what is damaged is left out."""
    if info.state == DAMAGED:
        return RunOverview(info, "", "", 0, None, _size(run))
    verdict = (run.conclusion() or {}).get("verdict", {})
    changes = verdict.get("changes") or [None]
    return RunOverview(info, run.plan.base, verdict.get("word", ""), verdict.get("examples", 0), changes[0], _size(run))


def overviews(get: Callable[[str], Run], infos: Sequence[RunInfo]) -> list[RunOverview]:
    """The lines of several runs, without those that were deleted meanwhile."""
    lines = []
    for info in infos:
        with suppress(UserError, OSError):
            lines.append(overview(get(info.id), info))
    return lines


def _size(run: Run) -> int:
    return sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file())
