"""What a bulk run is asked for, and what it has done."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sbert_app.corpus.faiss_index import INDEXES
from sbert_app.errors import UserError

SHARD_ROWS = 20_000
MOST_SHARD_ROWS = 1_000_000
AUTO = "auto"  # the kind of index by the number of rows


@dataclass(frozen=True)
class Request:
    """One run. store: address of a collection, or out: a folder for Parquet files. Raises UserError for what does not fit.

    part: (i, n) encodes the i-th of n parts of the shards and stores nothing; (1, 1) all. model: "" for that of the collection, or
    the default. workers: 0 for as many as there is room for. work: the folder of the shards, None for one in the data home.
    """

    files: tuple[str, ...]
    store: str = ""
    out: Path | None = None
    columns: tuple[str, ...] = ()
    model: str = ""
    index: str = AUTO
    engine: str = ""
    workers: int = 0
    address: str = ""
    shard_rows: int = SHARD_ROWS
    part: tuple[int, int] = (1, 1)
    work: Path | None = None
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.partial and self.work is None:
            raise UserError("With --shard, give --work too: a folder that all machines share.")
        if not self.partial and bool(self.store) == bool(self.out):
            raise UserError("Name either --store, a collection, or --out, a folder for Parquet files.")
        if self.index not in (AUTO, *INDEXES):
            raise UserError(f"Unknown index '{self.index}'. Must be one of {', '.join((AUTO, *INDEXES))}.")
        if self.engine not in ("", "ray"):
            raise UserError(f"Unknown engine '{self.engine}'. It can be ray, or be left out.")
        if not 1 <= self.shard_rows <= MOST_SHARD_ROWS:
            raise UserError(f"--shard-rows must lie between 1 and {MOST_SHARD_ROWS:,}.")
        if self.workers < 0:
            raise UserError("--workers must be 1 or more.")

    @property
    def partial(self) -> bool:
        return self.part[1] > 1

    @property
    def target(self) -> str:
        """The store or folder, the same from wherever the command is called."""
        target = self.store or str(self.out)
        return target if "://" in target else str(Path(target).expanduser().resolve())

    def work_folder(self, cache: Path) -> Path:
        """Where the shards are: given, or a folder in the cache for each target."""
        own = cache / "bulk" / hashlib.blake2b(self.target.encode(), digest_size=8).hexdigest()
        return (self.work or own).expanduser().resolve()


def read_part(text: str) -> tuple[int, int]:
    """Read "2/8" as (2, 8), "" as all of one. Raises UserError."""
    if not text:
        return 1, 1
    if not (match := re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)) or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"--shard is '{text}'. It must be a part and the number of parts, such as 2/8.")
    return int(match[1]), int(match[2])


@dataclass
class Summary:
    """What a run has done. rows: with a sentence; encoded: of these now, by this run; reused: encoded before.

    failures: why a file or shard is missing, by name; left_out: rows without a place in the result, by reason, with examples;
    passed_over: files of other formats in the folders.
    """

    model: str
    dim: int
    files: int
    rows: int = 0
    encoded: int = 0
    reused: int = 0
    written: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    ignored_columns: dict[str, str] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)
    target: str = ""
    index: str = ""
    collection_rows: int = 0
    recall: float = 1.0
    recall_queries: int = 0
    seconds: float = 0.0
    encoding_seconds: float = 0.0
    work: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"encoded_per_second": self.encoded / self.encoding_seconds if self.encoding_seconds else 0.0}
