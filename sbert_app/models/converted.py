"""Models converted for OpenVINO: made once in a process of their own, kept in the data home, checked whenever they are loaded.

Drafts are encoders in int8, for a first index of a large corpus. Named "draft/" and the encoder's name, never the default. The
network is made with NNCF, by how it reads the example sentences of this project. Its embeddings never mix with the encoder's, since
their fingerprints differ.
"""

import csv
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.defaults import full_name, is_draft
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import has_int8_instructions
from sbert_app.models.engine.openvino_engine import OpenVinoEngine
from sbert_app.models.files.layout import first_line, quoted
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.settings import ASSETS
from sbert_app.storage import atomic_folder, check, checksums, discard, read_object, write_object, writing

KEY = re.compile(r"[0-9a-f]{24}")  # of `_key`
NETWORK, SEALS = "model.xml", "checksums.json"
MOST = 12  # networks; of the bundled model's size, a gigabyte
SECONDS = 600  # that a conversion may take; the bundled model takes 10
POLL_SECONDS = 0.1
CHECK_SECONDS = 1.0  # to wait while another process checks the same network
ROOT = Path(__file__).parents[2]
COLUMNS = ("text", "sentence1", "sentence2", "anchor", "positive", "negative")
READ = 300  # example sentences that set the ranges of the activations
NOTE = "A draft in int8: close to {}, not equal. Its loss on your sentences is shown when they are indexed."
NO_GAIN = "This processor has no int8 instructions (VNNI): here a draft is not faster than the model itself."
MISSING = "A draft is made with NNCF, which is not installed: `pip install nncf`, or choose {}."
UNSUITED = "There is no draft of {}, which is no transformer encoder: choose the model itself."
FAILED = "The draft of {} could not be made ({}): choose the model itself."


class ConversionError(Exception):
    """A model cannot be converted, or not now. The message is one line."""


def network(kind: str, folders: tuple[Path, ...], home: Path, stop: Event, converts: bool = True) -> Path | None:
    """The .xml file of a model's network, converted if it is not there or damaged, unless `converts` is False: then None.

    kind: "encoder", "cross-encoder" or "draft"; folders: the model's, and its adapter's if it has one. A second process waits,
    unless it converts nothing: then None. Raises ConversionError.
    """
    target = home / _key(kind, folders)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / f"{target.name}.lock", timeout=-1 if converts else CHECK_SECONDS):
            if not _sound(target):
                if not converts:
                    return None
                _convert(kind, folders, target, stop)
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


def _convert(kind: str, folders: tuple[Path, ...], target: Path, stop: Event) -> None:
    with writing("The converted model"), atomic_folder(target) as temporary:
        _run([kind, str(temporary / NETWORK), *map(str, folders)], stop)
        write_object(temporary / SEALS, {"files": checksums(temporary)})


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
    networks = [path for path in home.iterdir() if KEY.fullmatch(path.name) and (path / NETWORK).exists()]
    for path in sorted(networks, key=lambda path: path.stat().st_mtime)[:-MOST]:
        with suppress(OSError):  # in use, on Windows
            discard(path)


def refuse_draft(name: str, purpose: str) -> None:
    """Raise UserError for the name of a draft. purpose: what was asked of it, such as "training"."""
    if is_draft(name):
        raise UserError(f"A draft is not for {purpose}: choose {quoted(full_name(name))} itself.")


def run_as_draft(encoder: Encoder | CrossEncoder, folder: Path, home: Path, stop: Event) -> None:
    """Let an encoder loaded from `folder` compute in int8; its network is made if it is not in `home`. Raises UserError."""
    full = quoted(full_name(encoder.name))
    if not isinstance(encoder, Encoder) or isinstance(encoder, PolyEncoder) or encoder.of_words:
        raise UserError(UNSUITED.format(full))
    try:
        path = network("draft", (folder,), home, stop, converts=find_spec("nncf") is not None)
        if path is None:
            raise UserError(MISSING.format(full))
        engine = OpenVinoEngine(path, encoder.hardware)
        seals = read_object(path.parent / SEALS)["files"]
    except (ConversionError, RuntimeError, OSError, ValueError, LookupError) as error:
        raise UserError(FAILED.format(full, first_line(error))) from error
    encoder.hardware = replace(encoder.hardware, int8=True)
    encoder.network_seal = f"{sorted(seals.items())}"
    _ = encoder.fingerprint  # of the weights, which it gives up
    encoder.use(engine)
    encoder.engine_note = " ".join(filter(None, (NOTE.format(full), "" if has_int8_instructions() else NO_GAIN)))


def quantised(converted: Any, encoder: Encoder) -> Any:
    """The int8 network of a converted encoder. SmoothQuant as NNCF sets it: alpha 0.5: mean cosine 0.98, not 0.995 (AVX2)."""
    import nncf  # an extra; slow: seconds

    batches = [{name: value.numpy() for name, value in encoder.pad([ids]).items()} for ids in encoder.tokenize(example_sentences())]
    return nncf.quantize(
        converted,
        nncf.Dataset(batches),
        subset_size=len(batches),
        model_type=nncf.ModelType.TRANSFORMER,
        preset=nncf.QuantizationPreset.MIXED,  # activations have a zero point: without, 0.95
    )


def example_sentences() -> list[str]:
    """Sentences that come with the app, always the same, of every example file."""
    sentences = list(dict.fromkeys(chain.from_iterable(map(_sentences, sorted(ASSETS.glob("*/*.csv"))))))
    chosen = np.random.default_rng(0).permutation(len(sentences))[:READ]
    return [sentences[i] for i in chosen.tolist()]


def _sentences(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield from filter(None, (row.get(column) for column in COLUMNS))
