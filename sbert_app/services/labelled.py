"""Labelled tables: read as examples, split in three, kept in the visitor's session until training starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.labelled.columns import Mapping, guess_mapping, target_kind
from sbert_app.labelled.examples import Examples, Reading, read_examples
from sbert_app.labelled.splits import Split, split
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import ASSETS
from sbert_app.tables import Table, read_table

EXAMPLES = ASSETS / "labelled"


@dataclass(frozen=True)
class Offer:
    """A table, the columns it is read by, its examples, and how they are split: what the first step shows."""

    table: Table
    mapping: Mapping
    reading: Reading
    split: Split

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it holds, about: the texts stand in the table and in the examples."""
        return 2 * self.table.nbytes


class LabelledData:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def read_file(self, path: Path, name: str = "") -> Table:
        return read_table(path, self._limits, name)

    def example(self, name: str) -> Table:
        """One of the example files written for this project."""
        names = sorted(path.name for path in EXAMPLES.glob("*.csv"))
        if name not in names:
            raise UserError(f"There is no example {name!r}. Choose one of {', '.join(names)}.")
        return read_table(EXAMPLES / name, self._limits)

    def offer(self, session_id: str, table: Table) -> Offer:
        """Read a table by guessed columns and keep it for the visitor. Raises UserError and changes nothing where that fails."""
        offer = self.read(table, guess_mapping(table.frame))
        self._bench.sessions.get(session_id).put(offer)
        return offer

    def remap(self, session_id: str, mapping: Mapping) -> Offer:
        """Read the visitor's table by these columns, where it is not read so already, and keep that."""
        before = self.current(session_id)
        if before.mapping == mapping:
            return before
        offer = self.read(before.table, mapping)
        self._bench.sessions.get(session_id).swap(before, offer)
        return offer

    def mapping(
        self, table: Table, kind: str, sentences: Sequence[str | None], target: str | None, positive: str | None
    ) -> Mapping:
        """The reading a person chose. A kind just chosen gets the columns it needs beside those that are set."""
        columns = [*sentences]
        rest = [name for name in table.frame.columns if name not in columns]
        if kind == "triplets" and not columns[2]:
            columns[2] = rest[0] if rest else ""
        if kind in ("scored", "labelled") and not target:
            fitting = [name for name in rest if target_kind(table.frame, name) == kind]
            target = (fitting or rest or [""])[0]
        return Mapping(
            kind=kind,
            sentences=tuple(name or "" for name in columns[: 3 if kind == "triplets" else 2]),
            target=(target or "") if kind in ("scored", "labelled") else "",
            positive=positive or "",
        )

    def withdraw(self, session_id: str) -> None:
        """Take back the offered table."""
        self._bench.sessions.get(session_id).drop(Offer)

    def current(self, session_id: str) -> Offer:
        """What the visitor trains on, as it is read now. Raises UserError where there is nothing yet."""
        offer = self._bench.sessions.get(session_id).get(Offer)
        if offer is None:
            raise UserError("There is nothing to train on yet. Upload labelled pairs, or pick an example.")
        return offer

    def read(self, table: Table, mapping: Mapping, held_out: Table | None = None, dev: Table | None = None) -> Offer:
        """Read and split. Held-out and dev parts are cut off where no table is given for them."""
        reading = read_examples(table, mapping, self._limits)
        dev_part, held_part = (self._like(reading.examples, other, mapping) for other in (dev, held_out))
        return Offer(table, mapping, reading, split(reading.examples, dev_part, held_part))

    def _like(self, examples: Examples, table: Table | None, mapping: Mapping) -> Examples | None:
        """Another table's examples, on the scale and with the labels of the first."""
        if table is None:
            return None
        other = read_examples(table, mapping, self._limits).examples
        if other.labels != examples.labels:
            raise UserError(f"'{table.name}' has the labels {', '.join(other.labels)}, not {', '.join(examples.labels)}.")
        (low, high), (own_low, own_high) = examples.score_range, other.score_range
        raw = other.targets * (own_high - own_low) + own_low
        targets = (raw - low) / (high - low) if examples.kind == "scored" else other.targets
        return replace(other, targets=targets, positive=examples.positive, score_range=examples.score_range)
