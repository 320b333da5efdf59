"""Evaluate systems on labelled pairs or triplets: SBERT's cosine, a cross-encoder, word overlap."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.corpus.lexical import word_overlap
from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import Verdict, judge, measure, predict
from sbert_app.evaluation.weighted import Array
from sbert_app.labelled.columns import ColumnRoles, guess_mapping
from sbert_app.labelled.examples import Examples, Reading, read_examples
from sbert_app.models.cross_encoder import CrossEncoder, Pair
from sbert_app.models.encoder import Encoder
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.runtime.stop import Stop, Visitor
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.tables import Table
from sbert_app.training.head import load_head, predict_labels
from sbert_app.vectors import Vectors

SBERT, CROSS, OVERLAP = "sbert", "cross-encoder", "word-overlap"
SYSTEMS = (SBERT, CROSS, OVERLAP)


@dataclass(frozen=True)
class SystemResult:
    """One system's measures as fractions, the number of sentences scored, and the seconds it took."""

    system: str
    model: str
    measures: dict[str, float]
    sentences: int
    seconds: float


class EvaluationService:
    """Stateless apart from the workbench."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def read(self, table: Table, mapping: ColumnRoles | None = None) -> Reading:
        """Read every usable row, including repeated ones."""
        return read_examples(table, mapping or guess_mapping(table.frame), self._bench.settings.limits, repeats=True, least=2)

    def evaluate(
        self,
        examples: Examples,
        model: str = DEFAULT_ENCODER,
        systems: Sequence[str] = (SBERT,),
        cross_encoder: str = "",
        visitor: Visitor | None = None,
    ) -> list[SystemResult]:
        """Measure each system on the same examples, after waiting in the queue. Raises UserError for an unknown system."""
        unknown = [name for name in validation.names(list(systems), "systems") if name not in SYSTEMS]
        if unknown or not systems:
            raise UserError(f"Unknown system {(unknown or [''])[0]!r}. Must be one of {', '.join(SYSTEMS)}.")
        if examples.kind == "positives" and set(systems) != {SBERT}:
            raise UserError("Pairs without scores or labels can only be evaluated for the system sbert.")
        with self._bench.lines.corpora.join(Stop(visitor)) as waiting:
            deque(waiting, maxlen=0)
            return [self._measure(name, examples, model, cross_encoder or DEFAULT_CROSS_ENCODER) for name in systems]

    def compare(self, examples: Examples, encoder: Encoder, cross: CrossEncoder, most: int) -> Verdict | None:
        """Compare SBERT (before) with the cross-encoder (after) on at most `most` examples. None for pairs without scores."""
        if examples.kind == "positives":
            return None
        sample = examples.take(np.random.default_rng(0).permutation(len(examples))[:most])
        sbert = predict(sample.kind, self._embed(encoder, sample))
        return judge(sample.kind, sbert, _predict_pairs(sample, self._scorer(cross)), sample.gold)

    def _measure(self, system: str, examples: Examples, model: str, cross_encoder: str) -> SystemResult:
        sentences = sum(map(len, examples.sentences))
        if system == SBERT:
            return self._sbert(examples, model, sentences)
        name = cross_encoder if system == CROSS else "Jaccard"
        score = self._scorer(self._bench.registry.cross_encoder(cross_encoder)) if system == CROSS else _overlaps
        start = time.perf_counter()
        predicted = _predict_pairs(examples, score)
        seconds = time.perf_counter() - start
        return SystemResult(system, name, measure(examples.kind, predicted, examples.gold), sentences, seconds)

    def _sbert(self, examples: Examples, model: str, sentences: int) -> SystemResult:
        encoder = self._bench.registry.encoder(model)
        start = time.perf_counter()
        columns = self._embed(encoder, examples)
        measures = measure(examples.kind, predict(examples.kind, columns), examples.gold)
        seconds = time.perf_counter() - start
        head = load_head(encoder.folder) if examples.kind == "labelled" and encoder.folder else None
        if head and head[1] == examples.labels:
            measures["head_accuracy"] = float((predict_labels(head[0], *columns) == examples.targets).mean())
        return SystemResult(SBERT, model, measures, sentences, seconds)

    def _embed(self, encoder: Encoder, examples: Examples) -> list[Vectors]:
        """One (n, dim) array per sentence column; the device is released between batches."""
        columns = []
        for sentences in examples.sentences:
            embeddings = np.empty((len(sentences), encoder.dim), dtype=np.float32)
            for rows, vectors in self._bench.device.stream(encoder, sentences):
                embeddings[rows] = vectors
            columns.append(embeddings)
        return columns

    def _scorer(self, cross: CrossEncoder) -> Callable[[list[Pair]], Array]:
        return lambda pairs: self._bench.device.scores(cross, pairs).astype(np.float64)


def _predict_pairs(examples: Examples, score: Callable[[list[Pair]], Array]) -> Array:
    """Score each example with a pair scorer, (n,), higher is closer. Triplets: score of the positive minus the negative."""
    anchor, *others = examples.sentences
    scores = [score(list(zip(anchor, other, strict=True))) for other in others]
    return scores[0] - scores[1] if examples.kind == "triplets" else scores[0]


def _overlaps(pairs: list[Pair]) -> Array:
    return np.array([word_overlap(first, second) for first, second in pairs])
