"""Score a file of pairs: encode each different sentence once, add a column of scores, and compare them with the file's labels."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.evaluation.agreement import label_agreement
from sbert_app.labelled.columns import ColumnRoles
from sbert_app.labelled.examples import Reading, check_columns, read_examples
from sbert_app.labelled.pair_columns import PairColumns, PairLabels, guess_pair_columns, read_pair_labels
from sbert_app.labelled.scored_pairs import ScoredPairs
from sbert_app.labelled.training_data import EXAMPLES
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.models.engine.batching import distinct
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table, read_table
from sbert_app.vectors import Vectors, unit_rows

SCORING = "scoring"  # job name
EXAMPLE = "instructions_labelled.csv"
BLOCK = 100_000  # pairs multiplied at a time: bounds memory


@dataclass(frozen=True)
class PairTable:
    """An uploaded table, kept in the session, so that other columns can be chosen."""

    table: Table


@dataclass(frozen=True)
class ScoringProgress:
    """Progress in sentences. The last event holds the result or is `stopped`."""

    stage: str
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    stopped: bool = False
    scored: ScoredPairs | None = None


class PairFileService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def open_file(self, session: Session, path: Path) -> tuple[Table, PairColumns]:
        """Read a file and keep it in the session. Returns it with its likely columns."""
        return self._open(session, read_table(path, self._limits))

    def open_example(self, session: Session) -> tuple[Table, PairColumns]:
        """Open the bundled example as if it had been uploaded."""
        return self._open(session, read_table(EXAMPLES / EXAMPLE, self._limits))

    def _open(self, session: Session, table: Table) -> tuple[Table, PairColumns]:
        columns = guess_pair_columns(table.frame)
        session.put(PairTable(table))
        return table, columns

    def has_file(self, session: Session) -> bool:
        return session.get(PairTable) is not None

    def score(self, session: Session, columns: PairColumns, model: str = DEFAULT_ENCODER) -> Iterator[ScoringProgress]:
        """Score the session's file by these columns. If only the labels are others than before, the scores are kept.

        Raises UserError for a missing column, labels that cannot be compared, or a file without a usable row.
        """
        kept, earlier = session.get(PairTable), session.get(ScoredPairs)
        if kept is None:
            raise UserError("There is no file of pairs yet. Upload one, or open the example.")
        reading, labels = self._read(kept.table, columns)
        stop = session.begin(SCORING)
        for progress in self._steps(kept.table, reading, labels, model, stop, earlier):
            if progress.scored is None or session.put(progress.scored, stop):
                yield progress
            else:  # another file was scored meanwhile
                yield ScoringProgress("Stopped", stopped=True)

    def score_table(self, table: Table, columns: PairColumns, model: str, stop: Stop) -> Iterator[ScoringProgress]:
        """Score a table that is in no session, as `score` does."""
        reading, labels = self._read(table, columns)
        yield from self._steps(table, reading, labels, model, stop)

    def stop(self, session: Session) -> None:
        """Stop this session's scoring after the current batch."""
        session.stop(SCORING)

    def clear(self, session: Session) -> None:
        """Remove the session's file and its scores."""
        session.stop(SCORING)
        session.drop(PairTable)
        session.drop(ScoredPairs)

    def _read(self, table: Table, columns: PairColumns) -> tuple[Reading, PairLabels | None]:
        """Read the usable rows, and their labels if a column of labels is chosen."""
        mapping = ColumnRoles("positives", columns.sentences)
        reading = read_examples(table, mapping, self._limits, repeats=True, least=1)
        if not columns.labels:
            return reading, None
        check_columns(table, [*columns.sentences, columns.labels])
        cells = dict(zip(table.rows.tolist(), table.frame[columns.labels].tolist(), strict=True))
        return reading, read_pair_labels(columns.labels, [cells[row] for row in reading.examples.rows.tolist()])

    def _steps(
        self, table: Table, reading: Reading, labels: PairLabels | None, model: str, stop: Stop, earlier: ScoredPairs | None = None
    ) -> Iterator[ScoringProgress]:
        """Wait in the queue and score, unless an earlier result has these scores; then compare with the labels."""
        kept = earlier and earlier.table is table and (earlier.model, earlier.reading.mapping) == (model, reading.mapping)
        scored = earlier if kept else None
        if scored is None:
            with self._bench.lines.corpora.join(stop) as waiting:
                for before in waiting:
                    yield ScoringProgress(place_in_line(before, "job"))
                for progress in self._score(table, reading, model, stop):
                    scored = progress.scored
                    if scored is None:
                        yield progress
        if scored is not None:
            yield ScoringProgress("Comparing with the labels" if labels else "Sorting")
            yield ScoringProgress("Scored", seconds=scored.seconds, scored=_compared(scored, labels))

    def _score(self, table: Table, reading: Reading, model: str, stop: Stop) -> Iterator[ScoringProgress]:
        yield ScoringProgress("Loading the model")
        encoder = self._bench.registry.encoder(model)
        scale = self._bench.examples.scale(encoder)
        start = time.perf_counter()
        columns = reading.examples.sentences
        unique, position = distinct(list(chain(*columns)))
        embeddings = np.empty((len(unique), encoder.dim), dtype=np.float32)
        progress = ScoringProgress("Encoding", 0, len(unique))
        for rows, vectors in self._bench.device.stream(encoder, unique):
            embeddings[rows] = vectors
            seconds = time.perf_counter() - start
            progress = ScoringProgress("Encoding", progress.done + len(rows), len(unique), seconds)
            if stop.is_set():
                yield ScoringProgress("Stopped", progress.done, len(unique), stopped=True)
                return
            yield progress
        scores = _cosines(unit_rows(embeddings), position[: len(reading.examples)], position[len(reading.examples) :])
        scored = ScoredPairs(table, reading, scores, scale, model, time.perf_counter() - start)
        yield ScoringProgress("Scored", len(unique), len(unique), scored.seconds, scored=scored)


def _compared(scored: ScoredPairs, labels: PairLabels | None) -> ScoredPairs:
    """The scores with these labels and their agreement."""
    if labels is None:
        return replace(scored, labels=None, agreement=None)
    labelled = labels.labelled
    agreement = label_agreement(labels.kind, scored.scores[labelled].astype(np.float64), labels.gold[labelled])
    return replace(scored, labels=labels, agreement=agreement)


def _cosines(unit: Vectors, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float32]:
    """The cosine of unit rows first[i] and second[i], (n,)."""
    scores = np.empty(len(first), dtype=np.float32)
    for start in range(0, len(first), BLOCK):
        block = slice(start, start + BLOCK)
        scores[block] = np.einsum("nd,nd->n", unit[first[block]], unit[second[block]])
    return scores
