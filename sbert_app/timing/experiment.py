"""The whole measurement of a race: which models, under which conditions, then warm up, race, run all pairs of a few, search."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date

import torch

from sbert_app.evaluation.agreement import agreement
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware, machine
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.models.registry import Registry
from sbert_app.step import Step
from sbert_app.timing import measurements
from sbert_app.timing.lane import Device
from sbert_app.timing.measurements import SmallRun, median_seconds, query_timings, small_run
from sbert_app.timing.race import DONE, STOPPED, Race, RaceCorpus, RaceState, product_throughput
from sbert_app.timing.result import Conditions, TimingResult
from sbert_app.vectors import unit_rows

READY_SECONDS = 4  # to wait for the faster engine of a model just loaded
CHECK_SECONDS = 4.0  # of cross-encoder computing, for all pairs of a few sentences
QUERIES = 24
BACKBONE = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")


def size_of(model: Encoder | CrossEncoder) -> str:
    """The size of its transformer, such as "6 layers of 384"; the type of an encoder over word vectors."""
    config = model.config
    layers, width = getattr(config, "num_hidden_layers", None), getattr(config, "hidden_size", None)
    return f"{layers} layers of {width}" if layers and width else str(config.model_type)


def same_backbone(encoder: Encoder, cross: CrossEncoder) -> bool:
    """Whether both transformers have the same type and size, so that their speeds can be compared."""
    first, second = encoder.config, cross.config
    return all(getattr(first, key, None) == getattr(second, key, None) for key in BACKBONE)


def cross_encoder_like(registry: Registry, encoder: Encoder, name: str = "") -> tuple[CrossEncoder, bool]:
    """Return (cross-encoder to time beside the encoder, whether its head is trained); an untrained one only serves for timing.

    name: which; "": the bundled one or, where that has another backbone, the encoder's with an untrained head.
    """
    chosen = registry.cross_encoder(name or DEFAULT_CROSS_ENCODER)
    if name or same_backbone(encoder, chosen) or encoder.folder is None or encoder.of_words:
        return chosen, True
    fp32 = replace(registry.hardware, dtype=torch.float32)
    untrained = CrossEncoder.untrained(encoder.folder / encoder.layout.transformer_path, fp32, labels=1)
    untrained.name = f"{encoder.name} with an untrained head"
    return untrained.cast(registry.hardware), False


def on_each_device(registry: Registry, name: str) -> Iterator[Encoder]:
    """Yield the encoder on the app's device, and if that is a GPU, on the CPU too."""
    encoder = registry.encoder(name)
    yield encoder
    if encoder.hardware.device.type != "cpu" and encoder.folder is not None:
        yield Encoder.from_folder(encoder.folder, choose_hardware("cpu"), encoder.name)


@dataclass(frozen=True)
class RaceRequest:
    """What is to be raced. cross_encoder: which, "": one with the encoder's backbone; seconds: of cross-encoder computing."""

    corpus: RaceCorpus
    model: str
    cross_encoder: str
    seconds: float


def run_race(registry: Registry, asked: RaceRequest, device: Device, stopping: Callable[[], bool]) -> Iterator[Step[RaceState]]:
    """Load both models and run all measurements. Raises UserError for a cross-encoder with several labels."""
    corpus, encoder = asked.corpus, registry.encoder(asked.model)
    cross, trained = cross_encoder_like(registry, encoder, asked.cross_encoder)
    registry.acceleration.wait(READY_SECONDS, stopping)
    shared = encoder.engine.name == cross.engine.name  # else torch for both, side by side on one engine, which stays the same
    encoder = encoder.on(encoder.engine if shared else encoder.torch_engine)
    cross = cross.on(cross.engine if shared else cross.torch_engine)
    conditions = Conditions(
        corpus=corpus.name,
        sentences=len(corpus.sentences),
        encoder=encoder.name,
        cross_encoder=cross.name,
        head_trained=trained,
        same_backbone=same_backbone(encoder, cross),
        machine=machine(),
        hardware=encoder.runs_on,
        max_tokens=(encoder.max_length, cross.max_length),
        date=date.today().isoformat(),
        notes=corpus.notes,
        trained_for=cross.trained_for,
        sizes=(size_of(encoder), size_of(cross)),
    )
    yield from experiment(Race(encoder, cross, corpus.sentences, device), conditions, asked.seconds, stopping)


def experiment(race: Race, conditions: Conditions, seconds: float, stopping: Callable[[], bool]) -> Iterator[Step[RaceState]]:
    """Run all measurements, with a step after each batch. Ends early once `stopping`.

    seconds: of cross-encoder computing in the race. The last step's state holds the result, None if it was stopped too early.
    """
    for _ in race.warm_up():
        yield Step("Warming up, not counted")
        if stopping():
            break
    with closing(race.run(seconds)) as states:
        for state in states:
            yield Step("Racing", result=replace(state, conditions=conditions))
            if stopping():
                break
    cross, encode, state, timing = race.cross.throughput(), race.sbert.throughput(), race.state, None
    if cross and encode:
        product = product_throughput(race.encoder.dim, race.device)
        timing = TimingResult(cross, encode, product, conditions=conditions, answer=state.answer, waited=state.waited)
    state = replace(state, conditions=conditions, timing=timing)
    for stage, checked in _checks(race, timing) if timing and not stopping() else ():
        state = replace(state, timing=checked)
        yield Step(stage, result=state)
        if stopping():
            break
    stopped = stopping()
    state = replace(state, timing=state.timing and replace(state.timing, stopped=stopped))
    yield Step(STOPPED if stopped else DONE, result=state, stopped=stopped)


def _checks(race: Race, result: TimingResult) -> Iterator[tuple[str, TimingResult]]:
    """Run the measurements after the race; yields (stage, result so far)."""
    sizes = measurements.sizes(len(race.sentences), result.cross.rate, CHECK_SECONDS)
    runs: list[SmallRun] = []
    for size in sizes:
        for run in small_run(race.encoder, race.cross_encoder, race.sentences[:size], race.device):
            runs += [run] if run else []
            yield f"Running both on all pairs of {sizes[-1]} sentences", result
    agreed = agreement(runs[-1].sbert_scores, runs[-1].cross_scores) if result.conditions.head_trained else None
    result = replace(result, runs=tuple(runs), agreement=agreed)
    yield "Timing searches", result
    encode_one = median_seconds(lambda query: race.encoder.encode([query]), race.sentences[:QUERIES], race.device)
    result = replace(result, encode_one=encode_one)
    for timing in query_timings(unit_rows(race.embeddings), race.device):
        result = replace(result, queries=(*result.queries, timing))
        yield "Timing searches", result
