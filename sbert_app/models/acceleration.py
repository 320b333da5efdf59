"""Move loaded models from torch to OpenVINO on a CPU, in the background: torch answers until then, and where it fails.

A network is made once, in a process of its own, kept in the data home, and checked whenever it is loaded.
"""

import hashlib
import logging
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Event

import numpy as np
from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.engine import OpenVinoEngine
from sbert_app.models.engine.hardware import Hardware, machine
from sbert_app.models.files.layout import first_line
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.storage import atomic_folder, check, checksums, discard, read_object, write_object, writing
from sbert_app.watching import Private

log = logging.getLogger(__name__)

NETWORK, SEALS = "model.xml", "checksums.json"
MOST = 12  # networks; of the bundled model's size, a gigabyte
SECONDS = 600  # that a conversion may take; the bundled model takes 10
POLL_SECONDS = 0.1
CHECK_SECONDS = 1.0  # to wait while another process checks the same network
ROOT = Path(__file__).parents[2]
PROOF = "proof.json"  # beside a network: where it gave what torch gives, and the fingerprint of its model
PATIENCE = 15.0  # seconds before a model is converted: the first page has the processor for itself
CLOSING_SECONDS = 5  # for a network that is being compiled, which nothing can stop
SAMPLES = ("Does this model read a sentence?", "Two sentences are one batch, and this one is the longer of both by some words.")
PAIRS = [(SAMPLES[0], SAMPLES[1]), (SAMPLES[1], SAMPLES[1])]
LEAST_COSINE, MOST_DIFFERENCE = 0.999, 0.02  # to torch, of the samples: between embeddings; between scores


class ConversionError(Exception):
    """A model cannot be converted, or not now. The message is one line."""


class Acceleration:
    """One model at a time is converted; one that was converted before waits for none. `home`: where they are kept."""

    def __init__(
        self, home: Path, hardware: Hardware, wanted: bool = True, converts: bool = True, patience: float = PATIENCE
    ) -> None:
        """wanted: False leaves all to torch; converts: False uses only what was converted before, and waits for it."""
        self._home, self._hardware, self._converts, self._patience = home, hardware, converts, patience
        self._active = wanted and hardware.device.type == "cpu" and find_spec("openvino") is not None
        self._here = f"{hardware.precision} on {machine()}"
        self._turn, self._closed = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, model: Encoder | CrossEncoder, folders: tuple[Path, ...]) -> None:
        """Give a model that was loaded from `folders` its faster engine: in the background, or at once if nothing is converted."""
        unsuited = isinstance(model, PolyEncoder) or (isinstance(model, Encoder) and model.of_words)
        if unsuited or not self._active or self._closed.is_set():
            return
        if not self._converts:  # a command has one job: begun on torch, it would compute beside the engine that is made ready
            self._speed_up(model, folders)
            return
        thread = threading.Thread(target=self._speed_up, args=(model, folders), name=f"convert {model.name}", daemon=True)
        self._threads = [*(other for other in self._threads if other.is_alive()), thread]
        thread.start()

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

    def _speed_up(self, model: Encoder | CrossEncoder, folders: tuple[Path, ...]) -> None:
        try:
            path = network(model.kind, folders, self._home, self._closed, converts=False)
            if path is None and self._converts and not self._closed.wait(self._patience):
                with self._turn:
                    path = network(model.kind, folders, self._home, self._closed)
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


def _check(model: Encoder | CrossEncoder, engine: OpenVinoEngine) -> None:
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


def network(kind: str, folders: tuple[Path, ...], home: Path, stop: Event, converts: bool = True) -> Path | None:
    """The .xml file of a model's network, converted if it is not there or damaged, unless `converts` is False: then None.

    kind: "encoder" or "cross-encoder"; folders: the model's, and its adapter's if it has one. A second process waits,
    unless it converts nothing: then None. Raises ConversionError.
    """
    target = home / _key(kind, folders)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / f"{target.name}.lock", timeout=-1 if converts else CHECK_SECONDS):
            if not _sound(target):
                if not converts:
                    return None
                with writing("The converted model"), atomic_folder(target) as temporary:
                    _run([kind, str(temporary / NETWORK), *map(str, folders)], stop)
                    write_object(temporary / SEALS, {"files": checksums(temporary)})
            os.utime(target)
            _prune(home)
    except Timeout:  # another process converts it at this moment
        return None
    except (UserError, OSError) as error:
        raise ConversionError(first_line(error)) from error
    return target / NETWORK


def _key(kind: str, folders: tuple[Path, ...]) -> str:
    """Changes with any of the model's files, and with the versions of what converts them."""
    digest = hashlib.blake2b(digest_size=12)
    for part in (kind, version("openvino"), version("transformers"), *(f"{checksums(folder)}" for folder in folders)):
        digest.update(part.encode())
    return digest.hexdigest()


def _sound(target: Path) -> bool:
    """Whether the network is there, every byte as it was written; a damaged one is deleted."""
    if not target.exists():
        return False
    try:
        check(target, read_object(target / SEALS)["files"])
    except (UserError, OSError, ValueError, LookupError):
        discard(target)
        return False
    return True


def _run(arguments: list[str], stop: Event) -> None:
    """Convert in another process. Raises ConversionError with the last line that it wrote, or if stopped."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, "-m", "sbert_app.models.conversion", *arguments]
    deadline = time.monotonic() + SECONDS
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors) as process:  # noqa: S603 - ours
            while process.poll() is None:
                if stop.wait(POLL_SECONDS) or time.monotonic() > deadline:
                    process.kill()
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    if process.returncode:
        raise ConversionError(lines[-1] if lines else f"the conversion ended with status {process.returncode}")


def _prune(home: Path) -> None:
    """Delete the networks that were not used for longest."""
    networks = [path.parent for path in home.glob(f"[!.]*/{NETWORK}")]  # hidden: being written
    for path in sorted(networks, key=lambda path: path.stat().st_mtime)[:-MOST]:
        with suppress(OSError):  # in use, on Windows
            discard(path)
