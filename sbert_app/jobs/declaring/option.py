"""Declare an option of a job: default, check and help, shared by endpoint and shell command."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.settings import Limits
from sbert_app.tables import read_table

Options = TypeVar("Options")


@dataclass(frozen=True)
class Kind:
    """The type of an option, and the check for values from outside, which raises UserError."""

    type: Any
    check: Callable[[Any, Limits], Any]
    upload: bool = False  # a file that the caller uploads, or a path in the shell
    output: bool = False  # a path that the shell writes to; not available in endpoints
    within: str = ""  # of a number, "0 to 100."


@dataclass(frozen=True)
class Argument:
    """A declared option. flag: its name in the shell, if different; shell, endpoint: where it is available."""

    name: str
    kind: Kind
    about: str
    default: Any
    flag: str = ""
    shell: bool = True
    endpoint: bool = True

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def shell_name(self) -> str:
        """Its flag in the shell, such as --batch-size."""
        return self.flag or f"--{self.name.replace('_', '-')}"


def option(about: str, kind: Kind, default: Any = MISSING, *, flag: str = "", shell: bool = True, endpoint: bool = True) -> Any:
    """A field of an options dataclass. Outputs exist in the shell only, whatever `endpoint` says."""
    offered, about = endpoint and not kind.output, f"{about} {kind.within}".strip()
    metadata = {"kind": kind, "about": about, "flag": flag, "shell": shell, "endpoint": offered, "default": default}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def arguments(options: type[Any]) -> list[Argument]:
    """The declared options, in order."""
    return [Argument(name=entry.name, **entry.metadata) for entry in fields(options)]


def read(options: type[Options], values: Mapping[str, Any], limits: Limits) -> Options:
    """Check values from outside and fill in defaults. Raises UserError for the first invalid value."""
    declared = arguments(options)
    if unknown := set(values) - {argument.name for argument in declared}:
        raise UserError(f"Unknown option {min(unknown)!r}. Must be one of {', '.join(argument.name for argument in declared)}.")
    checked = {}
    for argument in declared:
        if (value := values.get(argument.name, MISSING)) is not MISSING:
            checked[argument.name] = None if value is None and argument.default is None else argument.kind.check(value, limits)
        elif argument.kind.output:  # endpoints write no files
            checked[argument.name] = None
        elif argument.required:
            raise UserError(f"The option '{argument.name}' is missing.")
    return options(**checked)


def sentence(name: str, hint: str) -> Kind:
    """Text that is not blank, cut at the limit."""
    return Kind(str, lambda value, limits: validation.sentence(value, name, limits, hint))


def text(name: str) -> Kind:
    """Any text, such as a model's name, which is checked when it is looked up."""
    return Kind(str, lambda value, _: validation.exact(value, name))


def whole(name: str, low: int, high: int | str) -> Kind:
    """A whole number in low..high; `high` may name one of the limits."""

    def check(value: Any, limits: Limits) -> int:
        return validation.whole_number(value, name, low, getattr(limits, high) if isinstance(high, str) else high)

    usual = f"{getattr(Limits(), high):,}, unless the limit is set otherwise" if isinstance(high, str) else f"{high:,}"
    return Kind(int, check, within=f"{low:,} to {usual}.")


def number(name: str, low: float, high: float) -> Kind:
    """A number in low..high."""
    return Kind(float, lambda value, _: validation.number(value, name, low, high), within=f"{low:g} to {high:g}.")


def choice(name: str, choices: Iterable[str]) -> Kind:
    """One of the choices, or ""."""
    return Kind(str, lambda value, _: validation.one_of(value, name, choices) or "")


def flag(name: str) -> Kind:
    """A boolean."""

    def check(value: Any, _: Limits) -> bool:
        if not isinstance(value, bool):
            raise UserError(f"The option '{name}' must be true or false, got {value!r}.")
        return value

    return Kind(bool, check)


def names(name: str) -> Kind:
    """A list of names; in the shell separated by commas."""

    def check(value: Any, _: Limits) -> list[str]:
        parts = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        return validation.names(parts, name)

    return Kind(list[str], check)


def json_object(name: str) -> Kind:
    """A JSON object; in the shell as text."""

    def check(value: Any, _: Limits) -> dict[str, Any]:
        with suppress(ValueError):
            value = json.loads(value) if isinstance(value, str) else value
        if not isinstance(value, dict):
            raise UserError(f"The {name} must be a JSON object.")
        return value

    return Kind(dict[str, Any], check)


def upload() -> Kind:
    """A file, read at once, so that the upload can be deleted while the job waits."""
    return Kind(Path, lambda value, limits: read_table(local("file").check(value, limits), limits), upload=True)


def local(thing: Literal["file", "folder"]) -> Kind:
    """A file or folder that is read where the job runs: for the shell, as an endpoint takes no paths."""

    def check(value: Any, _: Limits) -> Path:
        path = Path(value)
        if not (path.is_file() if thing == "file" else path.is_dir()):
            raise UserError(f"There is no {thing} '{path}'. Check the path.")
        return path

    return Kind(Path, check)


def output(*suffixes: str, reason: str = "") -> Kind:
    """An output file with one of these suffixes, or a folder, which is created. Checked before the work, not after it."""

    def check(value: Any, _: Limits) -> Path:
        path = Path(value)
        if suffixes and path.suffix not in suffixes:
            raise UserError(f"'{path}' must end in {' or '.join(suffixes)}{f': {reason}' if reason else ''}.")
        folders = (path.parent,) if suffixes else (path, *path.absolute().parents)
        there = next((folder for folder in folders if os.access(folder, os.F_OK)), None)
        if there is None or not (there.is_dir() and os.access(there, os.W_OK)):
            why = errno.ENOENT if there is None else errno.EACCES if there.is_dir() else errno.ENOTDIR
            raise UserError(f"Cannot write '{path}': {os.strerror(why)}. Choose another path.")
        return path

    return Kind(Path, check, output=True)
