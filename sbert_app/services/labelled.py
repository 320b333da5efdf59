"""Labelled tables: read as examples, split in three, kept in the visitor's session until training starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table, read_table
from sbert_app.training.columns import Mapping, guess_mapping, target_kind
from sbert_app.training.examples import Examples, Reading, read_examples
from sbert_app.training.splits import Split, split

EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "labelled"


@dataclass(frozen=True)
class Offer:
    """A table read as examples and split: what the first step shows."""

    reading: Reading
    split: Split


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

    def offer(self, session_id: str, table: Table) -> Mapping:
        """Put a table before the visitor. Returns the guessed reading; raises UserError where there is none."""
        mapping = guess_mapping(table.frame)
        self._bench.sessions.get(session_id).labelled = table
        return mapping

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
        self._bench.sessions.get(session_id).labelled = None

    def table(self, session_id: str) -> Table:
        table = self._bench.sessions.get(session_id).labelled
        if table is None:
            raise UserError("There is nothing to train on yet. Upload labelled pairs, or pick an example.")
        return table

    def read(self, table: Table, mapping: Mapping, held_out: Table | None = None, dev: Table | None = None) -> Offer:
        """Read and split. Held-out and dev parts are cut off where no table is given for them."""
        reading = read_examples(table, mapping, self._limits)
        dev_part, held_part = (self._like(reading.examples, other, mapping) for other in (dev, held_out))
        return Offer(reading, split(reading.examples, dev_part, held_part))

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
