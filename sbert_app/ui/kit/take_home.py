"""Links under a result to take it along, for assets/take_home.js and present.js: picture, commands, full screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.jobs.declaring import recipe
from sbert_app.jobs.declaring.job import Job
from sbert_app.jobs.declaring.recipe import Input
from sbert_app.settings import ASSETS

FORMATS = {"png": "PNG", "svg": "SVG"}
PASTED, PASTED_FILE = "pasted: ", "pasted.txt"  # how pasted lines are named, and a name for a file of them
BUTTON = Markup('<button type="button" {}>{}</button>')


@dataclass(frozen=True)
class Caption:
    """What is above a result outside the app: its title, and where it comes from."""

    title: str
    source: str

    @classmethod
    def of(cls, title: str, *facts: str, day: str = "") -> "Caption":
        """A title, and a source made of facts such as model and machine, the day (empty: today) and the app's name."""
        return cls(title, " · ".join([*filter(None, facts), day or date.today().isoformat(), "SBERT Studio"]))


def row(caption: Caption, elem_ids: Sequence[str], *groups: Markup) -> Markup:
    """The links of one result in one line. elem_ids: the elements, charts and texts, that make up the result.

    The scripts read caption and elements from this line, also for the page that keeps the whole session (keep_session.js).
    """
    about = {"data-shows": " ".join(elem_ids), "data-title": caption.title, "data-source": caption.source}
    return Markup('<div class="take-home" {}>{}</div>').format(_attributes(about), Markup().join(groups))


def pictures(elem_id: str, name: str) -> Markup:
    """Buttons to save the chart inside the element as a picture, captioned. name: of the file, without its end."""
    of_chart = {"data-plot": elem_id, "data-name": name}
    about = {label: {"data-picture": kind, "aria-label": f"Save the chart as {label}"} for kind, label in FORMATS.items()}
    return _group("Picture:", {label: attributes | of_chart for label, attributes in about.items()})


def present() -> Markup:
    """A button to show the result alone on the full screen, captioned."""
    return Markup('<span class="take">{}</span>').format(BUTTON.format(Markup("data-present"), "Present"))


def commands(job: Job, values: Mapping[str, Any], source: Input) -> Markup:
    """Buttons to copy what makes the result again, as Python and for a shell. values: the job's options as used."""
    texts = {"Python": recipe.python(job, values, source), "shell": recipe.shell(job, values, source)}
    about = {label: {"data-copy": text, "data-label": label, "aria-label": f"Copy as {label}"} for label, text in texts.items()}
    return _group("Copy as", about)


def input_of(indexed: IndexedCorpus | None) -> Input:
    """The corpus as a file that a command reads. Files of the examples are beside the program; a visitor's are with the visitor.

    A sample is named with its collection; None is the example that a job takes without a file.
    """
    if indexed is None:
        return Input()
    corpus = indexed.corpus
    if corpus.name.startswith(PASTED):
        return Input(PASTED_FILE, model=indexed.model)
    example = (ASSETS / "examples" / corpus.name).is_file()
    return Input(f"assets/examples/{corpus.name}" if example else corpus.name, corpus.columns, indexed.model, corpus.store)


def _attributes(values: dict[str, str]) -> Markup:
    return Markup(" ").join(Markup('{}="{}"').format(name, value) for name, value in values.items())


def _group(title: str, buttons: Mapping[str, dict[str, str]]) -> Markup:
    """buttons: label -> attributes."""
    each = (BUTTON.format(_attributes(attributes), label) for label, attributes in buttons.items())
    return Markup('<span class="take">{} {}</span>').format(title, Markup(" ").join(each))
