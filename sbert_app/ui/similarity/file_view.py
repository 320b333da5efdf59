"""Render a scored file of pairs: how many rows, what their scores mean, the first rows, and what was skipped."""

from markupsafe import Markup

from sbert_app.services.pair_file import ScoredPairs, ScoringProgress
from sbert_app.tables.table import skipped_summary
from sbert_app.ui.kit import html
from sbert_app.wording import duration, plural, rounded

FIRST_ROWS = 10
SENTENCE_LENGTH = 300
STOPPED = "Stopped. Nothing was scored: press “Score again” to start over."


def progress(event: ScoringProgress) -> Markup:
    if not event.total:
        return html.status(f"{event.stage} …")
    left = (event.total - event.done) * event.seconds / event.done if event.done else 0.0
    text = f"{event.stage}: {event.done:,} of {event.total:,} different sentences · {duration(left)} left"
    return html.progress(event.done, event.total, text, "Scoring the file of pairs")


def scored(result: ScoredPairs) -> Markup:
    """Summary, words with their share of the rows, first rows."""
    count, columns = len(result.scores), result.reading.mapping.sentences
    text = f"{count:,} {plural(count, 'row', 'rows')} of {result.table.name} scored in {duration(result.seconds)}"
    how = html.hint(f"“{columns[0]}” against “{columns[1]}”; the download has one more column, “{result.score_column}”.")
    notes = html.notes([*skipped_summary(result.reading.skipped), *result.reading.notes])
    head = Markup('<div class="could-go" role="status"><p><b>{}</b>.</p>{}{}</div>').format(text, how, notes)
    return Markup('{}<div class="pair-file">{}{}</div>').format(head, _words(result), _first_rows(result))


def _words(result: ScoredPairs) -> Markup:
    counts = result.words()
    total = len(result.scores)
    cells = [(word, f"{count:,}", html.bar(count / total, "sbert", f"{count:,} of {total:,}")) for word, count in counts.items()]
    section = Markup("<section>{}{}</section>")
    hint = html.hint("By the score alone, without the cautions of the tab “Two sentences”.")
    return section.format(html.table(("By score", "Rows", ""), cells), hint) if counts else Markup()


def _first_rows(result: ScoredPairs) -> Markup:
    examples, scores = result.reading.examples, result.scores.tolist()
    rows = [
        (f"{row:,}", rounded(score), html.short(first, SENTENCE_LENGTH), html.short(second, SENTENCE_LENGTH))
        for row, score, first, second in list(zip(examples.rows.tolist(), scores, *examples.sentences, strict=True))[:FIRST_ROWS]
    ]
    table = html.table(("Row", "Score", *result.reading.mapping.sentences), rows)
    title = f"The first {FIRST_ROWS} of them" if len(scores) > FIRST_ROWS else "All of them"
    return Markup(
        '<section class="pair-rows">{}<div class="scroll" tabindex="0" role="region" aria-label="First rows">{}</div></section>'
    ).format(html.hint(title), table)
