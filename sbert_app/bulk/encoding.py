"""Encode pieces into shards, in this process or with Ray Data: a pool of actors, each with the model in memory, maybe on a cluster.

For Ray, pieces are staged as files, actors write the shards, so a cluster needs the work folder, the app and the model at the same
paths on every machine. An actor or a machine that dies is replaced, and its shard is encoded again.
"""

import logging
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import feather

from sbert_app.bulk.checkpoint import Shards
from sbert_app.bulk.pieces import Piece
from sbert_app.collections.collection import SENTENCE
from sbert_app.errors import UserError
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.settings import Settings
from sbert_app.storage import writing

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

TICK_SECONDS = 1.0
MISSING = "Ray is not installed. Install it with: pip install -r requirements-scale.txt. Or leave out --engine."
THREADS = 2  # of an actor: two actors of two threads encode more than one of four
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Encoded:
    """Rows that were encoded since the last report; error: why the shard `key` could not be, "" if it could."""

    key: str
    rows: int
    error: str = ""


class ThisProcess:
    """One piece after the other. Reading the next one meanwhile would gain nothing: it takes a hundredth of the time."""

    window = 1  # how many pieces to hand over before `encode`

    def __init__(self, encoder: "Encoder", shards: Shards) -> None:
        self._encoder, self._shards = encoder, shards
        self._pieces: list[tuple[str, Piece]] = []

    def add(self, key: str, piece: Piece) -> None:
        self._pieces.append((key, piece))

    def encode(self) -> Iterator[Encoded]:
        """Encode all that was handed over, in any order; a shard is on disk when its last row is reported."""
        while self._pieces:
            key, piece = self._pieces.pop(0)
            yield from encode_shard(self._encoder, self._shards, key, piece.sentences)


def encode_shard(encoder: "Encoder", shards: Shards, key: str, sentences: list[str]) -> Iterator[Encoded]:
    """Encode sentences and write their shard; reports its progress every second."""
    embeddings = np.empty((len(sentences), encoder.dim), dtype=np.float32)
    unreported, last = 0, time.monotonic()
    for rows, vectors in encoder.stream(sentences, encoder.document_prompt):
        embeddings[rows] = vectors
        unreported += len(rows)
        if time.monotonic() - last > TICK_SECONDS:
            yield Encoded(key, unreported)
            unreported, last = 0, time.monotonic()
    shards.write(key, embeddings)
    yield Encoded(key, unreported)


def load_encoder(settings: Settings, name: str, converts: bool) -> "Encoder":
    """The encoder on its fastest engine. converts: whether a model is converted for one first. Raises UserError."""
    from sbert_app.models.registry import Registry

    registry = Registry(settings, converts=converts, patience=0)
    encoder = registry.encoder(name)
    registry.acceleration.wait()
    return encoder


class RayEngine:
    """A pool of actors. address: of a running cluster, "auto" for the one this machine is in, "" for this machine alone."""

    window = 1024  # pieces staged at a time: at 20,000 short sentences each, 2 GB of disk

    def __init__(self, encoder: "Encoder", settings: Settings, shards: Shards, staged: Path, workers: int, address: str) -> None:
        """staged: a folder of its own. workers: 0 for as many as the machines have room for."""
        self._encoder, self._settings, self._shards, self._staged = encoder, settings, shards, staged
        self._workers, self._address = workers, address
        self._started = False
        shutil.rmtree(staged, ignore_errors=True)  # of a run that was killed

    def add(self, key: str, piece: Piece) -> None:
        with writing("The staged piece"):
            self._staged.mkdir(parents=True, exist_ok=True)
            table = pa.table({SENTENCE: pa.array(piece.sentences, pa.string())})
            feather.write_feather(table, self._staged / f"{key}.arrow", compression="lz4")

    def encode(self) -> Iterator[Encoded]:
        if not self._started:
            start_ray(self._address)
            self._started = True
        import ray.data  # reads its settings from the environment, which `start_ray` has set

        paths = sorted(str(path) for path in self._staged.glob("*.arrow"))
        constructor, workers, resources = self._pool(ray.cluster_resources(), len(paths))
        results = ray.data.from_items([{"path": path} for path in paths], override_num_blocks=len(paths)).map_batches(
            Actor, fn_constructor_args=constructor, batch_size=1, compute=ray.data.ActorPoolStrategy(size=workers), **resources
        )
        try:
            for row in results.iter_rows():
                yield Encoded(row["key"], int(row["rows"]), row["error"])
        except ray.exceptions.RayError as error:
            *_, last = filter(None, map(str.strip, str(error).splitlines()))
            raise UserError(f"Ray cannot continue: {last}. Finished shards are kept: run the same command again.") from error
        finally:
            shutil.rmtree(self._staged, ignore_errors=True)

    def close(self) -> None:
        if self._started:
            import ray

            ray.shutdown()

    def _pool(self, machines: Mapping[str, float], pieces: int) -> tuple[tuple[object, ...], int, dict[str, int]]:
        """Return (the arguments of an `Actor`, the number of actors, what each of them needs)."""
        encoder, gpus, cpus = self._encoder, int(machines.get("GPU", 0)), max(1, int(machines.get("CPU", 1)))
        on_gpu = encoder.hardware.device.type == "cuda" and gpus > 0
        workers = min(self._workers or (gpus if on_gpu else max(1, cpus // THREADS)), pieces)
        threads = max(1, min(THREADS, cpus // workers))
        settings = replace(self._settings, precision=encoder.hardware.precision)
        model = encoder.name if encoder.name == DEFAULT_ENCODER or encoder.folder is None else str(encoder.folder)
        constructor = settings, model, encoder.fingerprint, threads, str(self._shards.folder)
        return constructor, workers, {"num_gpus": 1} if on_gpu else {"num_cpus": threads}


class Actor:
    """Loads the encoder once, then encodes one staged piece a call."""

    def __init__(self, settings: Settings, model: str, fingerprint: str, threads: int, shards: str) -> None:
        """model: a name, or a folder. fingerprint: of the driver's encoder, which the actor's must equal."""
        os.environ["OMP_NUM_THREADS"] = str(threads)  # torch takes it when it is imported
        self._encoder = load_encoder(settings, model, converts=False)
        self._shards, self._fingerprint = Shards(Path(shards)), fingerprint

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """batch: one path. Returns one key, its rows and error."""
        path, rows, error = Path(batch["path"][0]), 0, ""
        try:
            rows = self._encode(path)
        except Exception as problem:  # one shard must not end the others
            error = f"{type(problem).__name__}: {problem}"
        return {"key": [path.stem], "rows": np.array([rows]), "error": [error]}

    def _encode(self, path: Path) -> int:
        if self._encoder.fingerprint != self._fingerprint:
            raise UserError("this machine computes other embeddings: it has other model files, or another precision")
        sentences = feather.read_table(path, memory_map=False).column(SENTENCE).to_pylist()
        if self._shards.path(path.stem).exists():  # by an actor that died before it could report
            return len(sentences)
        return sum(part.rows for part in encode_shard(self._encoder, self._shards, path.stem, sentences))


def start_ray(address: str) -> None:
    """Connect to a cluster, or start Ray on this machine. Raises UserError."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing leaves the machine
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if not address and "ray" not in sys.modules:  # a token for this run alone; else Ray keeps one for all in the user's home
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray.data

    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    options: dict[str, Any] = {"runtime_env": {"env_vars": {"PYTHONPATH": path}}, "log_to_driver": False}
    if not address:
        options["include_dashboard"] = False
    try:
        ray.init(address or "local", logging_level=logging.ERROR, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"No Ray cluster at '{address}'. Start one with `ray start --head`, or leave out --address.") from error
    ray.data.DataContext.get_current().enable_progress_bars = False
