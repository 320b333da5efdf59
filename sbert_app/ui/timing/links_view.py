"""What to take home from the chart of times: a picture with its title and source, and the command."""

from typing import Any

from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.evaluation import paper
from sbert_app.jobs.declaring.recipe import Input
from sbert_app.jobs.timing import TIMING
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.timing.report import Published
from sbert_app.timing.result import TimingResult
from sbert_app.ui.kit.take_home import Caption, commands, input_of, pictures, present, row

WORDS, CHART = "race-words", "race-chart"  # the elements of the sentence and of the chart


def links(times: TimingResult | Published, sentences: int, indexed: IndexedCorpus | None) -> Markup:
    """The links under the chart. indexed: the corpus that is raced, None for the example."""
    about, values, source = caption(times), options(times, sentences), input_of_race(indexed)
    shown = present(), pictures(CHART, "sbert-studio-timing"), commands(TIMING, values, source)
    return row(about, [WORDS, CHART], *shown)


def input_of_race(indexed: IndexedCorpus | None) -> Input:
    """The raced corpus as a file, none for the example, which the job takes without one."""
    return input_of(indexed) if indexed else Input()


def options(times: TimingResult | Published, sentences: int) -> dict[str, Any]:
    """The options of the job that runs the race again."""
    if isinstance(times, Published):
        return {"sentences": sentences}
    conditions = times.conditions
    own = conditions.head_trained and not (conditions.same_backbone and conditions.cross_encoder == DEFAULT_CROSS_ENCODER)
    chosen = {"cross_encoder": conditions.cross_encoder} if own else {}
    return {"sentences": sentences, "model": conditions.encoder} | chosen


def caption(times: TimingResult | Published) -> Caption:
    """The chart's title and source."""
    title = "Time to find the most similar pair, by number of sentences"
    if isinstance(times, Published):
        return Caption(title, f"{paper.SOURCE}, section 1, on a {paper.CLOSEST_PAIR_HARDWARE} · SBERT Studio")
    conditions = times.conditions
    corpus = f"{conditions.corpus} ({conditions.sentences:,} sentences)"
    models = f"{conditions.encoder} and {conditions.cross_encoder}"
    return Caption.of(title, corpus, models, f"{conditions.machine}, {conditions.hardware}", day=conditions.date)
