"""Before a run: the visitor's training data in the session, and an estimate of how long a plan takes."""

from dataclasses import replace

from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.labelled.columns import ColumnRoles, guess_mapping
from sbert_app.labelled.groups import SENTENCES, SPLITS
from sbert_app.labelled.training_data import SplitChoice, TrainingData, read_training_data
from sbert_app.runs.plan import Plan, TrainingEstimate, estimate
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table


def load(bench: Workbench, session: Session, table: Table) -> TrainingData:
    """Read a table with guessed columns and keep it in the session. Raises UserError, leaving the session unchanged."""
    data = read_training_data(table, guess_mapping(table.frame), bench.settings.limits)
    session.put(data)
    return data


def current(session: Session) -> TrainingData:
    """The session's training data. Raises UserError if there is none."""
    data = session.get(TrainingData)
    if data is None:
        raise UserError("There is no training data yet. Upload labelled pairs, or choose an example.")
    return data


def remap(
    bench: Workbench, session: Session, mapping: ColumnRoles, by: str | None = None, column: str | None = None
) -> TrainingData:
    """Read the session's table with these columns and this split (None: as it is), unless it is the current one."""
    before = current(session)
    choice = before.choice
    if by is not None or column is not None:
        by = validation.one_of(by, "split", SPLITS) or SENTENCES
        choice = replace(choice, by=by, column=validation.text(column or "", "split column"))
    if (before.mapping, before.choice) == (mapping, choice):
        return before
    return _swap(bench, session, before, mapping, choice)


def set_part(bench: Workbench, session: Session, part: str, table: Table | None) -> TrainingData:
    """Use a table as the TEST or DEV part, or with None cut that part from the data again."""
    before = current(session)
    return _swap(bench, session, before, before.mapping, replace(before.choice, **{part: table}))  # type: ignore[arg-type]


def _swap(bench: Workbench, session: Session, before: TrainingData, mapping: ColumnRoles, choice: SplitChoice) -> TrainingData:
    data = read_training_data(before.table, mapping, bench.settings.limits, choice)
    session.swap(before, data)
    return data


def expected(bench: Workbench, data: TrainingData, plan: Plan) -> TrainingEstimate:
    """Estimate the training time by timing a few batches on a copy of the model."""
    steps = estimate(data.split, plan, bench.registry.trainable, bench.registry.hardware)
    while True:
        with bench.device.hold():
            if (last := next(steps)) is not None:
                return last
