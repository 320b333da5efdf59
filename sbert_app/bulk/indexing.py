"""One bulk run: encode what is not encoded yet, then store it. Killed at any moment, the same run continues where it was."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from sbert_app.bulk.checkpoint import Shards
from sbert_app.bulk.encoding import MISSING, TICK_SECONDS, RayEngine, ThisProcess
from sbert_app.bulk.pieces import Cutter, Piece
from sbert_app.bulk.preparing import BulkPlan, prepare
from sbert_app.bulk.reading import list_files
from sbert_app.bulk.request import Request, Summary
from sbert_app.bulk.storing import CollectionWriter, ParquetWriter, finish, readable, store
from sbert_app.errors import UserError
from sbert_app.settings import Settings
from sbert_app.step import Step
from sbert_app.storage import hold, writing


def run(request: Request, settings: Settings) -> Iterator[Step[Summary]]:
    """Encode and store; the summary is the result of the last step. Raises UserError if nothing can be indexed."""
    start, work = time.perf_counter(), request.work_folder(settings.cache)
    if request.engine and find_spec("ray") is None:
        raise UserError(MISSING)
    with ExitStack() as stack:
        stack.callback(_alone(work, request).release)
        files, others = list_files(request.files)
        plan = prepare(request, files, settings, work)
        if plan.collection:
            stack.callback(plan.collection.close)
        yield Step(plan.outlook())
        summary = Summary(plan.facts.model, plan.facts.dim, len(plan.paths), passed_over=[*map(str, others)], work=str(work))
        shards = Shards(work / "shards")
        writer = _writer(plan)
        engine = _engine(plan, settings, shards, work, stack)
        try:
            yield from _Encoding(plan, shards, engine, summary, writer.holds if writer else lambda piece: False).events()
            if writer:
                summary.target = request.store or str(request.out)
                yield from store(plan, writer, shards, summary)
            if isinstance(writer, CollectionWriter):
                yield from finish(plan, writer, shards, summary)
            elif writer:
                writer.finish(complete=not summary.failures)
        except UserError:
            if plan.created and plan.collection and not summary.written:
                plan.collection.drop()
            raise
        summary.seconds = time.perf_counter() - start
        yield Step("Done", result=summary)


@dataclass
class _Encoding:
    """The first half: every piece gets its shard, unless it has one or is stored already."""

    plan: BulkPlan
    shards: Shards
    engine: ThisProcess | RayEngine
    summary: Summary
    stored: Callable[[Piece], bool]
    waiting: dict[str, str] = field(default_factory=dict)  # keys of the pieces handed over, with their names

    def events(self) -> Iterator[Step[Summary]]:
        summary, (part, parts) = self.summary, self.plan.request.part
        cutter, number, last = Cutter(self.plan.facts, self.plan.request.shard_rows), 0, time.monotonic()
        for path in self.plan.paths:
            for piece in readable(cutter, path, summary.failures):
                number += 1
                if piece.rows and (number - part) % parts == 0:
                    self._hand_over(piece)
                if len(self.waiting) >= self.engine.window:
                    yield from self._encode()
                elif time.monotonic() - last > TICK_SECONDS:
                    last = time.monotonic()
                    yield self._progress("Reading")
        yield from self._encode()
        summary.left_out, summary.examples = dict(cutter.tally.reasons), cutter.tally.examples
        summary.ignored_columns = cutter.ignored
        if not summary.rows and parts == 1:
            raise UserError(" ".join(["Nothing could be indexed.", *summary.failures.values()][:4]))

    def _hand_over(self, piece: Piece) -> None:
        key = piece.key(self.plan.facts.fingerprint)
        self.summary.rows += len(piece.rows)
        if key in self.waiting or self.shards.path(key).exists() or self.stored(piece):
            self.summary.reused += len(piece.rows)
        else:
            self.waiting[key] = piece.name
            self.engine.add(key, piece)

    def _encode(self) -> Iterator[Step[Summary]]:
        begin = time.perf_counter()
        for report in self.engine.encode() if self.waiting else ():
            self.summary.encoded += report.rows
            if report.error:
                self.summary.failures[self.waiting[report.key]] = report.error
            now = time.perf_counter()
            self.summary.encoding_seconds, begin = self.summary.encoding_seconds + now - begin, now
            yield self._progress("Encoding")
        self.waiting.clear()

    def _progress(self, stage: str) -> Step[Summary]:
        summary, total = self.summary, max(self.plan.rows // self.plan.request.part[1], self.summary.rows)
        return Step(stage, summary.reused + summary.encoded, total, summary.encoding_seconds, summary.reused)


def _engine(plan: BulkPlan, settings: Settings, shards: Shards, work: Path, stack: ExitStack) -> ThisProcess | RayEngine:
    request = plan.request
    if not request.engine:
        return ThisProcess(plan.encoder, shards)
    staged = work / f"sbert-studio-staged-{request.part[0]}"
    engine = RayEngine(plan.encoder, settings, shards, staged, request.workers, request.address)
    stack.callback(engine.close)
    return engine


def _writer(plan: BulkPlan) -> CollectionWriter | ParquetWriter | None:
    if plan.collection and plan.checkpoint:
        return CollectionWriter(plan.collection, plan.facts, plan.checkpoint)
    return ParquetWriter(plan.request.out, plan.facts) if plan.request.out and not plan.request.partial else None


def _alone(work: Path, request: Request) -> FileLock:
    """Be the only process that does this part of the work, until the lock is released. Raises UserError if another one does."""
    name = f"part-{request.part[0]}-of-{request.part[1]}.lock" if request.partial else "run.lock"
    refusal = UserError(f"Another process is indexing with the work folder '{work}'. Wait for it, or choose another --work.")
    with writing("The work folder"):
        work.mkdir(parents=True, exist_ok=True)
    return hold(work / name, "The work folder", refusal)
