"""What to take home from the chart of times: a picture with its title and source."""

from markupsafe import Markup

from sbert_app.evaluation import paper
from sbert_app.timing.published import Published
from sbert_app.timing.result import TimingResult
from sbert_app.ui.kit.take_home import Caption, pictures, row

CHART = "race-chart"  # the element of the chart


def links(times: TimingResult | Published) -> Markup:
    """The links under the chart."""
    return row(pictures(CHART, "sbert-studio-timing", caption(times)))


def caption(times: TimingResult | Published) -> Caption:
    """The chart's title and source."""
    title = "Time to find the most similar pair, by number of sentences"
    if isinstance(times, Published):
        return Caption.of(title, f"{paper.SOURCE}, section 1, on a {paper.CLOSEST_PAIR_HARDWARE}")
    conditions = times.conditions
    corpus = f"{conditions.corpus} ({conditions.sentences:,} sentences)"
    models = f"{conditions.encoder} and {conditions.cross_encoder}"
    return Caption.of(title, corpus, models, f"{conditions.machine}, {conditions.hardware}", day=conditions.date)
