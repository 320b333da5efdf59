"""The licences of the pinned packages, as their own metadata name them: `python -m tests.licences` writes docs/licences.md.

With the name of another file of pins, such as requirements-scale.txt, its packages are printed, once they are installed.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
INTRODUCTION = """# Licences

For anyone who passes the app on. The licence of each package in `requirements.txt`, as the package's own metadata name it; written
by `python -m tests.licences`. Those of another file of pins, once installed: `python -m tests.licences FILE`. The app itself has
Apache-2.0.

"""


def licence(name: str) -> str:
    """The licence of an installed package: its expression, else its classifiers, else the first line of its text."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return "not installed here"
    classified = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    named = [each for each in classified if each != "OSI Approved"]
    return about["License-Expression"] or ", ".join(named) or (about["License"] or "not named").splitlines()[0]


def table(file: str) -> str:
    """The pinned packages of a file with their versions and licences."""
    pins = re.findall(r"^([\w-]+)(?:\[\w+\])?[=>]=(?:.*<=)?(\S+)$", (ROOT / file).read_text(encoding="utf-8"), re.M)
    rows = [f"| {name} | {version} | {licence(name)} |" for name, version in sorted(pins, key=lambda pin: pin[0].lower())]
    return "\n".join(["| package | version | licence |", "| --- | --- | --- |", *rows]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(table(sys.argv[1]))
    else:
        PAGE.write_text(INTRODUCTION + table("requirements.txt"), encoding="utf-8")
