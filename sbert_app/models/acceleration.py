"""Move loaded models from torch to OpenVINO on a CPU: torch answers until then, and where it fails.

The app converts in the background while no job runs; a command before the rest of its work where that pays, else after its answer.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from weakref import WeakSet

import numpy as np

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.engine import OpenVinoEngine
from sbert_app.models.engine.hardware import Hardware, machine
from sbert_app.models.files.layout import first_line
from sbert_app.models.networks import POLL_SECONDS, ConversionError, is_quick, network
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.storage import read_object, write_object
from sbert_app.watching import Private

log = logging.getLogger(__name__)

PROOF = "proof.json"  # beside a network: where it gave what torch gives, and the fingerprint of its model
PATIENCE = 15.0  # seconds before a model is converted: the first page has the processor for itself
CLOSING_SECONDS = 5  # for a network that is being compiled, which nothing can stop
SAMPLES = ("Does this model read a sentence?", "Two sentences are one batch, and this one is the longer of both by some words.")
PAIRS = [(SAMPLES[0], SAMPLES[1]), (SAMPLES[1], SAMPLES[1])]
LEAST_COSINE, MOST_DIFFERENCE = 0.999, 0.02  # to torch, of the samples: between embeddings; between scores
# By whether a conversion is quick, about a second, or takes six to ten: seconds of work left on torch that pay for it first, as
# OpenVINO takes a fifth to a third off; seconds spent on torch that are worth it afterwards (docs/performance.md).
PAYS, WORTH = {True: 4.0, False: 40.0}, {True: 1.0, False: 4.0}
SETTLED = 0.5  # seconds on torch before they are a measure: the first batch takes several times as long

Model = Encoder | CrossEncoder


class Work:
    """What a model computes on torch until it is converted. pays: set when the rest is worth it; then `convert` is called."""

    def __init__(self, model: Model, folders: tuple[Path, ...], convert: "Callable[[Work], None] | None") -> None:
        self.model, self.folders, self.quick = model, folders, is_quick(model.kind, folders)
        self.spent, self.pays, self._convert = 0.0, threading.Event(), convert
        model.foresee = self.foresee

    def foresee(self, seconds: float, left: float) -> None:
        """Another batch took so many seconds; those after it will take `left`."""
        self.spent += seconds
        if self.spent > SETTLED and left > PAYS[self.quick]:
            self.pays.set()
            if self._convert:
                self._convert(self)

    @property
    def unfinished(self) -> bool:
        """Whether the model has no faster engine, and nothing has said that it cannot have one."""
        return self.model.engine is self.model.torch_engine and not self.model.engine_note


class Acceleration:
    """One model at a time is converted; one that was converted before waits for none. `home`: where they are kept."""

    def __init__(
        self,
        home: Path,
        hardware: Hardware,
        wanted: bool = True,
        converts: bool = True,
        patience: float = PATIENCE,
        idle: Callable[[], bool] = lambda: True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """wanted: False leaves all to torch; converts: in the background, once `idle`; False uses what was converted before.

        tell: of a command, which has one job: where converting for it pays, it does, and tells so.
        """
        self._home, self._hardware, self._converts, self._patience = home, hardware, converts, patience
        self._idle, self._tell, self._unfinished = idle, tell, WeakSet[Work]()  # as long as their models are in memory
        self._active = wanted and hardware.device.type == "cpu" and find_spec("openvino") is not None
        self._here = f"{hardware.precision} on {machine()}"
        self._turn, self._closed = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, model: Model, folders: tuple[Path, ...]) -> None:
        """Give a model that was loaded from `folders` its faster engine: in the background, or at once if nothing is converted."""
        unsuited = isinstance(model, PolyEncoder) or (isinstance(model, Encoder) and model.of_words)
        if unsuited or not self._active or self._closed.is_set():
            return
        work = Work(model, folders, None if self._converts else self._convert)
        if self._converts:
            thread = threading.Thread(target=self._in_background, args=(work,), name=f"convert {model.name}", daemon=True)
            self._threads = [*(other for other in self._threads if other.is_alive()), thread]
            thread.start()
            return
        self._speed_up(work)  # a command has one job: begun on torch, it would compute beside the engine that is made ready
        if work.unfinished and self._tell:
            self._unfinished.add(work)
        else:
            model.foresee = None

    def ready(self, kind: str, folders: tuple[Path, ...]) -> tuple[OpenVinoEngine, str] | None:
        """The engine of a model that was converted before and found right on this processor, and its fingerprint; else None.

        kind: as for `network`. Such a model needs none of torch's weights, nor transformers' models, to start.
        """
        if not self._active or self._closed.is_set():
            return None
        try:
            path = network(kind, folders, self._home, self._closed, converts=False)
            if path is None or (proof := read_object(path.with_name(PROOF)))["on"] != self._here:
                return None
            return OpenVinoEngine(path, self._hardware), str(proof["fingerprint"])
        except Exception:  # whatever it is: it is loaded as if it had never been converted, which says what is wrong
            return None

    def convert_afterwards(self) -> None:
        """Convert what a command has computed on torch for a while: its answer is there, and the next one is faster."""
        for work in list(self._unfinished):
            if work.spent > WORTH[work.quick]:
                self._convert(work, "the next command")

    def wait(self, seconds: float = math.inf, stopping: Callable[[], bool] = lambda: False) -> None:
        """Wait until every model that was begun has its engine, at most so many seconds, or until `stopping`."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < end and not stopping():
                thread.join(POLL_SECONDS)

    def close(self) -> None:
        """Stop converting: no thread computes while Python shuts down."""
        self._closed.set()
        self.wait(CLOSING_SECONDS)

    def _convert(self, work: Work, faster: str = "the rest") -> None:
        """Convert in the middle of a command, or at its end."""
        work.model.foresee = None
        self._unfinished.discard(work)
        if self._tell:
            self._tell(f"Converting {work.model.name} for OpenVINO, once: {faster} will be faster")
        self._speed_up(work, converts=True)

    def _in_background(self, work: Work) -> None:
        """Convert once no job runs, or the running one gains by it."""
        self._speed_up(work)
        if not work.unfinished or self._closed.wait(self._patience):
            return
        with self._turn:
            while not (work.quick or work.pays.is_set() or self._idle()):
                if self._closed.wait(POLL_SECONDS):
                    return
            self._speed_up(work, converts=True)

    def _speed_up(self, work: Work, converts: bool = False) -> None:
        model = work.model
        try:
            path = network(model.kind, work.folders, self._home, self._closed, converts)
            if path is None or self._closed.is_set():
                return
            engine = OpenVinoEngine(path, self._hardware)
            _check(model, engine)
        except Exception as error:  # whatever it is: torch continues
            if self._closed.is_set():
                return
            reason = str(error) if isinstance(error, ConversionError) else first_line(error)
            log.warning("%s stays on torch, which is slower: %s", Private(model.name), Private(reason))
            model.engine_note = f"Computed by torch: OpenVINO, which is faster, cannot be used ({reason})."
        else:
            proof = {"on": self._here, "fingerprint": model.fingerprint}  # of the weights, which it gives up
            model.use(engine)
            with suppress(OSError):
                write_object(path.with_name(PROOF), proof)
            log.info("%s runs on %s", Private(model.name), model.runs_on)


def _check(model: Model, engine: OpenVinoEngine) -> None:
    """Raise ConversionError unless the engine gives what torch gives, within the rounding of bf16."""
    both = model, model.on(engine)
    first, second = (each.encode(SAMPLES) if isinstance(each, Encoder) else each.score(PAIRS) for each in both)
    if isinstance(model, Encoder):
        cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
        if not cosines.min() >= LEAST_COSINE:
            raise ConversionError(f"its embeddings have a cosine of {cosines.min():.4f} to those of torch")
    else:
        difference = float(np.abs(first - second).max() / max(1.0, float(np.abs(first).max())))
        if not difference <= MOST_DIFFERENCE:
            raise ConversionError(f"its scores differ by {difference:.2g} from those of torch")
