"""Every job has the same arguments, defaults, help and refusals behind its endpoint and in the shell."""

import inspect
from dataclasses import MISSING

import gradio as gr
import pytest
from typer.main import get_command

from sbert_app.cli.main import app as shell_app
from sbert_app.jobs import JOBS
from sbert_app.jobs.declaring.job import Needs
from sbert_app.jobs.declaring.option import arguments

# What a job works on: an endpoint takes an upload, lines or an id, the shell a file.
SUBJECTS = {"file", "lines", "columns", "column", "corpus", "indexed_with", "store", "json", "request"}
BOTH = [job for job in JOBS if job.command]
CASES = {
    "similarity": [
        ({"sentence1": "a", "sentence2": " "}, "The second sentence is blank. Type something to compare."),
        ({"sentence1": "a", "sentence2": "b", "model": "./nowhere"}, "There is no model folder"),
        ({"sentence1": "a", "sentence2": "b", "cross_encoder": "./nowhere"}, "There is no model folder"),
    ],
    "compare": [({"before": "all-MiniLM-L6-v2", "after": "./nowhere"}, "There is no model folder")],
    "label": [
        ({"count": 101}, "The number of pairs must be"),
        ({"count": -1}, "The number of pairs must be"),
    ],
    "score_pairs": [
        ({"first_column": "text"}, "Name both text columns, or neither: then they are guessed."),
        ({"first_column": "text", "second_column": "nowhere"}, "has no column 'nowhere'. Its columns are: text, other, n."),
        ({"first_column": "text", "second_column": "text"}, "The column 'text' is chosen twice."),
        ({"label_column": "other"}, "The column 'other' is chosen twice."),
        ({"model": "./nowhere"}, "There is no model folder"),
    ],
    "encode": [({"model": "./nowhere"}, "There is no model folder")],
    "search": [
        ({"query": " "}, "The query is blank. Type what you are looking for."),
        ({"query": "x", "top": 0}, "The number of hits must be a whole number in 1..1,000, got 0."),
        ({"query": "x", "ranking": "dense", "hybrid": True}, "Hybrid is the ranking 'hybrid', not 'dense'"),
        ({"query": "x", "ranking": "best"}, "Unknown ranking 'best'. Must be one of maxsim, hybrid, dense, words."),
        ({"query": "x", "filters": "[1]"}, "The filter must be a JSON object."),
        ({"query": "x", "filters": '{"nowhere": "a"}'}, "nowhere"),
        ({"query": "x", "rerank": True, "cross_encoder": "./nowhere"}, "There is no model folder"),
    ],
    "why_not": [
        ({"query": " ", "expected": "1"}, "The query is blank. Type what you are looking for."),
        ({"query": "x", "expected": " "}, "The expected row or text is blank. Give the number of a row, or a text."),
        ({"query": "x", "expected": "1,000"}, "There is no row 1,000: the rows of"),
        ({"query": "x", "expected": "1", "top": 0}, "The number of hits must be a whole number in 1..1,000, got 0."),
        ({"query": "x", "expected": "1", "filters": '{"nowhere": "a"}'}, "nowhere"),
    ],
    "duplicates": [
        ({"threshold": 0.2}, "The threshold must be a number in 0.5..1, got 0.2."),
        ({"top": -1}, "The number of pairs must be a whole number in 0..100,000, got -1."),
        ({"cross_encoder": "./nowhere"}, "There is no model folder"),
    ],
    "cluster_map": [
        ({"clusters": "1"}, "The number of clusters must be a whole number in 2..100"),
        ({"clusters": "many"}, "The number of clusters must be a whole number in 2..100"),
        ({"method": "magic"}, "Unknown clustering method 'magic'."),
        ({"outliers": 101}, "The per cent of outliers must be a number in 0..100, got 101"),
    ],
    "fine_tune": [
        ({"objective": "magic"}, "Unknown objective 'magic'."),
        ({"preset": "best"}, "Unknown preset 'best'."),
        ({"objective": "pair"}, "The objective 'pair' is for a cross-encoder, and its only one."),
        ({"objective": "cosent", "cross_encoder": "cross-MiniLM-L6-stsb"}, "The objective 'pair' is for a cross-encoder, and its"),
        ({"epochs": 0}, "The epochs must be a whole number in 1..100, got 0."),
        ({"batch_size": 1}, "The batch size must be a whole number in 2..1,024, got 1."),
        ({"learning_rate": 2.0}, "The learning rate must be a number in 1e-08..1, got 2.0."),
        ({"seed": -1}, "The seed must be a whole number in 0..2,147,483,647, got -1."),
        ({"split": "magic"}, "Unknown split 'magic'. Must be one of sentences, pairs."),
        ({"split_column": "nowhere"}, ".csv' has no column 'nowhere'. Its columns are: sentence1, sentence2, score."),
        ({"split_column": "score"}, "The column 'score' is what the model learns, so it cannot split the data."),
    ],
    "evaluate": [
        ({"systems": "magic"}, "Unknown system 'magic'."),
        ({"systems": "cross-encoder", "cross_encoder": "./nowhere"}, "There is no model folder"),
        ({"systems": "./nowhere"}, "There is no model folder"),
    ],
    "transfer": [
        ({"text_column": "nowhere"}, ".csv' has no column 'nowhere'. Its columns are: text, other, n."),
        ({"text_column": "text"}, "Which column holds the labels? Name one of: other, n; or call it label."),
        ({"label_column": "other"}, "The class"),
    ],
    "timing": [
        ({"sentences": 1}, "The number of sentences must be a whole number in 2..1,000,000, got 1."),
        ({"seconds": 0}, "The number of seconds must be a whole number in 1..600, got 0."),
        ({"cross_encoder": "./nowhere"}, "There is no model folder"),
    ],
}  # fmt: skip
REFUSALS = [(job, values, message) for job in BOTH for values, message in CASES.get(job.name, [])]


def command(job):
    return get_command(shell_app).commands[job.command]


def test_every_job_is_refused_in_a_test():
    assert set(CASES) == {job.name for job in BOTH} - {"models"}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_the_endpoint_has_what_is_declared(endpoints, job):
    parameters = inspect.signature(endpoints[job.name]).parameters
    declared = {a.name: a for a in arguments(job.options) if a.endpoint}
    assert [name for name in parameters if name not in SUBJECTS] == list(declared)
    shell_only = [a.name for a in arguments(job.options) if not a.endpoint and not a.kind.output]
    assert shell_only in ([], ["colour"], ["remove"], ["word_vectors", "data", "tasks"], ["whole"])
    for name, argument in declared.items():
        assert parameters[name].default == (inspect.Parameter.empty if argument.required else argument.default)
        assert f"{name}: {argument.about}" in endpoints[job.name].__doc__
    assert job.summary in endpoints[job.name].__doc__ and job.returns


@pytest.mark.parametrize("job", BOTH, ids=lambda job: job.name)
def test_the_command_has_what_is_declared(job):
    parameters = {parameter.name: parameter for parameter in command(job).params}
    declared = {a.name: a for a in arguments(job.options) if a.shell}
    assert [name for name in parameters if name not in {*SUBJECTS, "mends", "help"}] == list(declared)
    for name, argument in declared.items():
        default = None if argument.default is MISSING else argument.default
        assert parameters[name].default == (",".join(default) if isinstance(default, list) else default), name
        assert parameters[name].help == argument.about and parameters[name].required == argument.required
    assert command(job).help == job.summary


def test_every_argument_has_a_type_for_mcp(built):
    """Gradio's own schema of gr.JSON, {}, is refused by MCP clients."""
    endpoints = built.get_api_info()["named_endpoints"]
    assert {name.lstrip("/") for name in endpoints} == {job.name for job in JOBS}
    assert all(isinstance(p["type"]["type"], str) for endpoint in endpoints.values() for p in endpoint["parameters"])


@pytest.mark.parametrize(("job", "values", "message"), REFUSALS, ids=lambda value: getattr(value, "name", None))
def test_the_same_mistake_gets_the_same_sentence(endpoints, send, shell, job, values, message, tmp_path):
    assert message in refused_by_the_endpoint(endpoints, send, job, values, tmp_path)
    file = [sample(job, tmp_path)] if "file" in inspect.signature(command(job).callback).parameters else []
    declared, options = {argument.name: argument for argument in arguments(job.options)}, []
    for name, value in values.items():
        flag, positional = declared[name].shell_name, declared[name].required and job.needs is Needs.NOTHING
        options += [value] if positional else [flag] if value is True else [flag, value]
    out = {"encode": "o.npy", "cluster_map": "o.csv", "fine_tune": "o"}.get(job.name)
    _, error = shell(job.command, *file, *options, *(["--out", tmp_path / out] if out else []), status=2)
    assert message in error.splitlines()[-1]


def sample(job, folder):
    """A small file of what the job works on."""
    path = folder / "sample.csv"
    rows = [f"sentence number {i},another sentence number {i},{i % 6}" for i in range(40)]
    path.write_text("\n".join(["sentence1,sentence2,score" if job.name in ("fine_tune", "evaluate") else "text,other,n", *rows]))
    return path


def refused_by_the_endpoint(endpoints, send, job, values, folder):
    parameters, subject = inspect.signature(endpoints[job.name]).parameters, {}
    if "file" in parameters:
        subject["file"] = str(sample(job, folder))
    if "corpus" in parameters:
        subject["corpus"] = send("index_corpus", lines="a red car\na green apple\na blue bird")["corpus"]
    with pytest.raises(gr.Error) as refused:
        send(job.name, **values, **subject)
    return str(refused.value)
