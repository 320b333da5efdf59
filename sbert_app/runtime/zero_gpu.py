"""Send the long jobs of the device to the GPU that ZeroGPU, of Hugging Face's Spaces, lends for seconds, in a process it forks.

Short requests stay on the CPU, which also goes on with whatever is not done where no GPU is lent, or no longer. Seconds
are counted for the visitor whose request this thread answers. CUDA is emulated here: weights are placed, none is multiplied.
"""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sbert_app.errors import UserError
from sbert_app.models.bundled import placed
from sbert_app.models.cross_encoder import Pair
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware, deny_gpu
from sbert_app.models.files.layout import first_line
from sbert_app.models.loading import LOADING
from sbert_app.models.poly_encoder import PairScorer
from sbert_app.models.registry import Registry
from sbert_app.runs.execution import Clock
from sbert_app.runs.records import DevScore, Lent, Loss, Tried
from sbert_app.runs.run import Run
from sbert_app.runtime import loan
from sbert_app.runtime.device import Device
from sbert_app.runtime.loan import Loan
from sbert_app.runtime.quota_usage import Usage
from sbert_app.settings import Settings
from sbert_app.step import Step, each_within
from sbert_app.timing.experiment import RaceRequest
from sbert_app.timing.race import RaceState
from sbert_app.vectors import Batches, Vectors, in_order

log = logging.getLogger(__name__)

LEAST, MOST = 10, 60  # seconds that are asked for at a time
FIRST_SLICE = 30.0  # of a training whose pace is not known
WORTH = 2.0  # seconds of work on the CPU, from which on a GPU is asked for
RACE_SECONDS, CONCLUSION = 30.0, 10.0  # of a race beside the cross-encoder's; of a run after its last update
CPU, GPU = "CPU", "GPU"
FIRST_RATES = {CPU: 30_000.0, GPU: 100_000.0}  # characters a second, until a model's own rate is measured


class ZeroGpu(Device):
    """A device whose long jobs run on a lent GPU. Made in the main thread, before the page is launched."""

    def __init__(self, settings: Settings, near: Callable[[], Registry], usage: Usage) -> None:
        """near: the models of this process, on the CPU, whose precision the GPU's have too: both serve one corpus."""
        super().__init__(usage)
        lender = import_module("spaces")
        precision = choose_hardware("cpu", settings.precision).precision
        far = Registry(replace(settings, device="auto", precision=precision, engine="torch"), converts=False)
        deny_gpu()  # a worker has torch's own answer again
        for model in placed(far.hardware):
            far.keep((model.kind, model.name), model)
        os.register_at_fork(before=LOADING.acquire, after_in_parent=LOADING.release, after_in_child=LOADING.release)
        # One function for all tasks: its worker keeps the models that it has read.
        self._borrow = lender.GPU(partial(loan.work, far), duration=lambda seconds, *_: seconds)
        self._near, self._rates = near, dict[tuple[str, str], float]()

    def encode(self, encoder: Encoder, sentences: Sequence[str], prompt: str = "") -> Vectors:
        if self._expected(CPU, encoder.name, sum(map(len, sentences))) < WORTH:
            return super().encode(encoder, sentences, prompt)
        return in_order(self.stream(encoder, sentences, prompt), len(sentences), encoder.dim)

    def stream(self, encoder: Encoder, sentences: Sequence[str], prompt: str = "", short: bool = False) -> Batches:
        if short:
            return super().stream(encoder, sentences, prompt, short)
        return self._compute(loan.EMBED, encoder, sentences, lambda part: encoder.stream(part, prompt), prompt)

    def pairs(self, cross: PairScorer, pairs: Sequence[Pair]) -> Batches:
        return self._compute(loan.SCORE, cross, pairs, cross.stream)

    def race(self, registry: Registry, asked: RaceRequest, stopping: Callable[[], bool]) -> Iterator[Step[RaceState]]:
        """The race runs in one loan, or here from its beginning: lanes that change places cannot be compared."""
        fits = replace(asked, seconds=min(asked.seconds, MOST * loan.SHARE - loan.START - RACE_SECONDS))
        lent = _asked(fits.seconds + RACE_SECONDS)
        yield from self._lend(lent, loan.RACE, fits, stopping=stopping)
        if not lent.whole:
            yield from super().race(registry, asked, stopping)

    def train(self, run: Run, stopping: Callable[[], bool]) -> bool:
        """Train a run in loans, each from the checkpoint of the one before, while they bring something. Whether it is done."""
        reached = -1, -1
        while (now := _reached(run)) > reached:
            reached, lent = now, _asked(_seconds_left(run))
            deque(self._lend(lent, loan.TRAIN, run.folder, stopping=stopping), maxlen=0)  # run to the end
            run.add_event(Lent(lent.asked, lent.used, lent.refused))
            if lent.whole:
                return True
        return False

    def _compute(self, task: str, model: Any, items: Sequence[Any], near: Callable[..., Batches], *options: Any) -> Batches:
        """Compute sentences or pairs: in loans, while they are worth it and bring something; what is left here, by `near`."""
        sizes = np.array([len(item) if isinstance(item, str) else sum(map(len, item)) for item in items], dtype=np.int64)
        rest, name, brought = np.arange(len(items)), model.name, True
        while brought and self._expected(CPU, name, size := int(sizes[rest].sum())) >= WORTH and self._is_known(model):
            done, lent = np.zeros(len(rest), dtype=bool), _asked(self._expected(GPU, name, size))
            for rows, vectors in self._lend(lent, task, name, [items[row] for row in rest.tolist()], *options):
                done[rows] = True
                yield rest[rows], vectors
            self._measured(GPU, name, int(sizes[rest[done]].sum()), lent.used)
            brought, rest = bool(done.any()), rest[~done]
        clock = Clock()
        for rows, vectors in self.each(each_within(clock.running, near([items[row] for row in rest.tolist()]))):
            yield rest[rows], vectors
        self._measured(CPU, name, int(sizes[rest].sum()), clock.seconds)

    def _lend(self, lent: Loan, task: str, *args: Any, stopping: Callable[[], bool] = lambda: False) -> Generator[Any]:
        """What a task gives in one loan, which is filled in. Raises UserError if the task does."""
        start = time.monotonic()
        try:
            with (
                TemporaryDirectory() as folder,
                closing(self._borrow(lent.asked, task, flag := Path(folder, "stop"), *args)) as values,
            ):
                for value in values:
                    if isinstance(value, Loan):
                        vars(lent).update(vars(value))
                        continue
                    yield value
                    if stopping():
                        flag.touch()
        except Exception as error:
            # No seconds left, no GPU free, a worker that was ended; if it is our fault, the CPU meets it too.
            reason = first_line(Exception(getattr(error, "message", error))).rstrip(".")
            lent.refused = f"ZeroGPU lends no GPU: {reason}. The CPU goes on; nothing is lost."
            log.warning(lent.refused)
            self.tell(lent.refused)
        finally:
            lent.used = lent.used or min(time.monotonic() - start, lent.asked)
            log.info("ZeroGPU: %.1f s of %d s asked to %s", lent.used, lent.asked, task)
        if lent.error:
            raise UserError(lent.error)

    def _is_known(self, model: Any) -> bool:
        """Whether a worker finds this model by its name, and no other."""
        get = self._near().encoder if model.kind == "encoder" else self._near().pair_scorer
        with suppress(UserError):
            return bool(get(model.name).fingerprint == model.fingerprint)
        return False

    def _expected(self, place: str, model: str, characters: int) -> float:
        return characters / self._rates.get((place, model), FIRST_RATES[place])

    def _measured(self, place: str, model: str, characters: int, seconds: float) -> None:
        """Keep the best rate: to load a model first, or another's load, only lowers it."""
        if characters and seconds:
            self._rates[place, model] = max(self._rates.get((place, model), 0.0), characters / seconds)


def _asked(seconds: float) -> Loan:
    """A loan for work of about so many seconds."""
    return Loan(round(min(MOST, max(LEAST, (loan.START + seconds) / loan.SHARE))))


def _reached(run: Run) -> tuple[int, int]:
    """How far a run has come: objectives tried, and its last recorded update."""
    events = run.events()
    steps = [event.step for event in events if isinstance(event, Loss | DevScore)]
    return sum(isinstance(event, Tried) for event in events), max(steps, default=-1)


def _seconds_left(run: Run) -> float:
    """Of a run's work, at the pace of its updates so far."""
    last = next((event for event in reversed(run.events()) if isinstance(event, Loss)), None)
    return (last.steps - last.step) * last.seconds / max(1, last.step) + CONCLUSION if last else FIRST_SLICE
