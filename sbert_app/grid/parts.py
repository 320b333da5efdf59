"""Which files of a folder are parts of one data set: X_train, X_dev and X_test."""

import re
from collections.abc import Iterator
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_mapping, has_pairs
from sbert_app.tables import Table

PART = re.compile(r"(?P<stem>.+)_(?P<part>train|dev|test)", re.IGNORECASE)


def plain_name(path: Path | str) -> str:
    """A file's name without its endings: sts12_test of sts/sts12_test.tsv.gz."""
    return Path(path).name.split(".")[0]


def together(tables: dict[Path, Table]) -> Iterator[tuple[Table, Table | None, Table | None]]:
    """Each table, with the test and dev parts of labelled sentences."""
    parts: dict[tuple[Path, str], dict[str, Table]] = {}
    for path, table in tables.items():
        match = PART.fullmatch(plain_name(path))
        if match and not has_pairs(table.frame):
            parts.setdefault((path.parent, match["stem"].lower()), {})[match["part"].lower()] = table
        else:
            parts[path, ""] = {"train": table}
    for named in parts.values():
        if "train" in named:
            yield named["train"], named.get("test"), named.get("dev")
        else:
            yield from ((table, None, None) for table in named.values())


def labelled_pairs(tables: dict[Path, Table]) -> Iterator[tuple[str, Table, Table, Table | None]]:
    """The name X, train, test and dev part of labelled pairs that have a train and a test part."""
    parts: dict[tuple[Path, str], dict[str, Table]] = {}
    for path, table in tables.items():
        match = PART.fullmatch(plain_name(path))
        if match and _holds_labelled_pairs(table):
            parts.setdefault((path.parent, match["stem"]), {})[match["part"].lower()] = table
    for (_, name), named in parts.items():
        if "train" in named and "test" in named:
            yield name, named["train"], named["test"], named.get("dev")


def _holds_labelled_pairs(table: Table) -> bool:
    try:
        return has_pairs(table.frame) and guess_mapping(table.frame).kind == "labelled"
    except UserError:
        return False
