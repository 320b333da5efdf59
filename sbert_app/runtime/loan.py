"""What is done in the process that ZeroGPU forks, with a GPU lent for seconds: a task's values, at last how the loan ended."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sbert_app.errors import UserError
from sbert_app.models.registry import Registry
from sbert_app.runs.execution import Execution
from sbert_app.runs.run import Run
from sbert_app.step import Step
from sbert_app.timing.experiment import RaceRequest, run_race
from sbert_app.timing.race import RaceState
from sbert_app.vectors import Rows, Vectors

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import Pair

START, SHARE = 3.0, 0.85  # seconds until a fresh worker computes; of the time asked for, after which it ends by itself
EMBED, SCORE, TRAIN, RACE = "embed", "score", "train", "race"
Batches = Iterator[tuple[Rows, Vectors]]


@dataclass(frozen=True)
class Loan:
    """How a loan ended. used, asked: seconds; whole: nothing is left to do; error: the visitor's mistake; refused: why there was
    none, or no longer, else ""."""

    used: float = 0.0
    whole: bool = False
    error: str = ""
    asked: int = 0
    refused: str = ""


@dataclass(frozen=True)
class Timer:
    """Of a loan, in its worker. flag: a file that is there once the work shall end early, as no lock or event crosses a fork."""

    seconds: int
    flag: Path
    start: float = field(default_factory=time.monotonic)

    @property
    def used(self) -> float:
        return time.monotonic() - self.start

    def late(self) -> bool:
        """Whether the time is nearly over."""
        return self.used > SHARE * self.seconds - START


def _embed(far: Registry, _: Timer, name: str, sentences: Sequence[str], prompt: str) -> Batches:
    return far.encoder(name).stream(sentences, prompt)


def _score(far: Registry, _: Timer, name: str, pairs: "Sequence[Pair]") -> Batches:
    return far.pair_scorer(name).stream(pairs)


def _train(far: Registry, timer: Timer, folder: Path) -> Iterator[object]:
    return Execution(Run(folder), far.trainable, far.hardware, timer.flag.exists).work()


def _race(far: Registry, timer: Timer, asked: RaceRequest) -> Iterator[Step[RaceState]]:
    return run_race(far, asked, nullcontext, lambda: timer.flag.exists() or timer.late())


TASKS: dict[str, Callable[..., Iterator[Any]]] = {EMBED: _embed, SCORE: _score, TRAIN: _train, RACE: _race}


def work(far: Registry, seconds: int, task: str, flag: Path, *args: Any) -> Iterator[Any]:
    """What a task gives, at last its Loan. far: the models, on the lent GPU."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the tokenisers' threads stayed in the other process
    timer = Timer(seconds, flag)
    try:
        values: Any = TASKS[task](far, timer, *args)
        for value in values:
            yield value
            if timer.late() and task != RACE:  # which ends itself, and has a result
                values.close()  # a training writes its checkpoint
                yield Loan(timer.used)
                return
        yield Loan(timer.used, whole=True)
    except UserError as error:
        yield Loan(timer.used, error=str(error))
