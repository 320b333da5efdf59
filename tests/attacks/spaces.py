"""As on a Hugging Face Space: user 1000, code that cannot be changed, no home, `SPACE_ID` set. `python -m tests.attacks spaces`

Starts the real app in each surrounding and lets two visitors index, search, map and train beside each other. Needs root.
"""

import os
import shutil
import site
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradio_client import Client, handle_file

from tests.attacks.bound import bounded
from tests.attacks.server import MODEL, ROOT, labelled, starting

USER = 1000
WORK_SECONDS = 900
ANIMALS = [f"the {animal} number {i} sleeps" for i in range(8) for animal in ("penguin", "seal", "otter", "crab")]
INVOICES = [f"the {paper} number {i} is late" for i in range(8) for paper in ("invoice", "parcel", "contract", "refund")]


@dataclass
class Surrounding:
    """One environment, and what was found in it."""

    name: str
    env: dict[str, str]
    faults: int = 0

    def check(self, what: str, work: Callable[..., Any], *args: Any) -> Any:
        """Print how long a step took, or how it failed."""
        begin, result = time.perf_counter(), None
        try:
            result = work(*args)
            outcome = f"{time.perf_counter() - begin:.1f} s"
        except Exception as error:
            self.faults += 1
            outcome = f"FAULT: {type(error).__name__}: {error}"
        print(f"  {what:<28}{outcome}", flush=True)
        return result


def python_for_everyone(folder: Path) -> tuple[str, str]:
    """An interpreter that another user may start, and its path of packages. Copied where ours lies in a closed folder."""
    packages = site.getsitepackages()[0]
    base = Path(os.path.realpath(sys.executable))
    if all(parent.stat().st_mode & stat.S_IXOTH for parent in base.parents):
        return sys.executable, packages
    library = Path(sys.base_prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    unused = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "__pycache__", "config-*")
    shutil.copytree(library, folder / "lib" / library.name, ignore=unused)
    (folder / "bin").mkdir()
    for name in (base, *library.parent.glob("libpython*.so*")):
        shutil.copy2(name, folder / ("bin" if name == base else "lib") / name.name)
    return str(folder / "bin" / base.name), packages


def copy_code(folder: Path) -> None:
    """The app alone, owned by root: user 1000 can read it and change nothing."""
    for name in ("sbert_app", "assets"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "app.py", folder)


def visit(place: Path, surrounding: Surrounding, url: str) -> None:
    """Two visitors beside each other: each does all jobs, none sees what is the other's."""
    check, one, two = surrounding.check, Client(url, verbose=False), Client(url, verbose=False)

    def ask(client: Client, endpoint: str, *args: Any) -> Any:
        return client.submit(*args, api_name=endpoint).result(timeout=WORK_SECONDS)

    visitors = (("one", one, ANIMALS), ("two", two, INVOICES))
    corpora = [check(f"index {name}", ask, who, "/index_corpus", None, "\n".join(rows), [], MODEL) for name, who, rows in visitors]
    if None in corpora:
        return
    first, second = (corpus["corpus"] for corpus in corpora)
    check("search apart", lambda: apart(ask(one, "/search", first, "late", 32), ask(two, "/search", second, "a seal", 32)))
    check("an id is guessed", refused, lambda: ask(two, "/search", first[:-1] + "_", "late", 32))
    check("map (compiles at first)", lambda: clusters(ask(one, "/cluster_map", first, "4")))
    pairs = handle_file(str(place / "labelled.csv"))
    trained = check("train", lambda: finished(ask(one, "/fine_tune", pairs, "", "quick", MODEL, "a secret of visitor one")))
    check("models apart", lambda: unlisted(ask(two, "/models"), trained))
    check("a path is no upload", refused, lambda: ask(two, "/index_corpus", {"path": "/etc/passwd"}, "", [], MODEL))


def apart(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    for answer, sentences in ((ours, ANIMALS), (theirs, INVOICES)):
        if {hit["sentence"] for hit in answer["hits"]} != set(sentences):
            raise RuntimeError("a search gave sentences of another corpus")


def refused(work: Callable[[], Any]) -> None:
    try:
        work()
    except Exception as error:
        if "our side" not in str(error):
            return
        raise
    raise RuntimeError("it was answered")


def clusters(answer: dict[str, Any]) -> None:
    if answer["points"] != len(ANIMALS) or not answer["projection"].startswith("UMAP"):
        raise RuntimeError(f"{answer['points']} points, {answer['projection']}")


def finished(answer: dict[str, Any]) -> str:
    if answer["state"] != "finished":
        raise RuntimeError(f"{answer['state']}: {answer['message']}")
    return str(answer["model"])


def unlisted(models: list[dict[str, Any]], trained: str | None) -> None:
    if any(model["name"] == trained for model in models):
        raise RuntimeError("a visitor's model is listed for another")


def ended(app: "subprocess.Popen[bytes]") -> None:
    app.terminate()
    if app.wait(timeout=30):
        raise RuntimeError(f"exit status {app.returncode}")


def clean(place: Path, log: str, before: set[Path]) -> None:
    """No failure of ours in the log (Gradio's own, of refused requests, are its own); nothing left behind; the code as it was."""
    for word in ("/sbert_app/", "our side", "Aborted", "terminate called", "Segmentation"):  # the first stands in tracebacks only
        if word in log:
            raise RuntimeError(f"{word} in the log: {log[max(0, log.index(word) - 500) :][:1500]}")
    left = [path.name for path in (place / "tmp").iterdir()]
    if left or set((place / "code").rglob("*")) != before:
        raise RuntimeError(f"left behind: {left}")


def attack(place: Path, surrounding: Surrounding) -> None:
    """Start the app as user 1000 in this surrounding, and visit it."""
    before = set((place / "code").rglob("*"))
    python, packages = (place / "interpreter").read_text().split("\n")
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": packages, "SPACE_ID": "someone/studio", "SYSTEM": "spaces"}
    env |= {"LD_LIBRARY_PATH": str(place / "python" / "lib"), **surrounding.env}
    who = {"cwd": place / "code", "user": USER, "group": USER, "extra_groups": []}
    with starting(place / "app.log", env, [python, "app.py"], **who) as app:
        surrounding.check("start", app.wait_for, app.answers)
        if app.process.poll() is None:
            visit(place, surrounding, app.url)
            surrounding.check("end after SIGTERM", ended, app.process)
        surrounding.check("log and folders are clean", lambda: clean(place, app.log(), before))


def prepare(place: Path) -> list[Surrounding]:
    """Code, interpreter, homes and data that user 1000 can reach."""
    place.chmod(0o755)
    copy_code(place / "code")
    (place / "interpreter").write_text("\n".join(python_for_everyone(place / "python")))
    (place / "tmp").mkdir(mode=0o777)
    (place / "tmp").chmod(0o777)
    (place / "home").mkdir(mode=0o755)
    (place / "labelled.csv").write_bytes(labelled(120))
    temporary = {"TMPDIR": str(place / "tmp")}
    return [
        Surrounding("HOME unset", temporary),
        Surrounding("HOME missing", temporary | {"HOME": "/nonexistent"}),
        Surrounding("HOME read-only", temporary | {"HOME": str(place / "home")}),
        Surrounding("home is a bucket that is not there", temporary | {"HOME": "/nonexistent", "SBERT_STUDIO_HOME": "/data"}),
    ]


def main(folder: Path) -> bool:
    """Attack in each surrounding, print what happened: whether there is no fault."""
    if os.geteuid() != 0:
        raise SystemExit("Only root can start the app as user 1000.")
    faults = 0
    for surrounding in bounded(prepare(folder)):
        print(f"\n{surrounding.name}", flush=True)
        attack(folder, surrounding)
        faults += surrounding.faults
    print(f"\nfaults: {faults}")
    return not faults
