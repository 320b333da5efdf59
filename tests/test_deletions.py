"""Nothing but the app's own names is ever deleted: beside every output that a person names, and in a home that is a link."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sbert_app.storage import DELETED, NEW, atomic_folder, sweep
from tests.attacks.small_home import tiny_model

ROOT = Path(__file__).parents[1]
AGES = {"fresh": 0, "two-days": 2, "four-hundred-days": 400}
HEXES = "0123456789abcdef" * 2
FOREIGN = f"""
.git/config .ssh/id_ed25519 .env .venv/bin/activate .{HEXES}/notes.txt .deleted-mine/notes.txt notes.txt
.sbert-studio-new-mine/notes.txt shards/mine.npy staged-0/mine.arrow parts/mine.arrow index-notes.txt
ids-mine.csv mine.parquet mine.npz plan.json plans/plan.json model.xml mine/model.xml
""".split()  # files of a person, by their path in any folder
# All commands, one after the other in one process: `prepare` as for each command of a shell.
RUN_ALL = """
import json, sys
from sbert_app.homes import prepare
from sbert_app.environment import settings_from_environment
prepare(settings_from_environment())
from sbert_app.cli.main import app
for arguments in json.loads(sys.argv[1]):
    print(arguments[0], app(arguments, standalone_mode=False), file=sys.stderr)
"""


def put_foreign(folder: Path) -> None:
    """Put a person's files and links of every age into a folder."""
    for age, days in AGES.items():
        below = folder if days == 2 else folder / f"of-{age}"
        for name in FOREIGN:
            path = below / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"mine, {age}")
        (below / ".linked").symlink_to(folder.parent, target_is_directory=True)
        (below / ".nowhere").symlink_to(folder / "nowhere")
        then = time.time() - days * 24 * 3600
        for path in (*below.rglob("*"), below):
            os.utime(path, (then, then), follow_symlinks=False)


def foreign_of(folder: Path) -> set[str]:
    """What `put_foreign` put there and is still as it was, by relative path."""

    def foreign(path: Path) -> bool:
        return path.name in (".linked", ".nowhere") if path.is_symlink() else path.is_file() and path.read_bytes()[:6] == b"mine, "

    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if foreign(path)}


@pytest.fixture
def project(tmp_path):
    """A person's project folder with a model and files, and a data home that is a link; both are full of the person's own files."""
    project, disk = tmp_path / "project", tmp_path / "disk"
    home = tmp_path / "home"
    kept = (disk / name for name in ("models", "runs", "corpora", "cache", "cache/openvino"))
    for folder in (project, project / "work", disk, *kept):
        folder.mkdir(parents=True)
        put_foreign(folder)
    home.symlink_to(disk, target_is_directory=True)
    tiny_model(project / "tiny")
    rows = [json.dumps({"text": f"the parcel number {i} came late", "channel": "mail"}) for i in range(80)]
    (project / "rows.jsonl").write_text("\n".join(rows) + "\n")
    (project / "few.jsonl").write_text("\n".join(rows[:12]) + "\n")  # too few for UMAP, which takes ten seconds to compile
    pairs = [f"parcel {i} is late,the parcel {i} came late,{i % 5}" for i in range(60)]
    (project / "pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *pairs]) + "\n")
    return project, home


def run(project, home, commands):
    environment = os.environ | {"SBERT_STUDIO_HOME": str(home), "SBERT_STUDIO_DEVICE": "cpu", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUN_ALL, json.dumps([[*map(str, words)] for words in commands])]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_no_command_deletes_a_file_that_the_app_did_not_make(project):
    project, home = project
    model, store = ("--model", "tiny"), ("--shard-rows", "16", "--work", "work")
    before = foreign_of(project), foreign_of(home.resolve())
    assert len(before[0]) > 100 and len(before[1]) > 250
    commands = [
        ["similarity", "a late parcel", "a parcel came late", *model],
        ["encode", "rows.jsonl", "--out", "x.npy", *model],
        ["search", "rows.jsonl", "--query", "late", *model],
        ["duplicates", "rows.jsonl", "--clean", "clean.csv", *model],
        ["map", "few.jsonl", "--out", "map.html", "--clusters", "2", *model],
        ["pairs", "pairs.csv", "--out", "scored.csv", *model],
        ["evaluate", "pairs.csv", *model],
        ["train", "pairs.csv", "--objective", "regression", "--base", "tiny", "--epochs", "1", "--out", "model"],
        ["index", "rows.jsonl", "--store", "store", *store, *model],
        ["index", "rows.jsonl", "--out", "parquet", *store, *model],
        ["models"],
    ]
    run(project, home, commands)
    assert (project / "model" / "model.safetensors").exists()
    put_foreign(project / "store")
    put_foreign(project / "parquet")
    before = foreign_of(project), before[1]
    rows = (project / "rows.jsonl").read_text().replace("late", "early")
    (project / "rows.jsonl").write_text(rows[:2000])  # what is stored is replaced
    again = [["index", "rows.jsonl", target, name, *store, *model] for target, name in (("--store", "store"), ("--out", "parquet"))]
    run(project, home, again)
    assert (foreign_of(project), foreign_of(home.resolve())) == before


def test_only_leftovers_of_this_app_are_swept_and_no_link_is_followed(tmp_path, tmp_path_factory):
    put_foreign(tmp_path)
    names = {"killed": f"{NEW}{HEXES}", "deleted": f"{DELETED}{HEXES}", "at-work": f"{NEW}{HEXES[::-1]}"}
    for name in names.values():
        (tmp_path / "deep" / name).mkdir(parents=True)
    old = time.time() - 25 * 3600
    os.utime(tmp_path / "deep" / names["killed"], (old, old))
    elsewhere = tmp_path_factory.mktemp("elsewhere") / names["deleted"]
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(elsewhere.parent, target_is_directory=True)
    before = foreign_of(tmp_path)
    sweep(tmp_path)
    assert foreign_of(tmp_path) == before
    assert [path.name for path in (tmp_path / "deep").iterdir()] == [names["at-work"]] and elsewhere.exists()


def test_a_folder_is_written_beside_hidden_files_of_any_age(tmp_path):
    put_foreign(tmp_path)
    before = foreign_of(tmp_path)
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "config.json").write_text("{}")
    assert foreign_of(tmp_path) == before
