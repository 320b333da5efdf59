"""What goes into the page is escaped."""

import re
from dataclasses import replace

import gradio as gr
import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from sbert_app.corpus.hits import Indexing
from sbert_app.corpus.library import SavedCorpus
from sbert_app.corpus.mending import findings
from sbert_app.errors import OUR_FAULT, UserError
from sbert_app.evaluation.metrics import MetricEstimate
from sbert_app.evaluation.verdict import Change
from sbert_app.jobs.corpus.job import index
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.jobs.score_pairs import open_pairs, score_opened
from sbert_app.jobs.similarity import ListComparison, SimilarityOptions, compare
from sbert_app.labelled.example_set import Separation
from sbert_app.labelled.examples import Examples
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import Baseline, LearningCurve, Loss, RunInfo, RunOverview, RunState
from sbert_app.runtime.session import Session
from sbert_app.settings import ASSETS
from sbert_app.tables import read_table
from sbert_app.training.options import TrainingOptions
from sbert_app.ui.corpus import view as corpus_view
from sbert_app.ui.fine_tune import runs_panel, verdict_view
from sbert_app.ui.fine_tune import view as fine_tune
from sbert_app.ui.fine_tune.chart import distributions, training_curve
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import handler
from sbert_app.ui.kit.html import render
from sbert_app.ui.map import lists as map_lists
from sbert_app.ui.search import view as search
from sbert_app.ui.similarity import detail_view, file_panel
from sbert_app.ui.similarity import view as similarity
from sbert_app.ui.similarity.view import heat_map
from sbert_app.wording import duration
from tests.attacks.small_home import planned
from tests.searching import search as find

ATTACK = '<img src=x onerror="alert(1)">'


def test_sentences_names_and_metadata_are_escaped(bench, tiny):
    session = bench.sessions.open()
    path = bench.settings.home.parent / "a.csv"
    pd.DataFrame({"text": [ATTACK, "plain"], ATTACK: ["<b>", ATTACK]}).to_csv(path, index=False)
    table = read_table(path, bench.settings.limits, f"{ATTACK}.csv")
    session.put(table)
    shown = [corpus_view.table_summary(table, "text", True, [*findings(table, ["text"])])]
    events = list(index(bench, session, ["text"]))
    shown += [corpus_view.card(events[-1].result, session.get(Indexing)), corpus_view.progress(events[-1], table.name)]
    shown.append(search.results(find(bench, session, "x")))
    compared = compare(bench, Session(), SimilarityOptions(ATTACK, f"{ATTACK} again"))
    shown += [file_panel.scored(_scored_pairs(bench, session)), detail_view.details(compared, ATTACK)]
    shown.append(similarity.comparison(compared))
    for markup in [*shown, *_fine_tuning(bench, session, str(tiny))]:
        assert "<img" not in markup and 'onerror="' not in markup
    assert "&lt;img" in shown[-2]


def test_a_cell_of_text_is_escaped_and_a_cell_of_html_is_not():
    table = html.table((ATTACK, ""), [(ATTACK, Markup("<b>{}</b>").format("R&D"))])
    assert isinstance(table, Markup) and "<img" not in table and table.count("&lt;img") == 2
    assert "<td><b>R&amp;D</b></td>" in table


def test_a_page_escapes_its_values_and_holds_its_files():
    values = dict.fromkeys(("title", "source", "summary", "clusters", "numbers", "command"), ATTACK)
    page = render("map_page.html", plot="<div>plot</div>", **values)
    assert "<img" not in page and page.count("&lt;img") == len(values) + 1 and "<div>plot</div>" in page
    for name in ("kept_page.css", "map_page.css", "map_names.js", "map.js"):
        assert (ASSETS / name).read_text(encoding="utf-8").strip() in page
    with pytest.raises(UndefinedError):
        render("map_page.html", plot="")


def test_figures_show_markup_as_text():
    pair, half = ([ATTACK], ["plain"]), np.array([0.5])
    held_out = Examples("labelled", pair, np.array([0.0]), np.array([1]), (ATTACK, "same"), 1)
    figures = [heat_map(ListComparison(*pair, np.ones((1, 1), np.float32), 1.0)), distributions(held_out, half, half)]
    for figure in figures:
        written = figure.to_json().replace(r"\u003c", "<")
        assert "&lt;img" in written and "<img" not in written
    (record,) = verdict_view._records(held_out, np.array(half), np.array(half))
    assert record["meant"] == ATTACK  # a file has the label as it is


def test_a_column_is_named_as_in_the_file():
    records = [{"row": 1, "sentence": "a", "cluster": "b", "map_x": 0.0, "map_y": 0.0, "R&D": "x&y"}]
    card = map_lists._card(records[0], 0)
    assert "R&amp;D <em>x&amp;y</em></span>" in card and "cosine" not in card and "<details>" not in card
    assert "<details><summary" in map_lists._card(records[0] | {"sentence": "a " * 300}, 0)


@pytest.mark.parametrize(("seconds", "text"), [(0.44, "0.4 s"), (12.2, "12 s"), (200, "3 min 20 s"), (7_502, "2 h 5 min")])
def test_durations_are_readable(seconds, text):
    assert duration(seconds) == text


def test_errors_are_shown_in_one_way_for_plain_and_generator_handlers(caplog):
    def plain(error):
        raise error

    def generator(error):
        yield "first"
        raise error

    for wrapped in (handler(plain), lambda error: list(handler(generator)(error))):
        with pytest.raises(gr.Error, match="mend this") as shown:
            wrapped(UserError("mend this"))
        assert shown.value.print_exception is False
        with pytest.raises(gr.Error, match=OUR_FAULT) as shown:
            wrapped(RuntimeError("secret path"))
        number = re.search(r"number ([0-9a-f]{6})\. Please try again\.", str(shown.value))[1]
        assert f"failed, number {number}" in caplog.text and "secret" not in str(shown.value)


def test_a_zero_has_no_sign(shared_bench):
    compared = replace(compare(shared_bench, Session(), SimilarityOptions("a b", "c d")), score=-0.0001)
    assert '<span class="score" id="score">0.000</span>' in similarity.comparison(compared)
    lists = ListComparison(["a"], ["b", "c"], np.array([[-0.00001, -0.004]], np.float32), 1.0)
    assert [str(record["score"]) for record in lists.records(2)] == ["0.0", "-0.004"]
    cells = heat_map(lists).data[0]
    assert [f"{value:.2f}" for value in cells.text[0]] == ["0.00", "0.00"] and not np.signbit(cells.z[0, 0])


def test_both_systems_have_their_time_in_one_unit(shared_bench):
    compared = compare(shared_bench, Session(), SimilarityOptions("a cat", "a dog", cross_encoder=DEFAULT_CROSS_ENCODER))
    cross = replace(compared.cross_encoder, milliseconds=11.25)
    compared = replace(compared, encode_milliseconds=4.04, milliseconds=99.0, waited=0.0, cross_encoder=None)
    page = detail_view.details(replace(compared, cross_encoder=cross), "all-MiniLM-L6-v2")
    assert "<td>SBERT, all-MiniLM-L6-v2</td><td>4.0 ms</td>" in page and "</td><td>11.2 ms</td>" in page
    assert "128 pairs that mean the same in entirely other words have a median of 0.4" in page
    assert page.count(" ms") == 2 and " ms" not in similarity.comparison(compared)  # and no other time on the tab
    assert "waited 250 ms for others" in detail_view.details(replace(compared, waited=250.0), "all-MiniLM-L6-v2")


def test_words_without_content_are_hidden_until_the_box_is_ticked(shared_bench):
    page = detail_view.details(compare(shared_bench, Session(), SimilarityOptions("The cat sleeps.", "A cat is asleep.")), "m")
    heads = [f'<th scope="col" class="quiet"><span>{word}</span></th>' for word in ("A", "is", ".")]
    for head in (*heads, '<th scope="col"><span>cat</span></th>', '<tr class="quiet"><th scope="row" class="special">[CLS]</th>'):
        assert head in page
    content, everything = re.findall(r'<div class="(?:content-only|quiet)">(.*?)</div>', page)
    assert "cat ↔ cat" in content and "The ↔" not in content and "The ↔" in everything
    assert "Hidden words still count: they take part in 0." in page


def test_matched_words_have_one_number_in_both_sentences(shared_bench):
    page = similarity.comparison(compare(shared_bench, Session(), SimilarityOptions("The cat, asleep.", "A kitten is napping <b>")))
    *lines, _ = re.findall(r"<p[^>]*>(.*?)</p>", page.partition('<div class="matched">')[2])
    mark = re.compile(r'class="pair-(\d)" style="--w:[\d.]+" title="[^"]+">(\w+)<sup>\1</sup>')
    first, second = (dict(mark.findall(line)) for line in lines)
    assert first.keys() == second.keys() and ("cat", "kitten") in [(first[number], second[number]) for number in first]
    assert re.sub(r"<sup>.*?</sup>|<[^>]+>", "", lines[1]) == "A kitten is napping &lt;b&gt;"


def test_a_long_sentence_ends_where_the_model_stopped_reading(shared_bench):
    page = similarity.comparison(compare(shared_bench, Session(), SimilarityOptions("a cat", "cat " + "word " * 3_000)))
    assert len(page) < 6_000 and "word …</p>" in page


def _scored_pairs(bench, session):
    path = bench.settings.home.parent / "p.csv"
    pd.DataFrame({"sentence1": [ATTACK, ""], "sentence2": ["a plain line", "b"], ATTACK: ["x", "y"]}).to_csv(path, index=False)
    columns = open_pairs(session, read_table(path, bench.settings.limits))
    return list(score_opened(bench, session, columns, DEFAULT_ENCODER))[-1].result


def _fine_tuning(bench, session, model):
    """Every view of a run whose file, labels and sentences are hostile."""
    rows = [(f"{ATTACK} {i}", f"second {i} {ATTACK}", ATTACK if i % 2 else "plain") for i in range(40)]
    path = bench.settings.home.parent / "b.csv"
    pd.DataFrame(rows, columns=["sentence1", "sentence2", "label"]).to_csv(path, index=False)
    table = read_table(path, bench.settings.limits, f"{ATTACK}.csv")
    data = preparing.load(bench, session, table)
    plan = planned(data, model, epochs=1, learning_curve=True)
    run = running.create(bench, data, plan, name=ATTACK)
    with run.lock():
        list(running.train_here(bench, run))
    run.set_state("failed", ATTACK)
    progress, held_out = running.state(bench, run.id), running.find(bench, run.id).split().held_out
    views = [fine_tune.training_data(data), fine_tune.live(progress), fine_tune.plan_line(plan), fine_tune.MESSAGE.format(ATTACK)]
    info = progress.info
    views += [fine_tune.run_title(info), fine_tune.other_data(replace(info, fingerprint="another"), data)]
    table = runs_panel.run_table(bench.runs.overview(running.rows(bench)))
    views += [table, runs_panel.question(info), runs_panel.chosen_run(info)]
    return [*views, verdict_view.verdict(progress), verdict_view.movers(held_out, progress.result.before, progress.result.after)]


def recorded(*events):
    """A run that has recorded these events."""
    info = RunInfo("id", "name", "running", "", "2026-01-02", "", has_model=False)
    return RunState(info, Plan("base", "regression"), list(events), None, "scored", Separation(), 0)


def test_no_curve_is_drawn_before_there_is_a_point():
    base, loss = Baseline(0, 0.5), Loss(3, 1.0, 10.0, 0.2, 9)
    assert training_curve(recorded()) is training_curve(recorded(base)) is None
    assert [line.name for line in training_curve(recorded(loss)).data] == ["loss"]
    names = [(line.name, line.line.dash, list(line.y)) for line in training_curve(recorded(base, loss)).data]
    assert names[1] == ("dev score before training", "dash", [50, 50])


def test_histograms_share_one_scale():
    pairs, scores = (["a"] * 9, ["b"] * 9), np.linspace(0, 1, 9)
    held_out = Examples("scored", pairs, scores, np.arange(1, 10))
    figure = distributions(held_out, np.full(9, 0.5), scores)
    assert figure.layout.yaxis2.matches == "y"
    assert {line.name for line in figure.data} == {"target below 1/3", "target 1/3 to 2/3", "target above 2/3"}


@pytest.mark.parametrize(
    ("low", "value", "high", "text"),
    [
        (0.02, 0.03, 0.1, "(95 %: +2.0 to +10.0). More labels would very likely"),
        (-0.01, 0.03, 0.1, "could be"),
        (-0.07, -0.01, 0.03, "cannot be told"),
        (-0.01, 0.0, 0.01, "change little"),
    ],
)
def test_the_learning_curve_in_words(low, value, high, text):
    estimate = MetricEstimate(0.5, 0.4, 0.6)
    change = Change("spearman", estimate, estimate, MetricEstimate(value, low, high), 0.5)
    assert text in verdict_view._curve(LearningCurve(50, 100, change))
    assert verdict_view._curve(None) == ""


def test_what_is_damaged_is_listed_with_the_way_out():
    entry = SavedCorpus("my-file-0123456789ab", "my-file-0123456789ab", 0, "", "", 1.5, damaged=True)
    listed = corpus_view.choices([entry])
    assert "damaged, can only be deleted · 1.5 MB" in listed and "Delete my-file-0123456789ab from this machine?" in listed
    assert "my-file" not in corpus_view.start([entry], hosted=False)
    info = RunInfo("id", "name", "damaged", "This run is damaged. Delete it.", "2026-01-02", "", has_model=False)
    table = runs_panel.run_table([RunOverview(info, None, "", None, 1_500_000)])
    assert "Damaged: delete it" in table and "1.5 MB" in table and ">name<" in table


@pytest.mark.parametrize(
    ("tries", "objective", "text"),
    [((), "", "Cosine regression, 1 epoch"), (("angle",), "", "Best for my data, 1"), (("angle",), "cosent", "CoSENT, 1 epoch")],
)
def test_the_list_of_runs_says_how_each_is_trained(tries, objective, text):
    info = RunInfo("id", "name", "finished", "", "2026-01-02", "", has_model=True)
    plan = Plan("base", "regression", TrainingOptions(epochs=1), tries=tries)
    assert f"base<small>{text}" in runs_panel.run_table([RunOverview(info, plan, objective, None, 1)])
