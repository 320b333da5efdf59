"""Read labelled tables as examples, split them in three, and keep them in the visitor's session until training starts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.labelled.columns import ColumnRoles, guess_mapping, target_kind
from sbert_app.labelled.examples import Examples, Reading, read_examples
from sbert_app.labelled.groups import SENTENCES, SPLITS
from sbert_app.labelled.splits import Column, Split, split
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.settings import ASSETS
from sbert_app.tables import Table, read_table

EXAMPLES = ASSETS / "labelled"
TEST, DEV = "held_out", "dev"  # the parts that may be a file of their own


@dataclass(frozen=True)
class SplitChoice:
    """How to split: "sentences" or "pairs" keeps those in one part, a column its values; a part may be a file of its own."""

    by: str = SENTENCES
    column: str = ""
    held_out: Table | None = field(default=None, compare=False)
    dev: Table | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TrainingData:
    """A labelled table, its column mapping, the examples read from it, and their split."""

    table: Table
    mapping: ColumnRoles
    reading: Reading
    split: Split
    choice: SplitChoice = field(default_factory=SplitChoice)


class LabelledData:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def read_file(self, path: Path, name: str = "") -> Table:
        return read_table(path, self._limits, name)

    def example(self, name: str) -> Table:
        """Read a bundled example file."""
        names = sorted(path.name for path in EXAMPLES.glob("*.csv"))
        if name not in names:
            raise UserError(f"There is no example {name!r}. Choose one of {', '.join(names)}.")
        return read_table(EXAMPLES / name, self._limits)

    def load(self, session: Session, table: Table) -> TrainingData:
        """Read a table with guessed columns and keep it in the session. Raises UserError, leaving the session unchanged."""
        data = self.read(table, guess_mapping(table.frame))
        session.put(data)
        return data

    def remap(self, session: Session, mapping: ColumnRoles, by: Any = None, column: Any = None) -> TrainingData:
        """Read the session's table with these columns and this split (None: as it is), unless it is the current one."""
        before = self.current(session)
        choice = before.choice
        if by is not None or column is not None:
            choice = replace(choice, by=by or SENTENCES, column=column or "")
        if (before.mapping, before.choice) == (mapping, choice):
            return before
        return self._swap(session, before, mapping, choice)

    def set_part(self, session: Session, part: str, table: Table | None) -> TrainingData:
        """Use a table as the TEST or DEV part, or with None cut that part from the data again."""
        before = self.current(session)
        changed: dict[str, Any] = {part: table}
        return self._swap(session, before, before.mapping, replace(before.choice, **changed))

    def _swap(self, session: Session, before: TrainingData, mapping: ColumnRoles, choice: SplitChoice) -> TrainingData:
        data = self.read(before.table, mapping, choice)
        session.swap(before, data)
        return data

    def mapping(
        self, table: Table, kind: str, sentences: Sequence[str | None], target: str | None, positive: str | None
    ) -> ColumnRoles:
        """Build a mapping from the choices on the page. If the kind needs more columns, fill them with unused ones."""
        columns = [*sentences]
        unused = [name for name in table.frame.columns if name not in columns]
        if kind == "triplets" and not columns[2]:
            columns[2] = unused[0] if unused else ""
        if kind in ("scored", "labelled") and not target:
            fitting = [name for name in unused if target_kind(table.frame, name) == kind]
            target = (fitting or unused or [""])[0]
        return ColumnRoles(
            kind=kind,
            sentences=tuple(name or "" for name in columns[: 3 if kind == "triplets" else 2]),
            target=(target or "") if kind in ("scored", "labelled") else "",
            positive=positive or "",
        )

    def clear(self, session: Session) -> None:
        """Remove the session's training data."""
        session.drop(TrainingData)

    def current(self, session: Session) -> TrainingData:
        """The session's training data. Raises UserError if there is none."""
        data = session.get(TrainingData)
        if data is None:
            raise UserError("There is no training data yet. Upload labelled pairs, or choose an example.")
        return data

    def read(self, table: Table, mapping: ColumnRoles, choice: SplitChoice | None = None) -> TrainingData:
        """Read a table and split it. Dev and held-out parts without a table of their own are taken from it."""
        choice = choice or SplitChoice()
        by = validation.one_of(choice.by, "split", SPLITS) or SENTENCES
        reading = read_examples(table, mapping, self._limits)
        dev, held_out = (self._read_part(reading.examples, other, mapping) for other in (choice.dev, choice.held_out))
        column = _column(table, reading, choice.column) if choice.column else None
        parts = split(reading.examples, dev, held_out, by=by, column=column)
        if not len(parts.dev):
            raise UserError("Every pair of the dev part is also held out. Choose another dev or test file.")
        if not len(parts.train):
            raise UserError("Every pair for training is also in the dev or held-out part. Choose another dev or test file.")
        return TrainingData(table, mapping, reading, parts, choice)

    def _read_part(self, examples: Examples, table: Table | None, mapping: ColumnRoles) -> Examples | None:
        """Read another table's examples, with scores on the same scale. Raises UserError if the labels differ."""
        if table is None:
            return None
        other = read_examples(table, mapping, self._limits).examples
        if other.labels != examples.labels:
            raise UserError(f"'{table.name}' has the labels {', '.join(other.labels)}, not {', '.join(examples.labels)}.")
        (low, high), (other_low, other_high) = examples.score_range, other.score_range
        raw = other.targets * (other_high - other_low) + other_low
        targets = (raw - low) / (high - low) if examples.kind == "scored" else other.targets
        return replace(other, targets=targets, positive=examples.positive, score_range=examples.score_range)


def _column(table: Table, reading: Reading, name: Any) -> Column:
    """The values of a column for the examples. Raises UserError if it does not exist or is the target."""
    if not isinstance(name, str) or name not in table.frame.columns:
        raise UserError(f"'{table.name}' has no column '{name}'. Its columns are: {', '.join(table.frame.columns)}.")
    if name == reading.mapping.target:
        raise UserError(f"The column '{name}' is what the model learns, so it cannot split the data. Choose another column.")
    values = dict(zip(table.rows.tolist(), table.frame[name].tolist(), strict=True))
    return Column(name, [values[row] for row in reading.examples.rows.tolist()])
