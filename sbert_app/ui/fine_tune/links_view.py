"""What to take home from a training: pictures of its charts."""

from markupsafe import Markup

from sbert_app.services.fine_tune import RunProgress
from sbert_app.ui.kit.take_home import Caption, pictures, present, row

VERDICT, CURVE, SPREAD = "verdict", "run-curve", "distributions"  # the elements of the verdict and the charts


def curve_links(progress: RunProgress) -> Markup:
    """The links under the training curve."""
    return row(pictures(CURVE, "sbert-studio-training", _caption("Training", progress)))


def spread_links(progress: RunProgress) -> Markup:
    """The links under the scores before and after; the full screen shows the verdict above them."""
    title = "Scores of the held-out examples before and after training"
    on_screen = present(_caption("Did training help?", progress), VERDICT, SPREAD)
    return row(on_screen, pictures(SPREAD, "sbert-studio-scores", _caption(title, progress)))


def _caption(title: str, progress: RunProgress) -> Caption:
    info = progress.info
    return Caption.of(title, f"run {info.name}", info.file, f"from {progress.plan.base}", day=info.created[:10])
