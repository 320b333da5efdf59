"""What is taken home: links that hold any name as text; commands that the program reads, and that hold only what is no default."""

import ast
import base64
import io
import re
import shlex
import zipfile
from datetime import date
from pathlib import Path

import pytest
from markupsafe import Markup
from typer.main import get_command

from sbert_app.cli.main import app as shell_app
from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import TF_IDF, Choice
from sbert_app.jobs import JOBS
from sbert_app.jobs.declaring.option import arguments
from sbert_app.jobs.duplicates.job import DUPLICATES
from sbert_app.jobs.evaluate.job import EVALUATE
from sbert_app.jobs.map.job import CLUSTER_MAP
from sbert_app.jobs.search.job import SEARCH
from sbert_app.jobs.similarity import SIMILARITY
from sbert_app.jobs.timing import TIMING
from sbert_app.timing.report import IN_PAPER
from sbert_app.ui.evaluation import below_view as grid_links
from sbert_app.ui.kit.take_home import Caption, Input, commands, input_of, pictures, present, python, row, shell
from sbert_app.ui.timing import race_view
from tests.searching import indexed

ATTACK = '"><img src=x onerror=alert(1)>'
NASTY = 'bob\'s "best" $HOME; touch gone.csv'


def test_names_cannot_leave_their_attribute_and_a_caption_names_its_facts_its_day_and_the_app():
    about = Caption.of(ATTACK, ATTACK)
    links = row(about, ["map-plot"], present(), pictures("map-plot", ATTACK), commands(SEARCH, {"query": ATTACK}, Input(ATTACK)))
    assert isinstance(links, Markup) and "<img" not in links
    assert re.findall("<([a-z]+)", links) == ["div", "span", "button", "span", "button", "button", "span", "button", "button"]
    assert Caption.of("Map", "model", "", day="2026-11-22").source == "model · 2026-11-22 · SBERT Studio"
    assert date.today().isoformat() in Caption.of("Map").source


def test_a_corpus_is_written_as_the_file_that_a_command_reads(shared_bench):
    corpus = indexed(shared_bench, ["one line", "another line"]).corpus()
    assert input_of(corpus) == Input("pasted.txt", (), corpus.model)


def test_the_published_times_are_not_dated_and_take_no_file():
    links = race_view.links(IN_PAPER, 500, None)
    assert str(date.today().year) not in race_view.caption(IN_PAPER).source
    assert "python -m sbert_app timing --sentences 500" in links and "handle_file" not in links


def test_a_grid_is_taken_home_for_mteb_where_mteb_knows_its_figures(shared_bench, scored):
    data = PairSet(ATTACK, scored)
    grid = Grid((TF_IDF,), (data,), {(TF_IDF, 0): measure_cell(load_system(shared_bench, TF_IDF, Choice()), data)})
    links = grid_links.links(grid, Choice())
    packed = re.search(r'download="sbert-studio-evaluation-mteb.zip" href="data:application/zip;base64,([^"]+)">mteb</a>', links)
    assert packed and "<img" not in links
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(packed[1]))) as archive:
        assert [name.split("/")[-1] for name in archive.namelist()] == ["img-src-x-onerror-alert-1.json", "model_meta.json"]
    without = grid_links.links(Grid((TF_IDF,), (data,)), Choice())
    assert ".csv" in without and "mteb" not in without


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
    with pytest.raises(KeyError, match="nowhere"):  # a mistake of ours
        shell(SEARCH, {"nowhere": 1}, Input("a.csv"))


def test_each_surface_gets_its_own_options():
    values = {"out": "map.html", "clusters": "4", "places": False}
    assert shell(CLUSTER_MAP, values, Input("a.csv", model="runs/x")) == (
        "python -m sbert_app map a.csv --model runs/x --out map.html --clusters 4 --no-places"
    )
    assert "out=" not in python(CLUSTER_MAP, values, Input("a.csv")) and "clusters='4'" in python(CLUSTER_MAP, values, Input("a"))
    assert "remove" not in python(DUPLICATES, {"remove": "copies"}, Input("a.csv"))
    assert shell(EVALUATE, {"systems": ["sbert", "word-overlap"]}, Input("p.csv")).endswith("p.csv --systems sbert,word-overlap")
    assert "handle_file" not in python(TIMING, {"sentences": 500}, Input())


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
