"""Values from outside become a job's options: defaults, checks and refusals."""

import re
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import pytest

from sbert_app.errors import UserError
from sbert_app.jobs import JOBS
from sbert_app.jobs.declaring.job import Outcome, outcome_of
from sbert_app.jobs.declaring.option import (
    arguments,
    choice,
    flag,
    json_object,
    names,
    number,
    option,
    output,
    read,
    sentence,
    upload,
    whole,
)
from sbert_app.settings import Limits
from sbert_app.step import Step
from sbert_app.tables import Table
from tests.jobs.refusals import refused

LIMITS = Limits()

FIRST = {
    "search": ["query", "top", "filters", "hybrid", "rerank", "cross_encoder"],
    "duplicates": ["threshold", "top", "against", "clean", "remove"],
    "timing": ["sentences", "seconds", "model", "table_7"],
    "similarity": ["sentence1", "sentence2", "model", "cross_encoder"],
}


@dataclass(frozen=True)
class Options:
    query: str = option("A sentence.", sentence("query", "Type one."))
    out: Path | None = option("A file to write.", output(".csv"))
    top: int = option("A number up to a limit.", whole("number of hits", 1, "hits"), 10)
    share: float | None = option("A number, or none.", number("share", 0, 1), None)
    method: str = option("A choice.", choice("method", ("a", "b")), "")
    columns: list[str] = option("Names.", names("columns"), ["text"])
    filters: dict[str, Any] | None = option("An object.", json_object("filter"), None)
    deep: bool = option("Yes or no.", flag("deep"), False)
    file: Table | None = option("A file.", upload(), None)


def test_what_is_not_given_has_its_default():
    options = read(Options, {"query": " x "}, LIMITS)
    assert options == Options("x", None, 10, None, "", ["text"], None, False, None)
    options.columns.append("more")
    assert read(Options, {"query": "x"}, LIMITS).columns == ["text"]
    assert [a.name for a in arguments(Options) if a.required] == ["query", "out"]
    assert [(a.default, a.endpoint) for a in arguments(Options) if a.kind.output] == [(MISSING, False)]
    refused(r"The option 'query' is missing\.", read, Options, {}, LIMITS)


@pytest.mark.parametrize("value", ["\0", "name\0", "\ud800"])
def test_a_name_that_would_be_cleaned_is_refused_and_never_means_the_default(value):
    declared = [(job, argument) for job in JOBS for argument in arguments(job.options) if argument.default not in (MISSING, None)]
    texts = [argument for _, argument in declared if argument.kind.type is str]
    assert {"model", "cross_encoder", "clusters", "split_column", "owner", "bert", "preset"} <= {each.name for each in texts}
    for argument in texts:
        refused(r"contains a character|Unknown|Must be one of", argument.kind.check, value, LIMITS)


def test_values_of_a_shell_and_of_a_client_mean_the_same(write):
    typed = {"columns": "text, title", "filters": '{"team": "A"}', "top": 5.0, "file": write("a.csv", "text\nfirst\n")}
    options = read(Options, {"query": "x", **typed}, LIMITS)
    assert (options.columns, options.filters, options.top) == (["text", "title"], {"team": "A"}, 5)
    assert options.file.frame["text"].tolist() == ["first"]
    sent = {"columns": ["text", "title"], "filters": {"team": "A"}, "top": 5}
    assert read(Options, {"query": "x", **sent, "file": None}, LIMITS).columns == options.columns


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"magic": 1}, "Unknown option 'magic'. Must be one of query, out, top"), ({"query": None}, "The query must be text."),
        ({"top": None}, "The number of hits must be a whole number in 1..1,000, got None."),
        ({"top": 1_001}, "in 1..1,000, got 1001."), ({"share": True}, "The share must be a number in 0..1, got True."),
        ({"share": "0.5"}, "The share must be a number in 0..1, got '0.5'."), ({"share": [0.5]}, "got [0.5]."),
        ({"share": float("nan")}, "got nan"), ({"method": "c"}, "Unknown method 'c'. Must be one of a, b."),
        ({"columns": [1]}, "The columns must be a list of names."), ({"filters": "{"}, "The filter must be a JSON object."),
        ({"deep": 1}, "The option 'deep' must be true or false, got 1."), ({"out": "a.html"}, "'a.html' must end in .csv."),
        ({"file": "nowhere.csv"}, "There is no file 'nowhere.csv'."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(values, message):
    with pytest.raises(UserError, match=re.escape(message)):
        read(Options, {"query": "x"} | values, LIMITS)


def test_an_outcome_comes_after_the_steps():
    steps = []
    outcome = Outcome({}, [])
    assert outcome_of(iter([Step("a"), Step("b"), outcome, Step("never")]), steps.append) is outcome
    assert [step.stage for step in steps] == ["a", "b"]
    with pytest.raises(RuntimeError, match="without an outcome"):
        outcome_of(iter([Step("a")]))


@pytest.mark.parametrize("name", FIRST)
def test_arguments_that_were_released_keep_their_places(name):
    job = next(job for job in JOBS if job.name == name)
    assert [argument.name for argument in arguments(job.options)][: len(FIRST[name])] == FIRST[name]
