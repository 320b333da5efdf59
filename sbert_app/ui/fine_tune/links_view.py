"""What to take home from a training: pictures of its charts."""

from markupsafe import Markup

from sbert_app.services.fine_tune import RunProgress
from sbert_app.ui.kit.take_home import Caption, pictures, row

CURVE, SPREAD = "run-curve", "distributions"  # the elements of the charts


def curve_links(progress: RunProgress) -> Markup:
    """The links under the training curve."""
    return row(pictures(CURVE, "sbert-studio-training", _caption("Training", progress)))


def spread_links(progress: RunProgress) -> Markup:
    """The links under the scores before and after."""
    title = "Scores of the held-out examples before and after training"
    return row(pictures(SPREAD, "sbert-studio-scores", _caption(title, progress)))


def _caption(title: str, progress: RunProgress) -> Caption:
    info = progress.info
    return Caption.of(f"{title}: {info.name}", info.file, f"from {progress.plan.base}", day=info.created[:10])
