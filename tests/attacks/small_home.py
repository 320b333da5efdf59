"""A small real data home for the attacks: tiny models, one saved corpus, one finished run, one interrupted."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from sbert_app.jobs.corpus import job
from sbert_app.jobs.corpus.opening import read_lines
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.jobs.fine_tune.job import FineTuneOptions, plan_of
from sbert_app.jobs.fine_tune.preparing import TrainingData, example_table
from sbert_app.models.files.finding import DEFAULT_ENCODER, bundled_folder
from sbert_app.models.files.layout import Layout, write_layout
from sbert_app.runs import execution
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import DevScore, RunState
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings

BASE, SAVED = "base", "saved"  # the model that everything uses, and one that nothing needs
ROWS = 60
WAIT_SECONDS = 60
PAIRS = "requests_scored.csv"
SENTENCES = [f"{noun} number {i} {verb}" for i, (noun, verb) in enumerate(
    (noun, verb) for noun in ("card", "parcel", "invoice", "password", "account", "bill") for verb in ("is lost", "came late") * 5
)]  # fmt: skip


def settings(home: Path) -> Settings:
    return Settings(home=home, device="cpu", precision="fp32")


def tiny_model(folder: Path) -> None:
    """A sentence-transformers folder of one small layer with random weights, 4 MB: quick to load and to train."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(bundled_folder())
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(tokenizer), **size)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_layout(folder, Layout(), dim=32, max_length=64)


def index(bench: Workbench, sentences: list[str]) -> Session:
    """Index sentences as the app does, which also saves them. Returns the session."""
    session = bench.sessions.open()
    session.put(read_lines("\n".join(sentences), bench.settings.limits))
    list(job.index(bench, session, ["text"], BASE))
    return session


def training_data(bench: Workbench) -> TrainingData:
    table = example_table(PAIRS, bench.settings.limits)
    table = type(table)(table.name, table.frame.head(ROWS), table.rows[:ROWS])
    return preparing.load(bench, bench.sessions.open(), table)


def planned(data: TrainingData, base: str = DEFAULT_ENCODER, adjust: Mapping[str, Any] | None = None, **options: Any) -> Plan:
    """The plan of a training with these options."""
    return plan_of(FineTuneOptions(None, model=base, **options), data, adjust)


def plan(data: TrainingData) -> Plan:
    return planned(data, BASE, epochs=2, learning_curve=False)


def resumed(bench: Workbench, run_id: str) -> RunState:
    """The state of an interrupted run that went on to its end, or for a minute."""
    running.resume(bench, run_id)
    end = time.monotonic() + WAIT_SECONDS
    while (progress := running.state(bench, run_id)).info.live and time.monotonic() < end:
        time.sleep(0.02)
    return progress


@contextmanager
def checkpoints_at_once() -> Iterator[None]:
    """Tiny runs are over before the first checkpoint is due: save one after each evaluation."""
    before, execution.EVALUATED_SECONDS = execution.EVALUATED_SECONDS, 0.0
    try:
        yield
    finally:
        execution.EVALUATED_SECONDS = before


@dataclass(frozen=True)
class Ids:
    """What lies in the home."""

    corpus: str
    finished: str
    interrupted: str


def build(home: Path) -> Ids:
    """Two models, a corpus with two cache segments, a finished run, and one that was left after its second checkpoint."""
    for name in (BASE, SAVED):
        tiny_model(home / "models" / name)
    bench = Workbench(settings(home))
    index(bench, SENTENCES[: len(SENTENCES) // 2])
    bench.library.delete(bench.library.list()[0].id)
    index(bench, SENTENCES)
    data = training_data(bench)
    finished, interrupted = (running.create(bench, data, plan(data), name=name) for name in ("finished", "interrupted"))
    with checkpoints_at_once():
        with finished.lock():
            list(running.train_here(bench, finished))
        with interrupted.lock():
            steps = running.train_here(bench, interrupted)
            while sum(isinstance(event, DevScore) for event in interrupted.events()) < 3:
                next(steps)
            steps.close()
    return Ids(bench.library.list()[0].id, finished.id, interrupted.id)
