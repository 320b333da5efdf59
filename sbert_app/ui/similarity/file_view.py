"""Render a scored file of pairs: its agreement with the labels, what the scores mean, and the rows that are worth reading."""

from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.labelled import scored_pairs as wording
from sbert_app.labelled.scored_pairs import ScoredPairs, ShownPair
from sbert_app.step import Step
from sbert_app.tables.table import skipped_summary
from sbert_app.ui.kit import html
from sbert_app.wording import duration, plural, rounded

SENTENCE_LENGTH = 300
STOPPED = "Stopped. Nothing was scored."
OTHER_MODEL = "The model was changed, so the scores of the one before are gone."
RANKS = "Compared by rank: where the score puts the pair among all, against where its label puts it."


def progress(step: Step[ScoredPairs]) -> Markup:
    if not step.total:
        return html.status(f"{step.stage} …")
    counts = step.done, step.total, "different sentences"
    return html.counted(step.stage, *counts, "Scoring the file of pairs", f"{duration(step.left or 0.0)} left")


def scored(result: ScoredPairs) -> Markup:
    """Summary with the agreement, words with their share of the rows, and the rows worth reading."""
    count, columns = len(result.scores), result.columns
    text = f"{count:,} {plural(count, 'row', 'rows')} of {result.table.name} scored in {duration(result.seconds)}"
    how = html.hint(
        f"“{columns.first}” and “{columns.second}” with {result.model}; the download has one more column, “{result.score_column}”."
    )
    left_out = wording.left_out(result.labels) if result.labels else []
    notes = html.notes([*left_out, *skipped_summary(result.reading.skipped), *result.reading.notes])
    head = Markup('<div class="could-go" role="status"><p><b>{}</b>.</p>{}{}{}</div>')
    body = Markup('<div class="pair-file">{}{}</div>').format(_words(result), _rows(result))
    return head.format(text, _agreement(result), how, notes) + body


def _agreement(result: ScoredPairs) -> Markup:
    """One sentence, the figures behind an i."""
    if result.labels is None or result.agreement is None:
        return Markup()
    sentence = wording.sentence(result.labels, result.agreement)
    details = html.info(wording.details(result.labels, result.agreement))
    return Markup('<div class="pair-agreement">{} {}</div>').format(sentence, details)


def _words(result: ScoredPairs) -> Markup:
    counts = result.words()
    total = len(result.scores)
    cells = [(word, f"{count:,}", html.bar(count / total, "sbert", f"{count:,} of {total:,}")) for word, count in counts.items()]
    section = Markup("<section>{}{}</section>")
    hint = html.hint("By the score alone, without the cautions of the tab “Two sentences”.")
    return section.format(html.table(("By score", "Rows", ""), cells), hint) if counts else Markup()


def _rows(result: ScoredPairs) -> Markup:
    """With labels, the pairs that disagree most with them; else the highest and the lowest scores."""
    if result.labels and result.agreement:
        titles, sides = wording.side_titles(result.labels), result.disagreeing()
        lead = Markup('<div class="pair-lead"><b>Where score and label are furthest apart</b> {}</div>').format(html.info(RANKS))
    else:
        titles, sides, lead = wording.EXTREMES, result.extremes(), Markup()
    tables = [_table(title, pairs, result) for title, pairs in zip(titles, sides, strict=True) if pairs]
    if not tables:
        tables = [html.hint("No pair disagrees with its label.")]
    return Markup('<section class="pair-rows">{}{}</section>').format(lead, Markup().join(tables))


def _table(title: str, pairs: Sequence[ShownPair], result: ScoredPairs) -> Markup:
    columns = result.columns
    label = ["Label"] if columns.labels else []
    texts = [[*([pair.label] if label else []), pair.sentence1, pair.sentence2] for pair in pairs]
    shortened = [[html.short(text, SENTENCE_LENGTH) for text in row] for row in texts]
    rows = [[f"{pair.row:,}", rounded(pair.score), *row] for pair, row in zip(pairs, shortened, strict=True)]
    table = html.table(("Row", "Score", *label, *columns.sentences), rows)
    region = Markup('{}<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>')
    return region.format(html.hint(title), title, table)
