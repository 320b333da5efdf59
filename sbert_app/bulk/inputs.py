"""The files of a bulk run: named one by one, by a folder or by a pattern. A file is known by its path."""

from collections.abc import Sequence
from pathlib import Path

from sbert_app.errors import UserError

TEXT_KINDS = ("csv", "tsv", "jsonl", "txt")
KINDS = ("parquet", *TEXT_KINDS, *(f"{kind}.gz" for kind in TEXT_KINDS))
HIDDEN = (".", "_")  # how names of files begin that tools leave beside data


def list_files(names: Sequence[str]) -> list[Path]:
    """The files, each once, in the order of their paths. Raises UserError for a name that stands for none."""
    files = {path for name in names for path in _files(name)}
    return sorted(files)


def kind_of(path: Path) -> str:
    """The format of a file by its ending, such as "csv.gz"; "" if it is none of KINDS."""
    name = path.name.lower()
    return next((kind for kind in sorted(KINDS, key=len, reverse=True) if name.endswith(f".{kind}")), "")


def _files(name: str) -> list[Path]:
    path = Path(name).expanduser()
    if path.is_dir():
        inside = (file for file in path.rglob("*") if kind_of(file) and not _hidden(file, path) and file.is_file())
        files = [file.resolve() for file in inside]
        if not files:
            raise UserError(f"The folder '{name}' holds no file that can be indexed. Formats: {', '.join(KINDS)}.")
        return files
    matches = [path] if path.is_file() else _matches(path)
    if not matches:
        raise UserError(f"There is no file '{name}'. Check the path.")
    for match in matches:
        if not kind_of(match):
            raise UserError(f"'{match.name}' is not a format that can be indexed as a stream. Use one of {', '.join(KINDS)}.")
    return [match.resolve() for match in matches]


def _matches(pattern: Path) -> list[Path]:
    """The files that a pattern such as data/**/*.csv stands for."""
    root = Path(pattern.anchor) if pattern.is_absolute() else Path()
    relative = str(pattern.relative_to(root))
    try:
        return [match for match in root.glob(relative) if match.is_file()]
    except (ValueError, NotImplementedError, OSError):
        return []


def _hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(HIDDEN) for part in file.relative_to(folder).parts)
