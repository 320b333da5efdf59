"""Render duplicates: summary, groups, borderline pairs."""

from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.corpus.findings import Findings, Member, SentencePair
from sbert_app.runtime.line import place_in_line
from sbert_app.services.duplicates import MiningProgress
from sbert_app.ui.kit import html
from sbert_app.wording import duration, plural

NOT_YET = "Not searched yet. “Find duplicates” compares every row with every other."
ONE_ROW = "This corpus has only one row, so it has no duplicates."
STOPPED = "Stopped. Partial results are not kept: start again from the beginning."
NO_BORDERLINE = "No pairs near this threshold."
GROUPS_SHOWN, MEMBERS_SHOWN = 50, 8
SENTENCE_LENGTH = 400


def progress(event: MiningProgress) -> Markup:
    """Progress bar of the mining, with the remaining time."""
    if event.before:
        return html.status(place_in_line(event.before, "job"))
    left = f" · {duration(event.seconds / event.share * (1 - event.share))} left" if event.share > 0 else ""
    return html.progress(
        round(event.share * 100), 100, f"Comparing every row with every other: {event.share:.0%}{left}", "Comparing"
    )


def pair_record(pair: SentencePair) -> dict[str, object]:
    """A pair as a flat record for export."""
    rows = {"row1": pair.row1, "row2": pair.row2, "score": round(pair.score, 4)}
    return {**rows, "sentence1": pair.sentence1, "sentence2": pair.sentence2}


def headline(findings: Findings) -> Markup:
    """How many rows could be removed, and how the duplicates were found."""
    rows, groups, redundant = len(findings.corpus), len(findings.grouping), findings.grouping.redundant
    if not groups:
        return Markup('<div role="status">{}</div>').format(html.empty(_nothing(findings)))
    same = plural(findings.copies, "is an exact copy", "are exact copies")
    copies = f" {findings.copies:,} of these rows {same} of an earlier one." if findings.copies else ""
    stages = html.milliseconds({name: seconds * 1e3 for name, seconds in findings.seconds.items()})
    which = f"{groups:,} {plural(groups, 'group', 'groups')} at cosine ≥ {findings.threshold:.3g}.{copies}"
    how = html.hint(f"{stages}. {_how(findings)}") + html.notes([_mixed(findings)])
    could_go = Markup('<div class="could-go" role="status"><p><b>{:,} of {:,} rows could be removed</b>: {}</p>{}</div>')
    return could_go.format(redundant, rows, which, how)


def groups(findings: Findings) -> Markup:
    """The largest groups: the row to keep and the rows to drop."""
    total = len(findings.grouping)
    if not total:
        return Markup()
    items = Markup().join(_group(number, members) for number, members in enumerate(findings.groups(GROUPS_SHOWN), 1))
    which = f"The largest {GROUPS_SHOWN} of {total:,} groups; the export has all" if total > GROUPS_SHOWN else f"{total:,} in all"
    return Markup('<h2 class="section">Groups</h2>{}<ol class="dup-groups">{}</ol>').format(
        html.hint(f"{which}. The row to keep is the centre of its group: all other rows reach the threshold to it."), items
    )


def borderline(pairs: Sequence[SentencePair], threshold: float, seconds: float | None = None) -> Markup:
    """The pairs nearest to the threshold, with cross-encoder scores if they were computed in `seconds`."""
    if not pairs:
        return html.empty(NO_BORDERLINE)
    scored = f" The cross-encoder scored them in {duration(seconds)}: 0 is unrelated, 1 the same." if seconds is not None else ""
    return Markup(
        '<p class="hint" role="status">The {:,} {} nearest to the threshold, on both sides of it.{}</p>'
        '<ol class="dup-pairs">{}</ol>'
    ).format(len(pairs), plural(len(pairs), "pair", "pairs"), scored, Markup().join(_pair(pair, threshold) for pair in pairs))


def _nothing(findings: Findings) -> str:
    best = findings.mined.duplicates.pairs.scores[:1]
    closest = (
        f"The closest pair has {best[0]:.3f}: lower the threshold to see it." if len(best) else "All sentences are dissimilar."
    )
    return f"No duplicates at cosine ≥ {findings.threshold:.3g} among {len(findings.corpus):,} rows. {closest}"


def _how(findings: Findings) -> str:
    """How many pairs were compared, and which were not kept."""
    pairs = findings.mined.duplicates.pairs
    rows = len(findings.mined.duplicates.copies.first)
    compared = f"All {rows * (rows - 1) // 2:,} pairs of different sentences were compared."
    cut = f" More than {len(pairs.scores):,} pairs are close: those below {pairs.floor:.3f} were not kept." if pairs.raised else ""
    return (compared if pairs.exact else _approximate(findings)) + cut


def _mixed(findings: Findings) -> str:
    """Warn about groups whose rows have different labels in the corpus."""
    columns = [f"{groups:,} in {column}" for column, groups in findings.mixed().items() if groups]
    how = "Either a label is wrong or these are not duplicates."
    return f"Groups whose rows have different labels: {', '.join(columns)}. {how}" if columns else ""


def _approximate(findings: Findings) -> str:
    share = (
        "" if findings.recall is None else f": {findings.recall:.1%} of the pairs above the threshold found, measured on a sample"
    )
    return f"Approximate: each row was compared with its nearest neighbours{share}."


def _group(number: int, members: Sequence[Member]) -> Markup:
    rows = [_member(member, members[0]) for member in members[:MEMBERS_SHOWN]]
    more = len(members) - MEMBERS_SHOWN
    if more > 0:
        rows.append(Markup('<li class="rest">and {:,} more {} to drop</li>').format(more, plural(more, "row", "rows")))
    group = Markup('<li class="dup-group" aria-label="Group {}, {:,} rows"><ul>{}</ul></li>')
    return group.format(number, len(members), Markup().join(rows))


def _member(member: Member, kept: Member) -> Markup:
    verdict = "keep" if member is kept else "drop"
    score = "" if member is kept else "copy" if member.sentence == kept.sentence else f"{member.score:.3f}"
    return Markup(
        '<li class="{verdict}"><span class="verdict">{verdict}</span><span class="cosine">{score}</span>'
        '<p dir="auto">{sentence}</p><span class="file-row">row {row:,}</span></li>'
    ).format(verdict=verdict, score=score, sentence=html.short(member.sentence, SENTENCE_LENGTH), row=member.row)


def _pair(pair: SentencePair, threshold: float) -> Markup:
    side = "above" if pair.score >= threshold else "below"
    cross = Markup('<span class="cross">{:.3f}<small>cross-encoder</small></span>')
    line = Markup('<p dir="auto">{} <span class="file-row">row {:,}</span></p>')
    both = ((pair.sentence1, pair.row1), (pair.sentence2, pair.row2))
    lines = [line.format(html.short(sentence, SENTENCE_LENGTH), row) for sentence, row in both]
    return Markup(
        '<li><div class="dup-scores"><span class="cosine">{:.4f}<small>{}</small></span>{}</div><div class="both">{}{}</div></li>'
    ).format(pair.score, side, "" if pair.cross_score is None else cross.format(pair.cross_score), *lines)
