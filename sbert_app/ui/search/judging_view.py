"""Render the buttons that judge a hit, and how much is judged."""

from markupsafe import Markup

from sbert_app.services.corpus.judging import GRADES, Judgements
from sbert_app.ui.kit import html
from sbert_app.wording import plural

USE = "Add the file in Evaluation: it measures how well each way to rank answers your queries."

_BUTTON = Markup('<button type="button" data-judge="{}" data-of="{}" aria-pressed="{}">{}</button>')
_GROUP = Markup('<div class="judge" role="group" aria-label="Row {} answers my query"><span>Answers my query:</span>{}</div>')


def buttons(row: int, grade: int | None, place: str = "") -> Markup:
    """Yes, partly, no. grade: the one that is pressed, None for none. They are hidden until hits are to be judged.

    place: the row as it is written on screen, if it is not its number.
    """
    each = (_BUTTON.format(value, row, "true" if value == grade else "false", name) for value, name in GRADES.items())
    return _GROUP.format(place or row, Markup().join(each))


def count(judgements: Judgements) -> Markup:
    """How many hits of how many queries are judged; nothing without any."""
    number = len(judgements.grades)
    if not number:
        return Markup()
    queries = len({query for query, _ in judgements.grades})
    text = f"{number:,} {plural(number, 'hit', 'hits')} of {queries:,} {plural(queries, 'query', 'queries')} judged. {USE}"
    return html.hint(text)
