"""A labelled table as training data: its columns, its examples, and their split, whose parts may be files of their own."""

from dataclasses import dataclass, field, replace

from sbert_app.errors import UserError
from sbert_app.labelled.columns import ColumnRoles
from sbert_app.labelled.examples import Examples, Reading, read_examples
from sbert_app.labelled.groups import SENTENCES
from sbert_app.labelled.splits import Column, Split, split
from sbert_app.settings import ASSETS, Limits
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


def example_table(name: str, limits: Limits) -> Table:
    """Read a bundled example file."""
    names = sorted(path.name for path in EXAMPLES.glob("*.csv"))
    if name not in names:
        raise UserError(f"There is no example {name!r}. Choose one of {', '.join(names)}.")
    return read_table(EXAMPLES / name, limits)


def read_training_data(table: Table, mapping: ColumnRoles, limits: Limits, choice: SplitChoice | None = None) -> TrainingData:
    """Read a table and split it. Dev and held-out parts without a table of their own are taken from it."""
    choice = choice or SplitChoice()
    reading = read_examples(table, mapping, limits)
    dev, held_out = (_read_part(reading, other, limits) for other in (choice.dev, choice.held_out))
    column = _column(table, reading, choice.column) if choice.column else None
    parts = split(reading.examples, dev, held_out, by=choice.by, column=column)
    if not len(parts.dev):
        raise UserError("Every pair of the dev part is also held out. Choose another dev or test file.")
    if not len(parts.train):
        raise UserError("Every pair for training is also in the dev or held-out part. Choose another dev or test file.")
    return TrainingData(table, mapping, reading, parts, choice)


def _read_part(reading: Reading, table: Table | None, limits: Limits) -> Examples | None:
    """Read another table's examples, with scores on the same scale. Raises UserError if the labels differ."""
    if table is None:
        return None
    examples, other = reading.examples, read_examples(table, reading.mapping, limits).examples
    if other.labels != examples.labels:
        raise UserError(f"'{table.name}' has the labels {', '.join(other.labels)}, not {', '.join(examples.labels)}.")
    (low, high), (other_low, other_high) = examples.score_range, other.score_range
    raw = other.targets * (other_high - other_low) + other_low
    targets = (raw - low) / (high - low) if examples.kind == "scored" else other.targets
    return replace(other, targets=targets, positive=examples.positive, score_range=examples.score_range)


def _column(table: Table, reading: Reading, name: str) -> Column:
    """The values of a column for the examples. Raises UserError if it does not exist or is the target."""
    if name not in table.frame.columns:
        raise UserError(f"'{table.name}' has no column '{name}'. Its columns are: {', '.join(table.frame.columns)}.")
    if name == reading.mapping.target:
        raise UserError(f"The column '{name}' is what the model learns, so it cannot split the data. Choose another column.")
    values = dict(zip(table.rows.tolist(), table.frame[name].tolist(), strict=True))
    return Column(name, [values[row] for row in reading.examples.rows.tolist()])
