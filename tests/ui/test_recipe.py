"""The commands that make a result again: they run as they stand, and hold only what differs from the defaults."""

import ast
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from sbert_app.cli.main import app as shell_app
from sbert_app.jobs import JOBS
from sbert_app.jobs.declaring.option import arguments
from sbert_app.jobs.duplicates.job import DUPLICATES
from sbert_app.jobs.evaluate.job import EVALUATE
from sbert_app.jobs.map.job import CLUSTER_MAP
from sbert_app.jobs.search.job import SEARCH
from sbert_app.jobs.similarity.job import SIMILARITY
from sbert_app.jobs.timing import TIMING
from sbert_app.ui.kit.take_home import Input, python, shell

ROOT = Path(__file__).parents[2]
NASTY = 'bob\'s "best" $HOME; touch gone.csv'


def test_only_options_that_differ_from_their_default_are_written():
    values = {"query": "late parcel", "top": 10, "ranking": "maxsim", "rerank": True, "filters": None}
    assert shell(SEARCH, values, Input("a.csv", ("text",))) == (
        "python -m sbert_app search a.csv --column text --query 'late parcel' --rerank"
    )
    assert python(SEARCH, values, Input("a.csv", ("text",))).splitlines()[3:] == [
        "corpus = client.predict(file=handle_file('a.csv'), columns=['text'], api_name=\"/index_corpus\")[\"corpus\"]",
        "result = client.predict(corpus, query='late parcel', rerank=True, api_name=\"/search\")",
        "print(result)",
    ]


def test_each_surface_gets_its_own_options():
    values = {"out": "map.html", "clusters": "4", "places": False}
    assert shell(CLUSTER_MAP, values, Input("a.csv", model="runs/x")) == (
        "python -m sbert_app map a.csv --model runs/x --out map.html --clusters 4 --no-places"
    )
    assert "out=" not in python(CLUSTER_MAP, values, Input("a.csv")) and "clusters='4'" in python(CLUSTER_MAP, values, Input("a"))
    assert "remove" not in python(DUPLICATES, {"remove": "copies"}, Input("a.csv"))
    assert shell(EVALUATE, {"systems": ["sbert", "word-overlap"]}, Input("p.csv")).endswith("p.csv --systems sbert,word-overlap")
    assert "handle_file" not in python(TIMING, {"sentences": 500}, Input())


def test_an_undeclared_value_is_a_mistake_of_ours():
    with pytest.raises(KeyError, match="nowhere"):
        shell(SEARCH, {"nowhere": 1}, Input("a.csv"))


@pytest.mark.parametrize("job", [job for job in JOBS if job.command], ids=lambda job: job.name)
def test_every_flag_is_one_of_the_command(job):
    values = {argument.name: _other(argument) for argument in arguments(job.options)}
    words = shlex.split(shell(job, values, Input("a.csv", ("text",), "other")))
    known = {
        name for option in get_command(shell_app).commands[job.command].params for name in (*option.opts, *option.secondary_opts)
    }
    assert words[:4] == ["python", "-m", "sbert_app", job.command]
    assert {word for word in words if word.startswith("--")} <= known
    ast.parse(python(job, values, Input("a.csv", ("text",), "other")))


def _other(argument):
    """A value that is not the option's default."""
    kind = argument.kind.type
    return {bool: not argument.default, int: 7, float: 0.7, list[str]: ["a", "b"], dict: {"a": "b"}}.get(kind, "x y")


def test_names_with_quotes_and_dashes_stay_one_word():
    words = shlex.split(shell(SEARCH, {"query": "-- 'x' \"y\" `z`"}, Input(NASTY, ("a b",))))
    assert words[4] == NASTY and words[-1] == "-- 'x' \"y\" `z`"
    assert shell(SEARCH, {"query": "x"}, Input("-a.csv")).split()[4] == "./-a.csv"
    call = ast.parse(python(SEARCH, {"query": "it's \\ \n"}, Input(NASTY)))
    assert {"it's \\ \n", NASTY} <= {node.value for node in ast.walk(call) if isinstance(node, ast.Constant)}
    values = {"sentence1": "- a dog", "sentence2": "- a puppy"}
    command = get_command(shell_app).commands[SIMILARITY.command]
    assert values.items() <= command.make_context("", shlex.split(shell(SIMILARITY, values, Input()))[4:]).params.items()


def test_the_copied_commands_run(tmp_path):
    (tmp_path / NASTY).write_text("id,text\n1,My parcel is late\n2,I was charged twice\n3,The app crashes\n")
    command = shell(SEARCH, {"query": "-where is my parcel", "top": 1}, Input(NASTY, ("text",)))
    hits = json.loads(ran(f"{command} --json", tmp_path))["hits"]
    assert [hit["sentence"] for hit in hits] == ["My parcel is late"]


def ran(command: str, folder: Path) -> str:
    """What a command writes, run by a real shell in a folder."""
    home = {"SBERT_STUDIO_HOME": str(folder / "home"), "SBERT_STUDIO_DEVICE": "cpu", "PYTHONPATH": str(ROOT)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, env=os.environ | home | {"PATH": path}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
