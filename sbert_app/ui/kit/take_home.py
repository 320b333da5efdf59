"""Links under a result to take it along (assets/take_home.js, present.js): picture, full screen, commands that make it again."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.jobs.corpus.job import INDEX_CORPUS
from sbert_app.jobs.declaring.job import Job, Needs
from sbert_app.jobs.declaring.option import Argument, arguments
from sbert_app.jobs.open_collection import OPEN_COLLECTION
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.settings import ASSETS

FORMATS = "PNG", "SVG"
OF_COLUMNS = Needs.CORPUS, Needs.SENTENCES, Needs.EXAMPLE  # what is read from chosen columns of text
PASTED, PASTED_FILE = "pasted: ", "pasted.txt"  # how pasted lines are named, and a name for a file of them
ADDRESS = "http://127.0.0.1:7860"  # where the app runs by default; assets/take_home.js puts the page's own address there
BUTTON = Markup('<button type="button" {}>{}</button>')


@dataclass(frozen=True)
class Caption:
    """What is above a result outside the app: its title, and where it comes from."""

    title: str
    source: str

    @classmethod
    def of(cls, title: str, *facts: str, day: str = "") -> "Caption":
        """A title, and a source made of facts such as model and machine, the day (empty: today) and the app's name."""
        return cls(title, " · ".join([*filter(None, facts), day or date.today().isoformat(), "SBERT Studio"]))


@dataclass(frozen=True)
class Input:
    """What a job reads: a file, indexed by the model with these mends, or a collection."""

    file: str = ""  # "": none
    columns: tuple[str, ...] = ()  # of text; empty: guessed
    model: str = DEFAULT_ENCODER
    store: str = ""  # instead of the others, for a job that needs a corpus: an address, or a name that the app offers
    mends: tuple[str, ...] = ()


def row(caption: Caption, elem_ids: Sequence[str], *groups: Markup) -> Markup:
    """The links of a result in one line, where the scripts read its caption and elem_ids, those of its charts and texts."""
    about = {"data-shows": " ".join(elem_ids), "data-title": caption.title, "data-source": caption.source}
    return Markup('<div class="take-home" {}>{}</div>').format(_attributes(about), Markup().join(groups))


def pictures(elem_id: str, name: str) -> Markup:
    """Buttons to save the chart inside the element as a picture, captioned. name: of the file, without its end."""
    of_chart = {"data-plot": elem_id, "data-name": name}
    about = {label: {"data-picture": label.lower(), "aria-label": f"Save the chart as {label}"} | of_chart for label in FORMATS}
    return _group("Picture:", about)


def present() -> Markup:
    """A button to show the result alone on the full screen, captioned."""
    return Markup('<span class="take">{}</span>').format(BUTTON.format(Markup("data-present"), "Present"))


def commands(job: Job, values: Mapping[str, Any], source: Input) -> Markup:
    """Buttons to copy what makes the result again, as Python and for a shell. values: the job's options as used."""
    texts = {"Python": python(job, values, source), "shell": shell(job, values, source)}
    about = {label: {"data-copy": text, "data-label": label, "aria-label": f"Copy as {label}"} for label, text in texts.items()}
    return _group("Copy as", about)


def input_of(indexed: IndexedCorpus | None) -> Input:
    """The corpus as what a command reads; None: the example that a job takes without a file. A visitor's file is where it is."""
    if indexed is None:
        return Input()
    corpus = indexed.corpus
    if corpus.name.startswith(PASTED):
        return Input(PASTED_FILE, model=indexed.model, mends=corpus.mends)
    example = ASSETS / "examples" / corpus.name
    file = f"assets/examples/{corpus.name}" if example.is_file() else corpus.name
    return Input(file, corpus.columns, indexed.model, corpus.store, corpus.mends)


def _attributes(values: dict[str, str]) -> Markup:
    return Markup(" ").join(Markup('{}="{}"').format(name, value) for name, value in values.items())


def _group(title: str, buttons: Mapping[str, dict[str, str]]) -> Markup:
    """buttons: label -> attributes."""
    each = (BUTTON.format(_attributes(attributes), label) for label, attributes in buttons.items())
    return Markup('<span class="take">{} {}</span>').format(title, Markup(" ").join(each))


def shell(job: Job, values: Mapping[str, Any], source: Input) -> str:
    """The command for a shell, with the options that differ from their defaults."""
    words, positional = [job.command], list[str]()
    if job.needs is Needs.CORPUS and source.store:
        words += ["--store", source.store]
    elif job.needs is not Needs.NOTHING:
        if source.file:
            words.append(source.file if not source.file.startswith("-") else f"./{source.file}")
        if job.needs in OF_COLUMNS:
            words += [word for column in source.columns for word in ("--column", column)]
        if job.needs is Needs.CORPUS:  # it indexes the file
            words += ["--model", source.model] if source.model != DEFAULT_ENCODER else []
            words += ["--mend", ",".join(source.mends)] if source.mends else []
    for argument, value in _changed(job, values):
        if argument.shell and argument.required and job.needs is Needs.NOTHING:
            positional.append(str(value))
        elif argument.shell:
            words += _flag(argument, value)
    dashes = ["--"] if any(word.startswith("-") for word in positional) else []  # what follows are no options
    return shlex.join(["python", "-m", "sbert_app", *words, *dashes, *positional])


def python(job: Job, values: Mapping[str, Any], source: Input) -> str:
    """A script that asks the running app, with the options that differ from their defaults."""
    subject, opened, stored = list[str](), list[str](), job.needs is Needs.CORPUS and source.store
    if source.file and job.needs is not Needs.NOTHING and not stored:
        subject = [f"file=handle_file({source.file!r})"]
        subject += [f"columns={list(source.columns)!r}"] if source.columns and job.needs in OF_COLUMNS else []
    imports = "Client, handle_file" if subject else "Client"
    if job.needs is Needs.CORPUS:
        call = _call(INDEX_CORPUS, {"model": source.model, "mends": list(source.mends)}, subject)
        call = _call(OPEN_COLLECTION, {"address": source.store}, []) if stored else call
        opened, subject = [f'corpus = {call}["corpus"]'], ["corpus"]
    lines = [f"from gradio_client import {imports}", "", f"client = Client({ADDRESS!r})", *opened]
    return "\n".join([*lines, f"result = {_call(job, values, subject)}", "print(result)", ""])


def _call(job: Job, values: Mapping[str, Any], subject: list[str]) -> str:
    options = [f"{argument.name}={value!r}" for argument, value in _changed(job, values) if argument.endpoint]
    endpoint = f'api_name="/{job.name}"'
    return f"client.predict({', '.join([*subject, *options, endpoint])})"


def _changed(job: Job, values: Mapping[str, Any]) -> Iterator[tuple[Argument, Any]]:
    """The options that have a value other than their default. Raises KeyError for a value that the job does not declare."""
    declared = {argument.name: argument for argument in arguments(job.options)}
    if unknown := set(values) - set(declared):
        raise KeyError(min(unknown))
    for name, argument in declared.items():
        value = values.get(name)
        if value is not None and (argument.required or value != argument.default):
            yield argument, value


def _flag(argument: Argument, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [argument.shell_name if value else f"--no-{argument.shell_name[2:]}"]
    if isinstance(value, list):
        return [argument.shell_name, ",".join(value)]
    return [argument.shell_name, json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)]
