"""The page offers what the jobs declare, by the same defaults and limits, and refuses the same mistakes in the same words."""

import re

import gradio as gr
import pytest

from sbert_app.jobs import JOBS
from sbert_app.jobs.declaring.option import arguments
from sbert_app.jobs.duplicates.job import mine
from sbert_app.jobs.fine_tune import preparing
from sbert_app.jobs.fine_tune.preparing import example_table
from tests.jobs.test_surfaces import CASES
from tests.ui.page import Page

# Each option that the page offers: its component's elem_id.
COMPONENTS = {
    "open_collection": {"address": "collection-address"},
    "similarity": {"sentence1": "sentence1", "sentence2": "sentence2", "model": "model", "cross_encoder": "pair-cross"},
    "score_pairs": {"first_column": "pair-first", "second_column": "pair-second", "label_column": "pair-labels", "model": "model"},
    "search": {
        "query": "query", "top": "", "ranking": "ranking", "hybrid": "", "rerank": "", "filters": "filters", "cross_encoder": "",
        "least": "least", "whole": "",
    },
    "duplicates": {
        "threshold": "duplicates-threshold", "top": "", "against": "overlap-file", "remove": "",
        "cross_encoder": "duplicates-cross",
    },
    "why_not": {"query": "query", "expected": "expected", "top": "", "ranking": "ranking", "filters": "filters"},
    "cluster_map": {
        "clusters": "map-count", "method": "map-method", "outliers": "map-outliers", "colour": "map-colour", "places": "",
    },
    "fine_tune": {
        "objective": "objective", "preset": "preset", "model": "model", "cross_encoder": "trained", "epochs": "epochs",
        "batch_size": "batch-size", "learning_rate": "rate", "seed": "seed", "learning_curve": "learning-curve", "owner": "",
        "split": "split-by", "split_column": "split-column", "dev": "dev-file", "test": "test-file", "label_column": "", "same": "",
    },
    "timing": {
        "seconds": "race-seconds", "sentences": "race-n", "model": "model", "table_7": "table-7-measure",
        "cross_encoder": "race-cross",
    },
}  # fmt: skip
WITHOUT_A_TAB = {"compare", "encode", "evaluate", "index_corpus", "label", "models", "transfer"}
TRIGGERS = {
    "search": ("search", "click"),
    "why_not": ("why-not", "click"),
    "duplicates": ("duplicates-threshold", "change"),
    "cluster_map": ("map-draw", "click"),
    "fine_tune": ("start", "click"),
    "timing": ("race", "click"),
}
# Sentences are blank while one types, filters are built from choices, a slider of powers of ten, the header keeps the model in use.
ELSEWHERE = {"sentence1", "sentence2", "filters", "sentences", "model", "cross_encoder"}
LABELLED = {"kind": "scored", "first-column": "sentence1", "second-column": "sentence2", "target-column": "score"}
OFFERED = [(job, a) for job in JOBS for a in arguments(job.options) if COMPONENTS.get(job.name, {}).get(a.name)]
REFUSALS = [
    (name, {COMPONENTS[name][option]: value for option, value in values.items()}, message)
    for name in TRIGGERS
    for values, message in CASES[name]
    if not set(values) & (ELSEWHERE | {option for option, elem_id in COMPONENTS[name].items() if not elem_id})
]


@pytest.fixture(scope="module")
def page(shared_bench):
    page = Page(shared_bench)
    preparing.load(shared_bench, page.session, example_table("requests_scored.csv", shared_bench.settings.limits))
    list(mine(shared_bench, page.session))
    return page


def component(page, elem_id):
    return next(block for block in page.app.blocks.values() if getattr(block, "elem_id", None) == elem_id)


def test_every_option_has_its_place():
    for job in JOBS:
        declared = {argument.name for argument in arguments(job.options) if not argument.kind.output}
        assert job.name in WITHOUT_A_TAB or set(COMPONENTS[job.name]) == declared, job.name


@pytest.mark.parametrize(("job", "argument"), OFFERED, ids=lambda value: value.name)
def test_the_page_offers_what_the_job_accepts(page, job, argument):
    offered, limits = component(page, COMPONENTS[job.name][argument.name]), page.bench.settings.limits
    if argument.name == "sentences":  # a slider of powers of ten
        assert 10**offered.value == argument.default
    elif isinstance(offered, gr.Slider):
        assert offered.value == argument.default
        ends = [offered.minimum, offered.maximum]
        assert [argument.kind.check(end, limits) for end in ends] == ends
    elif isinstance(offered, gr.Radio) or argument.name == "ranking":
        assert offered.value == argument.default and offered.choices
        assert all(argument.kind.check(value, limits) == value for _, value in offered.choices)
    elif isinstance(offered, gr.Number):
        assert argument.default is None and argument.kind.check(offered.value, limits) == offered.value
    elif isinstance(offered, gr.Checkbox):
        assert offered.value is argument.default


@pytest.mark.parametrize(("name", "values", "message"), REFUSALS)
def test_the_same_mistake_gets_the_same_sentence(page, name, values, message):
    """Past Gradio's own check of sliders and choices, which a request could avoid."""
    trigger, event = TRIGGERS[name]
    target = (component(page, trigger)._id, event)
    function = next(function for function in page.functions if target in function.targets)
    inputs = [(LABELLED | values).get(block.elem_id, page.value(block)) for block in function.inputs]
    with pytest.raises(gr.Error, match=re.escape(message)):
        list(function.fn(dict(zip(function.inputs, inputs, strict=True))) if function.inputs_as_dict else function.fn(*inputs))
