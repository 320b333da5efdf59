"""What is done in the process that ZeroGPU forks, with a GPU lent for seconds: a task's values, at last how the loan ended."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.models.registry import Registry
from sbert_app.runs.execution import Execution
from sbert_app.runs.run import Run
from sbert_app.timing.experiment import run_race

START, SHARE = 3.0, 0.85  # seconds until a fresh worker computes; of the time asked for, after which it ends by itself
EMBED, SCORE, TRAIN, RACE = "embed", "score", "train", "race"
# Each takes the models on the GPU and whether to end early, and then what it is about.
TASKS: dict[str, Callable[..., Any]] = {
    EMBED: lambda far, _, name, sentences, prompt: far.encoder(name).stream(sentences, prompt),
    SCORE: lambda far, _, name, pairs: far.pair_scorer(name).stream(pairs),
    TRAIN: lambda far, stopping, folder: Execution(Run(folder), far.trainable, far.hardware, stopping).work(),
    RACE: lambda far, stopping, asked: run_race(far, asked, nullcontext, stopping),
}


@dataclass
class Loan:
    """A GPU for some seconds, and how that ended."""

    asked: int  # seconds
    used: float = 0.0  # seconds
    whole: bool = False  # nothing is left to do
    error: str = ""  # the visitor's mistake
    refused: str = ""  # why there was no loan, or none any more


def work(far: Registry, asked: int, task: str, flag: Path, *args: Any) -> Iterator[Any]:
    """What a task gives, at last its Loan. flag: a file, there once it shall end early: no lock or event crosses a fork."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the tokenisers' threads stayed in the other process
    loan, start = Loan(asked), time.monotonic()

    def stopping() -> bool:  # a race that runs out of time ends itself, for what it measured is a result
        return flag.exists() or (task == RACE and late(start, asked))

    try:
        values = TASKS[task](far, stopping, *args)
        for value in values:
            yield value
            if task != RACE and late(start, asked):
                values.close()  # a training writes its checkpoint
                break
        else:
            loan.whole = True
    except UserError as error:
        loan.error = str(error)
    loan.used = time.monotonic() - start
    yield loan


def late(start: float, asked: int) -> bool:
    """Whether the time is nearly over."""
    return time.monotonic() - start > SHARE * asked - START
