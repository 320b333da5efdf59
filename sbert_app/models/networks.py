"""The networks of converted models, in the data home: each made once by OpenVINO, and checked whenever it is loaded."""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from torch import Tensor, nn

from sbert_app.errors import UserError
from sbert_app.models.bundled import bundled_encoder
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.engine.packing import Packing
from sbert_app.models.files.finding import bundled_folder
from sbert_app.models.files.layout import first_line
from sbert_app.storage import atomic_folder, check, checksums, discard, read_object, write_object, writing

NETWORK, SEALS = "model.xml", "checksums.json"
MOST = 12  # networks; of the bundled model's size, a gigabyte
SECONDS = 600  # that a conversion may take
POLL_SECONDS = 0.1
CHECK_SECONDS = 1.0  # to wait while another process checks the same network
NICE = 19  # the lowest priority: where a job begins meanwhile, it has the processor
FORM = "packed rows, first token"  # of the networks made here: another makes them again
EXAMPLE = ((7, 3), (11, 5))  # lengths of two rows: the longer one is padded in neither batch, the shorter in both
TOLERANCE = 1e-3  # largest difference between the outputs of torch and of the network, of values around 1
ROOT = Path(__file__).parents[2]

sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # OpenVINO, imported after this, then has none to send


class ConversionError(Exception):
    """A model cannot be converted, or not now. The message is one line."""


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
                    # Here what is known byte by byte, else in another process: a model from elsewhere may take one down with it.
                    if is_quick(kind, folders):
                        convert(kind, temporary / NETWORK, *folders)
                    else:
                        _run([kind, str(temporary / NETWORK), *map(str, folders)], stop)
                    write_object(temporary / SEALS, {"files": checksums(temporary)})
            os.utime(target)
            _prune(home)
    except Timeout:  # another process converts it at this moment
        return None
    except (UserError, OSError) as error:
        raise ConversionError(first_line(error)) from error
    return target / NETWORK


def forget(folder: Path, home: Path) -> None:
    """Delete the networks of a model, which hold its weights too."""
    for kind in ("encoder", "cross-encoder"):
        with suppress(OSError, ImportError):  # there is none, or no OpenVINO, or on Windows it is in use
            discard(home / _key(kind, (folder,)))


def is_quick(kind: str, folders: tuple[Path, ...]) -> bool:
    """Whether it is converted within a second: the bundled encoder, which needs no transformers."""
    return kind == "encoder" and folders == (bundled_folder(),)


def _key(kind: str, folders: tuple[Path, ...]) -> str:
    """Changes with any of the model's files, and with the versions of what converts them."""
    parts = kind, FORM, version("openvino"), version("transformers"), *(f"{checksums(folder)}" for folder in folders)
    return hashlib.blake2b("".join(parts).encode(), digest_size=12).hexdigest()


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


def _prune(home: Path) -> None:
    """Delete the networks that were not used for longest."""
    networks = [path.parent for path in home.glob(f"[!.]*/{NETWORK}")]  # hidden: being written
    for path in sorted(networks, key=lambda path: path.stat().st_mtime)[:-MOST]:
        with suppress(OSError):  # in use, on Windows
            discard(path)


def _run(arguments: list[str], stop: Event) -> None:
    """Convert in another process. Raises ConversionError with the last line that it wrote, or if stopped."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, "-m", "sbert_app.models.networks", *arguments]
    deadline, pipe, nowhere = time.monotonic() + SECONDS, subprocess.PIPE, subprocess.DEVNULL
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(command, env=environment, stdin=pipe, stdout=nowhere, stderr=errors) as process:  # noqa: S603 - ours
            try:
                while process.poll() is None and not stop.wait(POLL_SECONDS) and time.monotonic() < deadline:
                    pass
            finally:  # Ctrl-C in the shell too
                process.kill()
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    if process.returncode:
        raise ConversionError(lines[-1] if lines else f"the conversion ended with status {process.returncode}")


def main(kind: str, out: str, *folders: str) -> int:
    """Convert one model: `python -m sbert_app.models.networks KIND OUT.xml FOLDER [ADAPTER]`. kind: as for `network`."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        convert(kind, Path(out), *map(Path, folders))
    except Exception as error:  # a model can fail in as many ways as there are models: the caller continues with torch
        sys.stderr.write(f"\n{type(error).__name__}: {' '.join(str(error).split())[:300]}\n")
        return 1
    return 0


def _end_with_parent() -> None:
    """Whoever asked for the network holds the other end of stdin: killed, it leaves nothing that computes on."""
    os.read(0, 1)
    os._exit(1)


class Outputs(nn.Module):
    """A transformer as a function of tensors: token vectors (B, T, width), or the logits (B, k) of a cross-encoder."""

    def __init__(self, transformer: Any, output: str, inputs: list[str]) -> None:
        super().__init__()
        self.transformer, self.output, self.inputs = transformer, output, inputs

    def forward(self, *inputs: Tensor) -> Tensor:
        """(B, T) int64 each, in the order of `inputs`."""
        return getattr(self.transformer(**dict(zip(self.inputs, inputs, strict=True))), self.output)


def convert(kind: str, out: Path, folder: Path, adapter: Path | None = None) -> None:
    """Write a model's network to `out`, in fp32. Raises ValueError if its outputs are not those of torch."""
    import openvino

    warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)  # of branches, which `_check` tries
    module = _module(kind, folder, adapter)
    example, large = tuple(_example(EXAMPLE[0], module.inputs).values()), _example(EXAMPLE[1], module.inputs)
    with torch.inference_mode():
        traced = torch.jit.trace(module, example, strict=False, check_trace=False)  # `_check` does, and with another batch
        converted = openvino.convert_model(traced, example_input=example)
        expected = module(*large.values()).numpy()
    for port, name in zip(converted.inputs, module.inputs, strict=True):
        port.get_tensor().set_names({name})
    converted.reshape({port: openvino.PartialShape([-1, -1]) for port in converted.inputs})
    try:
        openvino.save_model(converted, out, compress_to_fp16=False)
    except RuntimeError as error:  # it gives no reason
        raise OSError("the network cannot be written: perhaps the disk is full") from error
    _check(out, kind, large, expected)


def _check(out: Path, kind: str, batch: dict[str, Tensor], expected: np.ndarray) -> None:
    """Raise ValueError if the written network's outputs for a batch are not the expected ones."""
    import openvino

    compiled = openvino.Core().compile_model(out, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    actual = compiled({name: value.numpy() for name, value in batch.items()})[0]
    real = batch["attention_mask"].numpy().astype(bool) if kind == "encoder" else slice(None)  # padding may differ
    difference = float(np.abs(actual[real] - expected[real]).max())
    if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max())):
        raise ValueError(f"the converted model differs from the original by {difference:.2g}")


def _module(kind: str, folder: Path, adapter: Path | None) -> Outputs:
    """The transformer in fp32."""
    hardware, inputs = choose_hardware("cpu", "fp32"), ["input_ids", "attention_mask"]
    if is_quick(kind, (folder,)):
        return Outputs(bundled_encoder(folder, hardware, "").transformer, "last_hidden_state", [*inputs, "position_ids"])
    if kind == "encoder":
        return Outputs(Encoder.from_folder(folder, hardware).transformer, "last_hidden_state", inputs)
    cross = CrossEncoder.from_adapter(folder, adapter, hardware) if adapter else CrossEncoder.from_folder(folder, hardware)
    return Outputs(cross.transformer, "logits", [*inputs, *({"token_type_ids"} & set(cross.tokenizer.model_input_names))])


def _example(lengths: tuple[int, ...], inputs: list[str]) -> dict[str, Tensor]:
    """A batch of these lengths, padded. Token ids from 5 on: words or pieces in every vocabulary."""
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.arange(5, 5 + mask.numel()).view(mask.shape) * mask
    features = {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(mask)}
    return Packing(features).features if "position_ids" in inputs else {name: features[name] for name in inputs}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
