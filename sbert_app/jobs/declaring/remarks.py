"""Describe what was read from a labelled file."""

from sbert_app.labelled.examples import Reading
from sbert_app.tables.table import skipped_summary


def remarks(reading: Reading) -> list[str]:
    """The column mapping, the reader's notes and what was skipped, one sentence each."""
    columns = ", ".join(filter(None, (*reading.mapping.sentences, reading.mapping.target)))
    return [f"Read as {reading.mapping.kind}, columns {columns}.", *reading.notes, *skipped_summary(reading.skipped)]
