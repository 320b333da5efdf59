"""Score a file of pairs: read two text columns, encode each different sentence once, and add a column with the scores."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.explain.scale import WORDS, Scale
from sbert_app.labelled.columns import ColumnRoles
from sbert_app.labelled.examples import Reading, read_examples
from sbert_app.labelled.pair_columns import guess_pair_columns
from sbert_app.models.batching import distinct
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.services.labelled import EXAMPLES
from sbert_app.tables import Table, read_table
from sbert_app.vectors import Vectors, unit_rows

SCORING = "scoring"  # job name
SCORE_NAMES = ("score", "cosine", "cosine_of_this_app")
EXAMPLE = "instructions_labelled.csv"
BLOCK = 100_000  # pairs multiplied at a time: bounds memory


@dataclass(frozen=True)
class PairTable:
    """An uploaded table, kept in the session, so that other columns can be chosen."""

    table: Table

    @property
    def nbytes(self) -> int:
        return self.table.nbytes


@dataclass(frozen=True)
class ScoredPairs:
    """A table of pairs and the cosine of each usable row. `reading.examples` holds those rows; `scores`: (n,)."""

    table: Table
    reading: Reading
    scores: NDArray[np.float32]
    scale: Scale | None
    seconds: float

    @property
    def nbytes(self) -> int:
        """Approximate bytes of memory: the texts are in the table and in the reading."""
        return 2 * self.table.nbytes + self.scores.nbytes

    @property
    def score_column(self) -> str:
        """The name of the added column: the first of SCORE_NAMES that the file does not use."""
        return next((name for name in SCORE_NAMES if name not in self.table.frame.columns), SCORE_NAMES[-1] + "_")

    def words(self) -> dict[str, int]:
        """How many pairs each of the scale's words has."""
        words = [self.scale.word(score) for score in self.scores.tolist()] if self.scale else []
        return {word: words.count(word) for word in WORDS} if words else {}

    def records(self) -> list[dict[str, Any]]:
        """The file's rows with the score added, 4 decimals; None for a row that was skipped."""
        scores = dict(zip(self.reading.examples.rows.tolist(), self.scores.tolist(), strict=True))
        columns = [self.table.frame[column].tolist() for column in self.table.frame.columns]
        names = [*self.table.frame.columns, self.score_column]
        rows = zip(*columns, strict=True)
        return [
            dict(zip(names, [*cells, round(scores[row], 4) + 0.0 if row in scores else None], strict=True))
            for row, cells in zip(self.table.rows.tolist(), rows, strict=True)
        ]


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

    def open_file(self, session_id: str, path: Path) -> tuple[Table, tuple[str, str]]:
        """Read a file and keep it in the session. Returns it with the two columns that look like sentences."""
        return self._open(session_id, read_table(path, self._limits))

    def open_example(self, session_id: str) -> tuple[Table, tuple[str, str]]:
        """Open the bundled example as if it had been uploaded."""
        return self._open(session_id, read_table(EXAMPLES / EXAMPLE, self._limits))

    def _open(self, session_id: str, table: Table) -> tuple[Table, tuple[str, str]]:
        columns = guess_pair_columns(table.frame)
        self._bench.sessions.get(session_id).put(PairTable(table))
        return table, columns

    def score(
        self, session_id: str, first: str | None, second: str | None, model: str = DEFAULT_ENCODER
    ) -> Iterator[ScoringProgress]:
        """Score the session's file by these columns. Raises UserError for a missing column or a file without a usable row."""
        session = self._bench.sessions.get(session_id)
        kept = session.get(PairTable)
        if kept is None:
            raise UserError("There is no file of pairs yet. Upload one, or open the example.")
        mapping = ColumnRoles("positives", (str(first or ""), str(second or "")))
        reading = read_examples(kept.table, mapping, self._limits, repeats=True, least=1)
        stop = session.begin(SCORING)
        with self._bench.lines.corpora.join(stop) as waiting:
            for before in waiting:
                yield ScoringProgress(place_in_line(before, "job"))
            for progress in self._score(kept.table, reading, model, stop):
                if progress.scored is None or session.put(progress.scored, stop):
                    yield progress
                else:  # another file was scored meanwhile
                    yield ScoringProgress("Stopped", stopped=True)

    def stop(self, session_id: str) -> None:
        """Stop this session's scoring after the current batch."""
        self._bench.sessions.get(session_id).stop(SCORING)

    def clear(self, session_id: str) -> None:
        """Remove the session's file and its scores."""
        session = self._bench.sessions.get(session_id)
        session.stop(SCORING)
        session.drop(PairTable)
        session.drop(ScoredPairs)

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
        scored = ScoredPairs(table, reading, scores, scale, time.perf_counter() - start)
        yield ScoringProgress("Scored", len(unique), len(unique), scored.seconds, scored=scored)


def _cosines(unit: Vectors, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float32]:
    """The cosine of unit rows first[i] and second[i], (n,)."""
    scores = np.empty(len(first), dtype=np.float32)
    for start in range(0, len(first), BLOCK):
        block = slice(start, start + BLOCK)
        scores[block] = np.einsum("nd,nd->n", unit[first[block]], unit[second[block]])
    return scores
