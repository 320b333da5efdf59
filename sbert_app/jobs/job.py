"""A job: what it works on, its options, the function that does it. Steps come while it works, the outcome at the end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.jobs.option import option, text
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runtime.stop import Visitor
from sbert_app.services.bundle import Services
from sbert_app.tables import Table

ENDED = "The work was stopped before its end, because the app is ending. Send it again."  # nobody else stops an endpoint's work


class Needs(Enum):
    """What a job works on, beside its options."""

    NOTHING = "nothing"
    CORPUS = "an indexed corpus: an endpoint takes its id, the shell a file, which it indexes first"
    SENTENCES = "sentences: a file, or in an endpoint also lines"
    EXAMPLE = "sentences as well; without any, the example's"
    LABELLED = "a file with labelled pairs or triplets"


@dataclass(frozen=True)
class Call:
    """One call of a job: over which services, for whom, on what. Of `session_id`, `table` and `columns` only what the job needs."""

    services: Services
    visitor: Visitor | None = None
    session_id: str = ""
    table: Table | None = None
    columns: list[str] = field(default_factory=list)
    folder: Callable[[], Path] | None = None  # makes the folder in which an endpoint puts a file that is to be downloaded

    def the_table(self) -> Table:
        """What was brought. Raises UserError where nothing was."""
        if self.table is None:
            raise UserError("Send a file.")
        return self.table


@dataclass(frozen=True)
class Step:
    """How far a job is: its stage in words, and of how many it has done how many. `details` go to the endpoint's caller."""

    stage: str
    done: int = 0
    total: int = 0
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a job found: `summary`, plain JSON for endpoint, MCP and `--json`; `lines`, the same for a person's eyes."""

    summary: Any
    lines: list[str]
    file: Path | None = None  # to download, where an endpoint asked for it
    value: Any = None  # the result itself, for what the shell draws of it


Run = Callable[[Call, Any], Iterator[Step | Outcome]]


def outcome_of(steps: Iterator[Step | Outcome], show: Callable[[Step], None] = lambda step: None) -> Outcome:
    """The outcome of a job, which comes last; `show` gets each step before it."""
    for step in steps:
        if isinstance(step, Outcome):
            return step
        show(step)
    raise RuntimeError("the job ended without an outcome")


@dataclass(frozen=True)
class Job:
    """A declared job. `name` is its endpoint, `command` its name in the shell; "" where it has none there."""

    name: str
    needs: Needs
    options: type[Any]
    run: Run
    command: str = ""
    quick: bool = False  # done in a moment: heavy jobs wait in lines of their own and take no place from quick ones
    streams: bool = False  # whether the endpoint sends the steps too
    makes_file: bool = False

    @property
    def text(self) -> str:
        """The docstring of the function: what it does, and what comes back."""
        return self.run.__doc__ or ""

    @property
    def summary(self) -> str:
        """Its first paragraph."""
        return " ".join(self.text.split("\n\n")[0].split())

    @property
    def returns(self) -> str:
        """What comes back, in words."""
        return " ".join(self.text.partition("Returns:")[2].split())


def model_option(flag: str = "") -> Any:
    """The encoder, as every job declares it."""
    return option("The encoder: bundled, saved, or a Hub name; see the models.", text("model"), DEFAULT_ENCODER, flag=flag)


def cross_encoder_option(default: str, use: str) -> Any:
    """A cross-encoder, as every job declares it."""
    return option(f"{use} A name of the models, of the kind cross-encoder.", text("cross-encoder"), default)
