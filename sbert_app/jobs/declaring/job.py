"""Declare a job: its input, its options, and a function that yields steps and, at the end, one outcome."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from sbert_app.errors import EndedEarlyError, UserError
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.option import Kind, option, text
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime import Session, Stop, Workbench
from sbert_app.step import Step
from sbert_app.storage import writing, writing_to
from sbert_app.tables import Table


class Needs(Enum):
    """The input of a job, besides its options."""

    NOTHING = "nothing"
    CORPUS = "an indexed corpus: endpoints take its id, the shell indexes a file"
    SENTENCES = "sentences: a file; for endpoints also lines"
    EXAMPLE = "sentences as above; without any, the example's"
    PAIRS = "a file of pairs"
    LABELLED = "a file with labelled pairs or triplets"
    CLASSES = "a file with labelled sentences"
    DATA_SET = "a file with labelled pairs, triplets or labelled sentences; in the shell also a folder of them, as an option"


@dataclass(frozen=True)
class Call:
    """One call of a job: the workbench, its stop, and input, as far as it needs any."""

    bench: Workbench
    stop: Stop = field(default_factory=Stop)
    session: Session = field(default_factory=Session)  # with its corpus
    table: Table | None = None
    columns: list[str] = field(default_factory=list)
    folder: Callable[[], Path] | None = None  # creates the folder for an endpoint's download

    def required_table(self) -> Table:
        """The table. Raises UserError if none was sent."""
        if self.table is None:
            raise UserError("Send a file.")
        return self.table

    def write(self, out: Path | None, name: str, write: Callable[[Path], object]) -> Path | None:
        """Write a file to `out` (shell), or under this name to a download folder (endpoint); None if there is neither."""
        path = out or (self.folder() / name if self.folder else None)
        if path:
            with writing_to(path, "out") if out else writing("The file"):
                write(path)
        return path


@dataclass(frozen=True)
class Outcome:
    """Result of a job: `summary`, plain JSON for endpoint, MCP and `--json`; `lines`, readable text for the shell."""

    summary: Any
    lines: list[str]
    file: Path | None = None  # the download of an endpoint
    value: Any = None  # the result object, from which the shell writes its file
    failed: bool = False  # the shell ends with status 1


Steps = Generator[Step[Any] | Outcome]


def outcome_of(steps: Steps, show: Callable[[Step[Any]], None] = lambda step: None) -> Outcome:
    """Run a job to its outcome, which it yields last; `show` is called with each step before."""
    for step in steps:
        if isinstance(step, Outcome):
            return step
        show(step)
    raise RuntimeError("the job ended without an outcome")


@dataclass(frozen=True)
class Job:
    """A declared job."""

    name: str  # of its endpoint
    needs: Needs
    options: type[Any]
    run: Callable[[Call, Any], Steps]
    command: str = ""  # in the shell, "" for none
    quick: bool = False  # shares Gradio's concurrency limit; other jobs have none, as they wait in the lines of the workbench
    streams: bool = False  # the endpoint sends the steps too
    collections: bool = True  # of the jobs that need a corpus: whether it may be a collection
    makes_file: bool = False

    def steps(self, call: Call, options: Any) -> Steps:
        """Run the job until its outcome. Raises UserError, with the reason, if the call is stopped or ends without one."""
        with closing(self.run(call, options)) as steps:
            for step in steps:
                yield step
                if isinstance(step, Outcome):
                    return
                if call.stop.is_set():
                    break
        raise EndedEarlyError(call.stop.reason)

    @property
    def summary(self) -> str:
        """The docstring's first paragraph: what the job does."""
        return " ".join(str(self.run.__doc__).split("\n\n")[0].split())

    @property
    def returns(self) -> str:
        """The docstring's "Returns:" section."""
        return " ".join(str(self.run.__doc__).partition("Returns:")[2].split())


def model_option(flag: str = "") -> Any:
    """The option for an encoder, the same in every job."""
    about = "The encoder: bundled, saved, a Hub name, or a folder; see `models`."
    return option(about, text("model"), DEFAULT_ENCODER, flag=flag)


def cross_encoder_option(default: str, use: str) -> Any:
    """The option for a cross-encoder, the same in every job."""
    which = "A cross-encoder or poly-encoder: bundled, saved, a Hub name, or a folder; see `models`."
    named = Kind(str, lambda value, _: validation.exact(value, "cross-encoder") or default)
    return option(f"{use} {which}", named, default)
