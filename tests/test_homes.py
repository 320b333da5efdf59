"""Whatever the home is like, there is a place to write, or a sentence that says why not. Each case in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from filelock import FileLock

from sbert_app.homes import LOCK, clean_uploads

ROOT = Path(__file__).parents[1]
NOWHERE = "/proc/nobody"  # not even root can make a folder there
PREPARE = """
import json, os, sys, tempfile
from pathlib import Path
from sbert_app.homes import prepare
from sbert_app.environment import settings_from_environment

settings = prepare(settings_from_environment())
(settings.home / "kept.txt").write_text("kept")
heavy = [name for name in ("numba", "torch", "gradio", "transformers") if name in sys.modules]
names = ("NUMBA_CACHE_DIR", "HF_HOME", "SBERT_STUDIO_HOME", "TMPDIR")
facts = {"home": str(settings.home), "temporary": settings.temporary, "heavy": heavy, "tempdir": tempfile.gettempdir()}
print(json.dumps(facts | {name: os.environ.get(name) for name in names}))
"""


@pytest.fixture
def prepared(tmp_path):
    """What `prepare` makes of an environment, and what it wrote on stderr."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def prepared(code=PREPARE, **env):
        base = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary), "HOME": str(tmp_path / "me"), "PYTHONPATH": str(ROOT)}
        env = {name: value for name, value in (base | env).items() if value is not None}
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    return prepared


def test_a_good_home_is_used_as_it_is_and_the_temporary_folder_goes_with_its_process(prepared, tmp_path):
    facts, err = prepared(SBERT_STUDIO_HOME=str(tmp_path / "new" / "home"))
    assert facts["home"] == str(tmp_path / "new" / "home") and not facts["temporary"] and err == ""
    assert [path.name for path in (tmp_path / "new" / "home").iterdir()] == ["kept.txt"]
    assert facts["heavy"] == []  # the start pays nothing for it
    assert facts["tempdir"] == facts["TMPDIR"] and Path(facts["tempdir"]).parent == tmp_path / "tmp"
    assert facts["HF_HOME"] is None and list((tmp_path / "tmp").iterdir()) == []  # its folder went with it


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"HOME": NOWHERE}, NOWHERE),
        ({"SBERT_STUDIO_HOME": NOWHERE}, NOWHERE),
        ({"XDG_DATA_HOME": NOWHERE}, NOWHERE),
        ({"HOME": __file__}, "Not a directory"),
    ],
)
def test_a_home_that_cannot_be_written_is_replaced_for_the_time_being(prepared, tmp_path, env, why):
    facts, err = prepared(**env)
    assert facts["temporary"] and facts["home"].startswith(str(tmp_path / "tmp" / "sbert-studio-"))
    assert facts["SBERT_STUDIO_HOME"] == facts["home"]  # for whoever reads the settings again
    assert len(err.splitlines()) == 1 and "cannot be written" in err and why in err
    assert list((tmp_path / "tmp").iterdir()) == []  # it ended, so it is gone


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_whom_the_system_does_not_know(prepared):
    """A container's user without an entry in the list of users: "~" leads nowhere."""
    become = "os.environ.pop('HOME'), os.setgid(54321), os.setuid(54321)\nsettings ="
    facts, err = prepared(PREPARE.replace("settings =", become, 1), TMPDIR="/tmp")  # noqa: S108 - open to everyone
    assert facts["temporary"] and "there is no home folder" in err and facts["HF_HOME"].startswith(facts["home"])


def test_two_apps_may_share_a_home(prepared, tmp_path):
    home = str(tmp_path / "home")
    commands = [[sys.executable, "-c", PREPARE] for _ in range(4)]
    env = os.environ | {"SBERT_STUDIO_HOME": home, "PYTHONPATH": str(ROOT)}
    apps = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for command in commands]
    assert [json.loads(app.communicate(timeout=60)[0])["home"] for app in apps] == [home] * 4


def test_compiled_code_and_the_hubs_files_have_a_place(prepared, tmp_path):
    homeless, _ = prepared(SBERT_STUDIO_HOME=str(tmp_path / "home"), HOME=os.devnull)
    assert homeless["HF_HOME"] == str(tmp_path / "home" / "cache" / "huggingface")
    chosen, _ = prepared(HOME=NOWHERE, HF_HOME="/mnt/models", NUMBA_CACHE_DIR="/mnt/numba")
    assert (chosen["HF_HOME"], chosen["NUMBA_CACHE_DIR"]) == ("/mnt/models", "/mnt/numba")


def test_numba_compiles_into_the_home_where_packages_cannot_be_written(prepared, tmp_path):
    for name in ("umap", "pynndescent"):
        (tmp_path / "packages" / name).mkdir(parents=True)
        (tmp_path / "packages" / name / "__init__.py").touch()
        (tmp_path / "packages" / name / "__pycache__").symlink_to("/proc/self")
    facts, _ = prepared(SBERT_STUDIO_HOME=str(tmp_path / "home"), PYTHONPATH=f"{tmp_path / 'packages'}:{ROOT}")
    assert facts["NUMBA_CACHE_DIR"] == str(tmp_path / "home" / "cache" / "numba")


def test_leftovers_of_killed_processes_are_swept(prepared, tmp_path):
    """Packed models of 88 MB lay there for ever."""
    old, names = time.time() - 120, "sbert-studio-killed sbert-studio-alive sbert-studio-new sbert-studio-notes other"
    folders = {name: tmp_path / "tmp" / name for name in names.split()}
    for name, folder in folders.items():
        folder.mkdir()
        (folder / "model.zip").write_text("a packed model")
        if name != "sbert-studio-notes":  # a person's
            (folder / LOCK).touch()
        if name != "sbert-studio-new":
            os.utime(folder, (old, old))
    (tmp_path / "tmp" / "sbert-studio-link").symlink_to(tmp_path)
    with FileLock(folders["sbert-studio-alive"] / LOCK):
        os.utime(folders["sbert-studio-alive"], (old, old))
        prepared()
    assert [name for name, folder in folders.items() if not folder.exists()] == ["sbert-studio-killed"]


def test_what_a_given_up_upload_left_is_deleted(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    uploads = tmp_path / "gradio"
    (uploads / "tmp-of-a-hash").mkdir(parents=True)
    for name in ("tmp-given-up", "tmp-on-its-way"):
        (uploads / name).touch()
    for name in ("tmp-of-a-hash", "tmp-given-up"):
        os.utime(uploads / name, (1, 1))
    clean_uploads()
    assert sorted(path.name for path in uploads.iterdir()) == ["tmp-of-a-hash", "tmp-on-its-way"]
