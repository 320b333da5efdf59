"""Find the two text columns of a file of pairs, which needs no score or label."""

import pandas as pd

from sbert_app.corpus.reader import words_a_cell
from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_mapping

SAMPLE = 200  # rows


def guess_pair_columns(frame: pd.DataFrame) -> tuple[str, str]:
    """The likeliest two columns, in file order. Raises UserError for a table of one column."""
    if len(frame.columns) < 2:
        raise UserError(
            f"A file of pairs needs two columns of text. This file has one: {', '.join(frame.columns)}. "
            "Put the second sentence of each pair into a second column."
        )
    try:
        first, second, *_ = guess_mapping(frame).sentences
    except UserError:  # it has no two columns of prose: short phrases are pairs too
        wordy = sorted(frame.columns, key=lambda column: -words_a_cell(frame[column].head(SAMPLE)))[:2]
        first, second = (column for column in frame.columns if column in wordy)
    return first, second
