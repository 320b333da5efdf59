"""Send the long jobs of the device to the GPU that ZeroGPU, of Hugging Face's Spaces, lends for seconds, in a process it forks.

Short requests stay on the CPU, which also goes on with whatever is not done where no GPU is lent, or no longer. Seconds
are counted for the visitor whose request this thread answers. CUDA is emulated here: weights are placed, none is multiplied.
"""

import logging
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.models.bundled import placed
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.layout import first_line
from sbert_app.models.loading import LOADING
from sbert_app.models.registry import Registry
from sbert_app.runs.execution import Clock
from sbert_app.runs.records import DevScore, Lent, Loss, Tried
from sbert_app.runs.run import Run
from sbert_app.runtime import loan
from sbert_app.runtime.device import Device
from sbert_app.runtime.loan import Batches, Loan
from sbert_app.settings import Settings
from sbert_app.step import Step
from sbert_app.timing.experiment import RaceRequest
from sbert_app.timing.race import RaceState
from sbert_app.vectors import Rows, Vectors, in_order

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import Pair
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly_encoder import PairScorer

log = logging.getLogger(__name__)

LEAST, MOST = 10, 60  # seconds that are asked for at a time
FIRST_SLICE = 30.0  # of a training whose pace is not known
WORTH = 2.0  # seconds of work on the CPU, from which on a GPU is asked for
RACE_SECONDS, CONCLUSION = 30.0, 10.0  # of a race beside the cross-encoder's; of a run after its last update
CPU, GPU = "CPU", "GPU"
FIRST_RATES = {CPU: 30_000.0, GPU: 100_000.0}  # characters a second, until a model's own rate is measured
GOES_ON = "ZeroGPU lends no GPU: {} The CPU goes on; nothing is lost."


@dataclass(frozen=True)
class Items:
    """What a model computes: sentences or pairs. sizes: their characters, (n,); near: computes some of them in this process."""

    task: str
    model: Any
    items: Sequence[Any]
    sizes: NDArray[np.int64]
    near: Callable[[Sequence[Any]], Batches]
    options: tuple[Any, ...] = ()

    def take(self, rows: Rows) -> list[Any]:
        return [self.items[row] for row in rows.tolist()]


class ZeroGpu(Device):
    """A device whose long jobs run on a lent GPU. Made in the main thread, before the page is launched."""

    def __init__(self, settings: Settings, near: Callable[[], Registry]) -> None:
        """near: the models of this process, on the CPU, whose precision the GPU's have too: both serve one corpus."""
        super().__init__()
        lender = import_module("spaces")
        precision = choose_hardware("cpu", settings.precision).precision
        far = Registry(replace(settings, device="auto", precision=precision, engine="torch"), converts=False)
        for model in placed(far.hardware):
            far.keep((model.kind, model.name), model)
        os.register_at_fork(before=LOADING.acquire, after_in_parent=LOADING.release, after_in_child=LOADING.release)
        # One function for all tasks: its worker keeps the models that it has read.
        self._borrow = lender.GPU(partial(loan.work, far), duration=lambda seconds, *_: seconds)
        self._near, self._rates = near, dict[tuple[str, str], float]()

    def encode(self, encoder: "Encoder", sentences: Sequence[str], prompt: str = "") -> Vectors:
        if self._seconds(CPU, encoder.name, sum(map(len, sentences))) < WORTH:
            return super().encode(encoder, sentences, prompt)
        return in_order(self.stream(encoder, sentences, prompt), len(sentences), encoder.dim)

    def stream(self, encoder: "Encoder", sentences: Sequence[str], prompt: str = "", short: bool = False) -> Batches:
        if short:
            return super().stream(encoder, sentences, prompt, short)
        sizes = np.fromiter(map(len, sentences), np.int64, len(sentences))
        return self._compute(Items(loan.EMBED, encoder, sentences, sizes, lambda part: encoder.stream(part, prompt), (prompt,)))

    def pairs(self, cross: "PairScorer", pairs: "Sequence[Pair]") -> Batches:
        sizes = np.fromiter((len(first) + len(second) for first, second in pairs), np.int64, len(pairs))
        return self._compute(Items(loan.SCORE, cross, pairs, sizes, cross.stream))

    def race(self, registry: Registry, asked: RaceRequest, stopping: Callable[[], bool]) -> Iterator[Step[RaceState]]:
        """The race runs in one loan, or here from its beginning: lanes that change places cannot be compared."""
        fits = replace(asked, seconds=min(asked.seconds, MOST * loan.SHARE - loan.START - RACE_SECONDS))
        lent = yield from self._lend(fits.seconds + RACE_SECONDS, loan.RACE, fits, stopping=stopping)
        if not lent.whole:
            yield from super().race(registry, asked, stopping)

    def train(self, run: Run, stopping: Callable[[], bool]) -> bool:
        """Train a run in loans, each from the checkpoint of the one before, while they bring something. Whether it is done."""
        reached = -1, -1
        while (now := _reached(run)) > reached:
            reached, lent = now, _drained(self._lend(_seconds_left(run), loan.TRAIN, run.folder, stopping=stopping))
            run.add_event(Lent(lent.asked, lent.used, lent.refused))
            if lent.whole:
                return True
        return False

    def _compute(self, work: Items) -> Batches:
        """Compute all items: in loans, while they are worth it and bring something, and what is left in this process."""
        rest, name, lends = np.arange(len(work.items)), work.model.name, True
        while lends and self._seconds(CPU, name, size := int(work.sizes[rest].sum())) >= WORTH and self._is_known(work.model):
            done, seconds = np.zeros(len(rest), dtype=bool), self._seconds(GPU, name, size)
            lent = yield from _numbered(self._lend(seconds, work.task, name, work.take(rest), *work.options), rest, done)
            self._measured(GPU, name, int(work.sizes[rest[done]].sum()), lent.used)
            lends, rest = bool(done.any()), rest[~done]
        clock = Clock()
        for rows, vectors in self.each(clock.each(work.near(work.take(rest)))):
            yield rest[rows], vectors
        self._measured(CPU, name, int(work.sizes[rest].sum()), clock.seconds)

    def _lend(
        self, seconds: float, task: str, *args: Any, stopping: Callable[[], bool] = lambda: False
    ) -> Generator[Any, None, Loan]:
        """What a task of about so many seconds gives in one loan. Returns how that ended; raises UserError if the task does."""
        asked, start, ended = round(min(MOST, max(LEAST, (loan.START + seconds) / loan.SHARE))), time.monotonic(), Loan()
        try:
            with TemporaryDirectory() as folder, closing(self._borrow(asked, task, flag := Path(folder, "stop"), *args)) as values:
                for value in values:
                    if isinstance(value, Loan):
                        ended = value
                        continue
                    yield value
                    if stopping():
                        flag.touch()
        except (
            Exception
        ) as error:  # no seconds left, no GPU free, a worker that was ended; if it is our fault, the CPU meets it too
            reason = first_line(Exception(getattr(error, "message", error))).rstrip(".")
            ended = Loan(min(time.monotonic() - start, asked), refused=GOES_ON.format(f"{reason}."))
            log.warning(ended.refused)
            self.tell(ended.refused)
        finally:
            log.info("ZeroGPU: %.1f s of %d s asked to %s", ended.used or time.monotonic() - start, asked, task)
        if ended.error:
            raise UserError(ended.error)
        return replace(ended, asked=asked)

    def _is_known(self, model: Any) -> bool:
        """Whether a worker finds this model by its name, and no other."""
        get = self._near().encoder if model.kind == "encoder" else self._near().pair_scorer
        with suppress(UserError):
            return bool(get(model.name).fingerprint == model.fingerprint)
        return False

    def _seconds(self, place: str, model: str, characters: int) -> float:
        return characters / self._rates.get((place, model), FIRST_RATES[place])

    def _measured(self, place: str, model: str, characters: int, seconds: float) -> None:
        """Keep the best rate: to load a model first, or another's load, only lowers it."""
        if characters and seconds:
            self._rates[place, model] = max(self._rates.get((place, model), 0.0), characters / seconds)


def _numbered(batches: Generator[Any, None, Loan], rest: Rows, done: NDArray[np.bool_]) -> Generator[Any, None, Loan]:
    """Yield the batches of these rows with their numbers among all, and note which came."""
    while True:
        try:
            rows, vectors = next(batches)
        except StopIteration as end:
            return end.value
        done[rows] = True
        yield rest[rows], vectors


def _drained(values: Generator[Any, None, Loan]) -> Loan:
    while True:
        try:
            next(values)
        except StopIteration as end:
            return end.value


def _reached(run: Run) -> tuple[int, int]:
    """How far a run has come: objectives tried, and its last recorded update."""
    events = run.events()
    steps = [event.step for event in events if isinstance(event, Loss | DevScore)]
    return sum(isinstance(event, Tried) for event in events), max(steps, default=-1)


def _seconds_left(run: Run) -> float:
    """Of a run's work, at the pace of its updates so far."""
    last = next((event for event in reversed(run.events()) if isinstance(event, Loss)), None)
    return (last.steps - last.step) * last.seconds / max(1, last.step) + CONCLUSION if last else FIRST_SLICE
