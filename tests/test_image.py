"""The image: its build steps run here without a container, and user 1000 serves from code that it cannot change."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import audit
from tests.attacks.server import ROOT, starting
from tests.attacks.spaces import USER, python_for_everyone
from tests.licences import INTRODUCTION, PAGE, table

STEPS = re.findall(r"^(COPY|RUN|ENV|USER|CMD) (.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.M)
OUTSIDE = ("useradd", "pip install")  # steps that change the machine: they were tried by hand


def built(folder: Path) -> dict[str, str]:
    """Do what the steps do, in a folder; the variables that they set."""
    variables: dict[str, str] = {}
    for kind, text in STEPS:
        if kind == "COPY":
            *sources, target = text.split()
            for source in sources:
                place = folder / target / (source if len(sources) > 1 else "") if target == "./" else folder / target
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy2
                copy(ROOT / source, place)
        elif kind == "RUN" and not text.startswith(OUTSIDE):
            subprocess.run(["sh", "-c", text.replace("python ", "python3 ")], cwd=folder, check=True)
        elif kind == "ENV":
            variables |= dict(pair.split("=", 1) for pair in shlex.split(text))
    return variables


def test_the_image_serves_as_user_1000_from_code_that_it_cannot_change(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can start a process as another user")
    place = Path("/tmp") / f"image-{os.getpid()}"  # noqa: S108 - pytest's folders are closed to others
    code, data = place / "app", place / "data"
    code.mkdir(parents=True)
    data.mkdir()
    os.chown(data, USER, USER)
    variables = built(code)
    assert ("USER", str(USER)) in STEPS and variables["GRADIO_SERVER_NAME"] == "0.0.0.0"  # noqa: S104
    python, packages = python_for_everyone(place)
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": packages, "LD_LIBRARY_PATH": str(place / "lib")}
    env |= variables | {"SBERT_STUDIO_HOME": str(data), "GRADIO_SERVER_NAME": "127.0.0.1"}
    who = {"user": USER, "group": USER, "extra_groups": []}
    try:
        with starting(place / "log", env, [python, "app.py"], cwd=code, **who) as app:
            app.wait_for(lambda: app.answers("readyz"))
            assert subprocess.run(["touch", code / "sbert_app" / "planted.py"], capture_output=True, **who).returncode != 0
            assert [path for path in code.rglob("*") if path.stat().st_uid != 0 or path.stat().st_mode & 0o222] == []
    finally:
        shutil.rmtree(place)


def test_what_the_image_copies_is_not_kept_out_of_its_build() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line.startswith("!")}
    assert {source for kind, text in STEPS if kind == "COPY" for source in text.split()[:-1]} <= let_in


def test_the_page_of_licences_names_every_pinned_package() -> None:
    """Versions and licences as they are installed here; after a change of pins: python -m tests.licences."""
    assert PAGE.read_text(encoding="utf-8") == INTRODUCTION + table("requirements.txt")
    assert "not named" not in table("requirements.txt") and "not installed" not in table("requirements.txt")


@pytest.mark.parametrize(
    ("report", "status", "said"),
    [
        ('[{"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}]', 1, "a 1: PYSEC-1, mended in 2"),
        ('[{"name": "a", "version": "1", "vulns": []}]', 0, "requirements.txt: 1 packages looked up, 0 weaknesses; 0 not"),
        ('[{"name": "a", "skip_reason": "not found"}]', 0, "1 not looked up: the database of advisories cannot be reached"),
        ("", 0, "requirements.txt: not audited: no route to host"),
    ],
)
def test_an_audit_says_what_is_weak_and_what_could_not_be_looked_up(tmp_path, capsys, report, status, said) -> None:
    """With a stand-in for pip-audit, whose database is elsewhere."""
    tool = tmp_path / "pip-audit"
    write = f"""while [ "$1" != -o ]; do shift; done; printf '{{"dependencies": {report}}}' > "$2\""""
    tool.write_text(f"#!/bin/sh\n{write if report else 'echo no route to host >&2; exit 1'}\n")
    tool.chmod(0o755)
    assert audit.main(str(tool)) == status
    assert said in capsys.readouterr().out
