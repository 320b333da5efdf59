"""The commands that make a result again: the program reads them as they stand, and they hold only what is no default."""

import ast
import shlex
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


def parsed(command: str) -> dict[str, object]:
    """What the program reads of a command, each by its name."""
    python_, minus_m, package, name, *words = shlex.split(command)
    assert [python_, minus_m, package] == ["python", "-m", "sbert_app"]
    return get_command(shell_app).commands[name].make_context(name, words).params


@pytest.mark.parametrize("job", [job for job in JOBS if job.command], ids=lambda job: job.name)
def test_the_program_reads_every_option_of_a_command_and_python_its_script(job):
    values = {argument.name: _other(argument) for argument in arguments(job.options)}
    parsed(shell(job, values, Input("a.csv", ("text",), "other")))
    ast.parse(python(job, values, Input("a.csv", ("text",), "other")))


def _other(argument):
    """A value that is not the option's default."""
    kind = argument.kind.type
    return {bool: not argument.default, int: 7, float: 0.7, list[str]: ["a", "b"], dict: {"a": "b"}}.get(kind, "x y")


def test_names_with_quotes_and_dashes_stay_one_word():
    read = parsed(shell(SEARCH, {"query": "-- 'x' \"y\" `z`", "top": 1}, Input(NASTY, ("a b",))))
    assert (read["file"], read["column"], read["query"], read["top"]) == (Path(NASTY), ["a b"], "-- 'x' \"y\" `z`", 1)
    assert parsed(shell(SEARCH, {"query": "-x"}, Input("-a.csv")))["file"] == Path("-a.csv")
    sentences = {"sentence1": "- a dog", "sentence2": "--a puppy"}
    assert sentences.items() <= parsed(shell(SIMILARITY, sentences, Input())).items()
    call = ast.parse(python(SEARCH, {"query": "it's \\ \n"}, Input(NASTY)))
    assert {"it's \\ \n", NASTY} <= {node.value for node in ast.walk(call) if isinstance(node, ast.Constant)}
