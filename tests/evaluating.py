"""Run the job evaluate on examples, as the shell does on their file."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sbert_app.grid.data_set import DataSet
from sbert_app.grid.reading import own_data_sets
from sbert_app.jobs.declaring.job import Call, Outcome, outcome_of
from sbert_app.jobs.evaluate.job import EVALUATE, EvaluateOptions
from sbert_app.labelled.examples import Examples
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Limits
from sbert_app.tables import Table

COLUMNS = {"triplets": ("anchor", "positive", "negative")}


def table_of(examples: Examples) -> Table:
    """A table that is read as these examples."""
    columns = dict(zip(COLUMNS.get(examples.kind, ("sentence1", "sentence2")), map(list, examples.sentences), strict=True))
    if examples.kind == "labelled":
        columns["label"] = [examples.labels[int(target)] for target in examples.targets]
    elif examples.kind == "scored":
        columns["score"] = [f"{target:.9f}" for target in examples.targets]
    return Table("examples.csv", pd.DataFrame(columns), np.arange(1, len(examples) + 1))


def own(name: str) -> DataSet:
    """One of the data sets that come with the app."""
    return next(data for data in own_data_sets(Limits()) if data.name == name)


def evaluate(bench: Workbench, data: Examples | Table, systems: list[str], **options: Any) -> dict[str, Any]:
    """For each system its model, measures, sentences and seconds."""
    table = table_of(data) if isinstance(data, Examples) else data
    call = Call(bench, table=table)
    summary: dict[str, Any] = outcome_of(EVALUATE.steps(call, EvaluateOptions(systems=systems, **options))).summary
    return summary


def evaluate_folder(bench: Workbench, folder: Path, systems: list[str], **options: Any) -> Outcome:
    """The outcome for all data sets of a folder."""
    return outcome_of(EVALUATE.steps(Call(bench), EvaluateOptions(systems=systems, data=folder, **options)))
