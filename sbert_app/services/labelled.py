"""Read labelled tables as examples, split them in three, and keep them in the visitor's session until training starts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.labelled.columns import ColumnRoles, guess_mapping, target_kind
from sbert_app.labelled.groups import SENTENCES, SPLITS
from sbert_app.labelled.training_data import SplitChoice, TrainingData, example_table, read_training_data
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.tables import Table, read_table


class LabelledData:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def read_file(self, path: Path, name: str = "") -> Table:
        return read_table(path, self._limits, name)

    def example(self, name: str) -> Table:
        return example_table(name, self._limits)

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
        if choice is not None:
            validation.one_of(choice.by, "split", SPLITS)
        return read_training_data(table, mapping, self._limits, choice)
