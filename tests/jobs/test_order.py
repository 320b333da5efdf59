"""Endpoints take their arguments by position too: new options come last."""

import pytest

from sbert_app.jobs import JOBS
from sbert_app.jobs.declaring.option import arguments

FIRST = {
    "search": ["query", "top", "filters", "hybrid", "rerank", "cross_encoder"],
    "duplicates": ["threshold", "top", "against", "clean", "remove"],
    "timing": ["sentences", "seconds", "model", "table_7"],
    "similarity": ["sentence1", "sentence2", "model", "cross_encoder"],
}


@pytest.mark.parametrize("name", FIRST)
def test_arguments_that_were_released_keep_their_places(name):
    job = next(job for job in JOBS if job.name == name)
    assert [argument.name for argument in arguments(job.options)][: len(FIRST[name])] == FIRST[name]
