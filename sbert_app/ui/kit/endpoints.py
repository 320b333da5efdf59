"""Generate the API endpoints from the declared jobs: JSON in and out. Docstrings become the API page and MCP's schema."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import MISSING, replace
from typing import Any

import gradio as gr

from sbert_app.jobs.corpus.opening import read_lines
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, outcome_of
from sbert_app.jobs.declaring.option import Argument, arguments, names, read, text, upload
from sbert_app.runtime import Session, Workbench
from sbert_app.runtime.line import Stop
from sbert_app.step import throttled
from sbert_app.tables import Table, read_table
from sbert_app.ui.kit.events import caller_left, handler, visitor_of
from sbert_app.ui.kit.files import Shelf, uploaded

SEND_SECONDS = 0.5  # between two steps that are sent
SIMPLE: dict[Any, Callable[[Any], Any]] = {bool: gr.Checkbox, int: gr.Number, float: gr.Number, str: gr.Textbox}
NO_FILE = {
    Needs.LABELLED: "Send a file with labelled pairs or triplets.",
    Needs.PAIRS: "Send a file with two columns of text.",
    Needs.CLASSES: "Send a file with labelled sentences.",
    Needs.DATA_SET: "Send a file with labelled pairs, triplets or labelled sentences.",
}

FILE = Argument("file", upload(), "A csv, tsv, jsonl, json, parquet, xlsx or txt file. Leave empty to send lines.", None)
LINES = Argument("lines", text("lines"), "One sentence per line, used if there is no file.", "")
COLUMNS = Argument("columns", names("sentence columns"), "The text columns (several are joined). Empty: guessed.", [])
SUBJECTS: dict[Needs, list[Argument]] = {
    Needs.NOTHING: [],
    Needs.CORPUS: [Argument("corpus", text("corpus"), "The id that /index_corpus returned.", MISSING)],
    Needs.SENTENCES: [FILE, LINES, COLUMNS],
    Needs.EXAMPLE: [FILE, LINES, COLUMNS],
    Needs.PAIRS: [replace(FILE, about="A file with two columns of text, and if you like one of labels.")],
    Needs.LABELLED: [replace(FILE, about="sentence1, sentence2, score or label; or anchor, positive, negative.")],
    Needs.CLASSES: [replace(FILE, about="A file with a column of text, or two for pairs, and one of labels.")],
    Needs.DATA_SET: [replace(FILE, about="sentence1, sentence2, score or label; anchor, positive, negative; or text, label.")],
}


def add_endpoint(job: Job, bench: Workbench) -> None:
    """Add a job's endpoint to the current page. Files use gr.File, which accepts uploads to this app but no server paths."""
    declared = [argument for argument in arguments(job.options) if argument.endpoint]
    inputs, shelf = [*SUBJECTS[job.needs], *declared], Shelf()

    def steps(request: gr.Request, values: tuple[Any, ...]) -> Steps:
        """Check and read the input, then run the job. Uploads are deleted soon after they are read."""
        given, limits = {argument.name: value for argument, value in zip(inputs, values, strict=True)}, bench.settings.limits
        with ExitStack() as files:
            for argument in declared:
                if argument.kind.upload and given[argument.name]:
                    given[argument.name] = files.enter_context(uploaded(given[argument.name], ""))
            options = read(job.options, {argument.name: given[argument.name] for argument in declared}, limits)
        stop = Stop(visitor_of(request), caller_left())
        session = bench.sessions.get(given["corpus"]) if job.needs is Needs.CORPUS else Session()
        table, columns = _table(job, bench, given), COLUMNS.kind.check(given.get("columns") or [], limits)
        yield from job.steps(Call(bench, stop, session, table, columns, shelf.folder if job.makes_file else None), options)

    def final(request: gr.Request, *values: Any) -> Any:
        outcome = outcome_of(steps(request, values))
        return (outcome.summary, str(outcome.file)) if job.makes_file else outcome.summary

    def streaming(request: gr.Request, *values: Any) -> Iterator[Any]:
        for step in throttled(steps(request, values), lambda step: isinstance(step, Outcome), SEND_SECONDS):
            if isinstance(step, Outcome):
                yield step.summary
            else:
                yield step.details or {"stage": step.stage, "done": step.done, "total": step.total}

    with gr.Row(visible=False):
        outputs = [gr.JSON(), gr.File()] if job.makes_file else [gr.JSON()]
        work, limit = _with_signature(streaming if job.streams else final, job, inputs), "default" if job.quick else None
        gr.Button().click(handler(work), [*map(_component, inputs)], outputs, api_name=job.name, concurrency_limit=limit)


def _component(argument: Argument) -> Any:
    default = None if argument.required else argument.default
    if argument.kind.upload:
        return gr.File()
    if simple := SIMPLE.get(argument.kind.type):
        return simple(default)
    component = gr.JSON(default)
    schema = {"type": "array", "items": {"type": "string"}} if argument.kind.type == list[str] else {"type": "object"}
    setattr(component, "api_info", lambda: schema)  # noqa: B010 - MCP clients refuse the {"type": {}} of gr.JSON
    return component


def _with_signature(call: Callable[..., Any], job: Job, inputs: list[Argument]) -> Callable[..., Any]:
    """Set the signature and docstring that Gradio reads."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("request", kind, annotation=gr.Request)]
    parameters += [
        inspect.Parameter(a.name, kind, default=inspect.Parameter.empty if a.required else a.default, annotation=a.kind.type)
        for a in inputs
    ]
    lines = [job.summary, "", "Args:", *(f"    {a.name}: {a.about}" for a in inputs), "", "Returns:", f"    {job.returns}"]
    call.__name__, call.__doc__ = job.name, "\n".join(lines)
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _table(job: Job, bench: Workbench, given: dict[str, Any]) -> Table | None:
    """Read the uploaded file or the lines; None if there is neither or the job needs none."""
    if job.needs in (Needs.NOTHING, Needs.CORPUS):
        return None
    file, lines = given["file"], given.get("lines", "")
    if job.needs in NO_FILE or file:
        with uploaded(file, NO_FILE.get(job.needs, "")) as path:
            return read_table(path, bench.settings.limits)
    return None if job.needs is Needs.EXAMPLE and not lines else read_lines(lines, bench.settings.limits)
