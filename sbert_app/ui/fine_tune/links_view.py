"""What to take home from a training: pictures of its charts, the verdict on the full screen, the command."""

from markupsafe import Markup

from sbert_app.jobs.declaring.recipe import Input
from sbert_app.jobs.fine_tune import FINE_TUNE, options_of
from sbert_app.services.fine_tune import RunProgress
from sbert_app.services.labelled import EXAMPLES
from sbert_app.ui.kit.take_home import Caption, commands, pictures, present, row

VERDICT, CURVE, SPREAD = "verdict", "run-curve", "distributions"  # the elements of the verdict and the charts


def curve_links(progress: RunProgress) -> Markup:
    """The links under the training curve."""
    return row(_caption("Training", progress), [CURVE], pictures(CURVE, "sbert-studio-training"))


def spread_links(progress: RunProgress) -> Markup:
    """The links under the scores before and after; the full screen shows the verdict above them."""
    about = _caption("Did training help? Held-out examples before and after", progress)
    return row(about, [VERDICT, SPREAD], present(), pictures(SPREAD, "sbert-studio-scores"), _commands(progress))


def _commands(progress: RunProgress) -> Markup:
    """The links to copy what trains the same run again; nothing if no command can."""
    options = options_of(progress)
    if options is None:
        return Markup()
    file = progress.info.file
    example = (EXAMPLES / file).is_file()
    return commands(FINE_TUNE, options, Input(f"assets/labelled/{file}" if example else file))


def _caption(title: str, progress: RunProgress) -> Caption:
    info = progress.info
    return Caption.of(title, f"run {info.name}", info.file, f"from {progress.plan.base}", day=info.created[:10])
