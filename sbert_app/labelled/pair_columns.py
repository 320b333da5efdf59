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
        words = {str(name): words_a_cell(frame[str(name)].head(SAMPLE)) for name in frame.columns}
        wordy = sorted(words, key=lambda name: -words[name])[:2]
        first, second = (name for name in words if name in wordy)
    return first, second
