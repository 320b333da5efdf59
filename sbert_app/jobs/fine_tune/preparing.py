"""Before a run: a labelled table as training data, in the session too; and an estimate of how long a plan takes."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

from sbert_app.corpus.reader import existing
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.labelled.columns import ColumnRoles, chosen_mapping, guess_mapping, target_kind
from sbert_app.labelled.example_set import SENTENCES, SPLITS
from sbert_app.labelled.examples import Reading, check_columns, read_examples
from sbert_app.labelled.labels import meaning
from sbert_app.labelled.splits import Column, Split, split
from sbert_app.runs.plan import Plan, TrainingEstimate, estimate
from sbert_app.runtime import Session, Workbench
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import Table, read_table, skipped_summary

EXAMPLES = ASSETS / "labelled"
TEST, DEV = "held_out", "dev"  # the parts that may be a file of their own


@dataclass(frozen=True)
class SplitChoice:
    """How to split: "sentences" or "pairs" keeps those in one part, a column its values; a part may be a file of its own."""

    by: str = SENTENCES
    column: str = ""
    held_out: Table | None = field(default=None, compare=False)
    dev: Table | None = field(default=None, compare=False)


AS_USUAL = SplitChoice()


@dataclass(frozen=True)
class TrainingData:
    """A labelled table, its column mapping, the examples read from it, and their split."""

    table: Table
    mapping: ColumnRoles
    reading: Reading
    split: Split
    choice: SplitChoice


def example_table(name: str, limits: Limits) -> Table:
    """Read a bundled example file."""
    names = sorted(path.name for path in EXAMPLES.glob("*.csv"))
    if name not in names:
        raise UserError(f"There is no example {name!r}. Choose one of {', '.join(names)}.")
    return read_table(EXAMPLES / name, limits)


def roles(table: Table, label_column: str, same: str) -> ColumnRoles:
    """The guessed roles of the columns, with the column of scores or labels, and the label of the same meaning, where named."""
    mapping = guess_mapping(table.frame)
    if label_column and (target := existing(table, [label_column])[0]) != mapping.target:
        mapping = chosen_mapping(table.frame, target_kind(table.frame, target), mapping.sentences[:2], target, "")
    return replace(mapping, positive=same or mapping.positive)


def naming(table: Table, mapping: ColumnRoles) -> dict[str, str] | None:
    """The least that `roles` has to be told for this mapping, as options of a command; None if none give it."""
    label, same = {"label_column": mapping.target}, {"same": mapping.positive}
    for named in ({}, label, same, label | same):
        if roles(table, named.get("label_column", ""), named.get("same", "")) == mapping:
            return named
    return None


def read_training_data(table: Table, mapping: ColumnRoles, limits: Limits, choice: SplitChoice = AS_USUAL) -> TrainingData:
    """Read a table and split it. Dev and held-out parts without a table of their own are taken from it."""
    reading = read_examples(table, mapping, limits)
    given = [_read_part(reading, other, limits) if other else None for other in (choice.dev, choice.held_out)]
    skipped = [f"{part.name}: {line}" for part in given if part for line in skipped_summary(part.skipped)]
    column = _column(table, reading, choice.column) if choice.column else None
    dev, held_out = (part.examples if part else None for part in given)
    parts = split(reading.examples, dev, held_out, by=choice.by, column=column)
    if not len(parts.train):
        raise UserError("Every pair for training is also in the dev or held-out part. Choose another dev or test file.")
    if not len(parts.dev):
        raise UserError("Every pair of the dev part is also held out. Choose another dev or test file.")
    return TrainingData(table, mapping, replace(reading, notes=(*reading.notes, *skipped)), parts, choice)


def _read_part(reading: Reading, table: Table, limits: Limits) -> Reading:
    """Another table's examples, scores on the same scale; columns of other names are guessed. UserError for other labels."""
    mapping = reading.mapping
    if not {*mapping.sentences, *filter(None, [mapping.target])} <= {*table.frame.columns}:
        with suppress(UserError):  # `read_examples` says which column is missing
            own = guess_mapping(table.frame)
            mapping = own if own.kind == mapping.kind else mapping
    read = read_examples(table, mapping, limits)
    examples, other = reading.examples, read.examples
    if [meaning(label, True) for label in other.labels] != [meaning(label, True) for label in examples.labels]:
        raise UserError(f"'{table.name}' has the labels {', '.join(other.labels)}, not {', '.join(examples.labels)}.")
    scales = examples.score_range, other.score_range
    targets, kinds = other.targets, {(sorted(scale) == [0, 1], scale[0] < scale[1]) for scale in scales}
    # Not where only one of them goes from 0 to 1, or is of distances: then the other's own scale is meant.
    if examples.kind == "scored" and len(kinds) == 1:
        (low, high), (other_low, other_high) = scales
        targets = (targets * (other_high - other_low) + other_low - low) / (high - low)
    like = replace(other, targets=targets, labels=examples.labels, positive=examples.positive, score_range=examples.score_range)
    return replace(read, examples=like)


def _column(table: Table, reading: Reading, name: str) -> Column:
    """The values of a column for the examples. Raises UserError if it does not exist or is the target."""
    check_columns(table, [name])
    if name == reading.mapping.target:
        raise UserError(f"The column '{name}' is what the model learns, so it cannot split the data. Choose another column.")
    values = dict(zip(table.rows.tolist(), table.frame[name].tolist(), strict=True))
    return Column(name, [values[row] for row in reading.examples.rows.tolist()])


def load(bench: Workbench, session: Session, table: Table) -> TrainingData:
    """Read a table with guessed columns and keep it in the session. Raises UserError, leaving the session unchanged."""
    data = read_training_data(table, guess_mapping(table.frame), bench.settings.limits)
    session.put(data)
    return data


def current(session: Session) -> TrainingData:
    """The session's training data. Raises UserError if there is none."""
    return session.require(TrainingData, "There is no training data yet. Upload labelled pairs, or choose an example.")


def remap(bench: Workbench, session: Session, mapping: ColumnRoles, by: str = SENTENCES, column: str = "") -> TrainingData:
    """Read the session's table with these columns and this split, unless it is the current one."""
    before, by = current(session), validation.one_of(by, "split", SPLITS) or SENTENCES
    choice = replace(before.choice, by=by, column=validation.text(column, "split column"))
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
    return next(last for last in bench.device.each(steps) if last)
