"""What the app does before its first page is there: little enough that the page comes at once."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gradio
import pytest

from sbert_app.errors import UserError
from sbert_app.jobs.evaluate.grid import data_sets
from sbert_app.models.registry import Registry
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from sbert_app.ui.app import build_app

ROOT = Path(__file__).parents[1]
# Each takes from a tenth of a second to two. Gradio imports pandas, pyarrow and huggingface_hub itself.
SLOW = {
    "torch", "transformers", "tokenizers", "safetensors", "peft", "sklearn", "scipy", "umap", "numba", "faiss", "bm25s", "plotly",
    "openpyxl",
}  # fmt: skip
BUNDLED = {"torch", "tokenizers", "safetensors"}  # what the bundled encoder takes
SERVE = """
import json, os, resource, sys, time, urllib.request
from pathlib import Path
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from sbert_app.ui.gradio_changes import no_stubs, use_lean_pages

read_text, stubs = Path.read_text, []
Path.read_text = lambda path, *how, **more: (path.suffix == ".pyi" and stubs.append(path), read_text(path, *how, **more))[1]
with no_stubs():
    from sbert_app.ui.app import build_app, launch_options
bench = Workbench(Settings(home=Path(sys.argv[1])))
page = build_app(bench)
use_lean_pages()
_, url, _ = page.launch(prevent_thread_lock=True, quiet=True, **launch_options(bench))
assert b"SBERT Studio" in urllib.request.urlopen(url).read()
assert stubs == []
modules = sorted({name.partition(".")[0] for name in sys.modules})
before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
time.sleep(1)
wakes = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
print(json.dumps([modules, wakes]), flush=True)
os._exit(0)
"""


def test_a_page_is_served_before_any_slow_library_is_imported_and_an_idle_app_wakes_seldom(tmp_path):
    out = subprocess.run([sys.executable, "-c", SERVE, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    modules, wakes = json.loads(out.stdout.splitlines()[-1])
    assert "gradio" in modules and {*modules} & SLOW == set()
    assert wakes < 400  # a second; with Gradio's defaults about 1,000


@pytest.mark.parametrize(
    ("command", "needed"),
    [("encode sentences.txt --out out.npy", BUNDLED), ("similarity A B", BUNDLED), ("models", set())],
)
def test_a_command_imports_no_page_no_index_and_with_the_bundled_encoder_no_transformers(tmp_path, command, needed):
    (tmp_path / "sentences.txt").write_text("A cat.\nA dog.\n", encoding="utf-8")
    line = [sys.executable, "-X", "importtime", "-m", "sbert_app", *command.split()]
    env = os.environ | {"PYTHONPATH": str(ROOT), "SBERT_STUDIO_HOME": str(tmp_path / "home"), "SBERT_STUDIO_DEVICE": "cpu"}
    run = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=True)
    imported = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines() if line.startswith("import time:")}
    assert "sbert_app.jobs" in imported and ("sbert_app.models.bundled" in imported) == bool(needed)
    assert (tmp_path / "out.npy").exists() == command.startswith("encode")
    unneeded = (SLOW - needed) | {"gradio", "jinja2"}
    assert {name for name in imported if name.partition(".")[0] in unneeded or name.startswith("sbert_app.ui")} == set()


def test_a_page_is_built_without_a_server_of_its_own_and_without_reading_data_sets(tmp_path, monkeypatch):
    """Gradio makes three servers of a page before that which serves: a fourth of the time between the imports and the page."""
    made: list[object] = []

    def create_app(*arguments: object, **_: object) -> None:
        made.append(arguments)

    bench = Workbench(Settings(home=tmp_path, device="cpu"))
    assert bench.registry is bench.registry
    own = list(data_sets(bench, Session()))
    monkeypatch.setattr("gradio.routes.App.create_app", create_app)
    monkeypatch.setattr("sbert_app.jobs.evaluate.grid.own_data_sets", create_app)
    page = build_app(bench)
    assert made == [] and gradio.routes.App.create_app is create_app, "the one that serves is made by `launch`"
    sets = next(block for block in page.blocks.values() if getattr(block, "elem_id", "") == "eval-sets")
    assert [name for name, _ in sets.choices] == own


def test_a_gpu_that_is_not_there_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(UserError, match="torch sees no CUDA device"):
        Workbench(Settings(home=tmp_path, device="cuda"))


@pytest.mark.parametrize("hosted", [False, True])
def test_the_picker_lists_all_models_of_a_new_home_before_the_registry_is_there(tmp_path, hosted):
    settings = replace(Settings(home=tmp_path, device="cpu", hosted=hosted), allowed_models=("org/model",))
    app = build_app(Workbench(settings))
    picker = next(block for block in app.blocks.values() if getattr(block, "elem_id", "") == "model")
    assert [name for name, _ in picker.choices] == list(Registry(settings).encoders(untrained=True))
