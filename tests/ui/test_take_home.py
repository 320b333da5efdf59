"""The links under a result hold its title, its source and its commands as text, whatever a visitor's names hold."""

import base64
import io
import re
import zipfile
from datetime import date

from markupsafe import Markup

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import TF_IDF, Choice
from sbert_app.jobs.search.job import SEARCH
from sbert_app.runtime.workbench import Workbench
from sbert_app.timing.report import IN_PAPER
from sbert_app.ui.evaluation import below_view as grid_links
from sbert_app.ui.kit.take_home import Caption, Input, commands, input_of, pictures, present, row
from sbert_app.ui.timing import race_view
from tests.searching import indexed

ATTACK = '"><img src=x onerror=alert(1)>'


def test_names_cannot_leave_their_attribute():
    about = Caption.of(ATTACK, ATTACK)
    links = row(about, ["map-plot"], present(), pictures("map-plot", ATTACK), commands(SEARCH, {"query": ATTACK}, Input(ATTACK)))
    assert isinstance(links, Markup) and "<img" not in links
    assert re.findall("<([a-z]+)", links) == ["div", "span", "button", "span", "button", "button", "span", "button", "button"]


def test_a_caption_names_its_facts_its_day_and_the_app():
    assert Caption.of("Map", "model", "", day="2026-11-22").source == "model · 2026-11-22 · SBERT Studio"
    assert date.today().isoformat() in Caption.of("Map").source


def test_a_corpus_is_written_as_the_file_that_a_command_reads(shared_bench: Workbench):
    corpus = indexed(shared_bench, ["one line", "another line"]).corpus()
    assert input_of(corpus) == Input("pasted.txt", (), corpus.model)


def test_the_published_times_are_not_dated_and_take_no_file():
    links = race_view.links(IN_PAPER, 500, None)
    assert str(date.today().year) not in race_view.caption(IN_PAPER).source
    assert "python -m sbert_app timing --sentences 500" in links and "handle_file" not in links


def test_a_grid_is_taken_home_for_mteb_where_mteb_knows_its_figures(shared_bench: Workbench, scored):
    data = PairSet(ATTACK, scored)
    grid = Grid((TF_IDF,), (data,), {(TF_IDF, 0): measure_cell(load_system(shared_bench, TF_IDF, Choice()), data)})
    links = grid_links.links(grid, Choice())
    packed = re.search(r'download="sbert-studio-evaluation-mteb.zip" href="data:application/zip;base64,([^"]+)">mteb</a>', links)
    assert packed and "<img" not in links
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(packed[1]))) as archive:
        assert [name.split("/")[-1] for name in archive.namelist()] == ["img-src-x-onerror-alert-1.json", "model_meta.json"]
    without = grid_links.links(Grid((TF_IDF,), (data,)), Choice())
    assert ".csv" in without and "mteb" not in without
