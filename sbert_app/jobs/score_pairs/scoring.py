"""Score a file of pairs: encode each different sentence once, add a column of scores, and compare them with the file's labels."""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.evaluation.agreement import label_agreement
from sbert_app.labelled.columns import ColumnRoles
from sbert_app.labelled.examples import Reading, check_columns, read_examples
from sbert_app.labelled.pair_columns import PairColumns, PairLabels, guess_pair_columns, read_pair_labels
from sbert_app.labelled.scored_pairs import ScoredPairs
from sbert_app.models.engine.batching import distinct
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.step import Step
from sbert_app.tables import Table
from sbert_app.vectors import Vectors, unit_rows

SCORING = "scoring"  # job name
BLOCK = 100_000  # pairs multiplied at a time: bounds memory


@dataclass(frozen=True)
class PairTable:
    """An uploaded table, kept in the session, so that other columns can be chosen."""

    table: Table


def open_pairs(session: Session, table: Table) -> PairColumns:
    """Keep a table in the session. Returns its likely columns."""
    columns = guess_pair_columns(table.frame)
    session.put(PairTable(table))
    return columns


def close_pairs(session: Session) -> None:
    """Remove the session's file and its scores."""
    session.stop(SCORING)
    session.drop(PairTable)
    session.drop(ScoredPairs)


def score_opened(bench: Workbench, session: Session, columns: PairColumns, model: str) -> Iterator[Step[ScoredPairs]]:
    """Score the session's file by these columns. If only the labels are others than before, the scores are kept.

    The last step has the result or is stopped. Raises UserError for a missing column, labels that cannot be compared, or a file
    without a usable row.
    """
    kept = session.get(PairTable)
    if kept is None:
        raise UserError("There is no file of pairs yet. Upload one, or open the example.")
    reading, labels = _read(bench, kept.table, columns)
    stop = session.begin(SCORING)
    for step in _steps(bench, kept.table, reading, labels, model, stop, session.get(ScoredPairs)):
        if step.result is None or session.put(step.result, stop):
            yield step
        else:  # another file was scored meanwhile
            yield Step("Stopped", stopped=True)


def score_table(bench: Workbench, table: Table, columns: PairColumns, model: str, stop: Stop) -> Iterator[Step[ScoredPairs]]:
    """Score a table that is in no session, as `score_opened` does."""
    yield from _steps(bench, table, *_read(bench, table, columns), model, stop)


def _read(bench: Workbench, table: Table, columns: PairColumns) -> tuple[Reading, PairLabels | None]:
    """Read the usable rows, and their labels if a column of labels is chosen."""
    roles = ColumnRoles("positives", columns.sentences)
    reading = read_examples(table, roles, bench.settings.limits, repeats=True, least=1)
    if not columns.labels:
        return reading, None
    check_columns(table, [*columns.sentences, columns.labels])
    cells = dict(zip(table.rows.tolist(), table.frame[columns.labels].tolist(), strict=True))
    return reading, read_pair_labels(columns.labels, [cells[row] for row in reading.examples.rows.tolist()])


def _steps(
    bench: Workbench,
    table: Table,
    reading: Reading,
    labels: PairLabels | None,
    model: str,
    stop: Stop,
    earlier: ScoredPairs | None = None,
) -> Iterator[Step[ScoredPairs]]:
    """Wait in the queue and score, unless an earlier result has these scores; then compare with the labels."""
    kept = earlier and earlier.table is table and (earlier.model, earlier.reading.mapping) == (model, reading.mapping)
    scored = earlier if kept else None
    if scored is None:
        with bench.lines.corpora.join(stop) as waiting:
            for before in waiting:
                yield Step(place_in_line(before, "job"))
            scored = yield from _scored(bench, table, reading, model, stop)
    if scored is not None:
        yield Step("Comparing with the labels" if labels else "Sorting")
        yield Step("Scored", seconds=scored.seconds, result=_compared(scored, labels))


def _scored(
    bench: Workbench, table: Table, reading: Reading, model: str, stop: Stop
) -> Generator[Step[ScoredPairs], None, ScoredPairs | None]:
    """Encode the sentences. Returns their scores without labels, None if stopped."""
    yield Step("Loading the model")
    encoder = bench.registry.encoder(model)
    scale = bench.examples.scale(encoder)
    start = time.perf_counter()
    unique, position = distinct(list(chain(*reading.examples.sentences)))
    embeddings = np.empty((len(unique), encoder.dim), dtype=np.float32)
    done = 0
    for rows, vectors in bench.device.stream(encoder, unique):
        embeddings[rows] = vectors
        done += len(rows)
        if stop.is_set():
            yield Step("Stopped", done, len(unique), stopped=True)
            return None
        yield Step("Encoding", done, len(unique), time.perf_counter() - start)
    scores = _cosines(unit_rows(embeddings), position[: len(reading.examples)], position[len(reading.examples) :])
    return ScoredPairs(table, reading, scores, scale, model, time.perf_counter() - start)


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
