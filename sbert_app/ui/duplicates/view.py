"""How duplicates look: what could go, the groups, the pairs to check first."""

from collections.abc import Sequence
from html import escape

from sbert_app.corpus.findings import Findings, Member, SentencePair
from sbert_app.runtime.line import place_in_line
from sbert_app.services.duplicates import MiningProgress
from sbert_app.ui.kit import html
from sbert_app.wording import duration, plural

NO_CORPUS = "No corpus yet. Pick an example above, or bring your own file: then its duplicates are one click away."
NOT_YET = "Nothing compared yet. Press “Find duplicates”: every row is compared with every other."
ONE_ROW = "This corpus has one row: there is nothing that it could repeat."
STOPPED = "Stopped. Nothing was kept: start again to compare from the beginning."
NO_BORDERLINE = "No pair lies near this threshold."
GROUPS_SHOWN, MEMBERS_SHOWN = 50, 8
SENTENCE_LENGTH = 400


def note(text: str) -> str:
    """What there is to say beside the button."""
    return f'<p class="stage" role="status">{escape(text)}</p>'


def progress(event: MiningProgress) -> str:
    """The progress bar of the mining, with the time left."""
    if event.before:
        return note(place_in_line(event.before, "job"))
    left = f" · {duration(event.seconds / event.share * (1 - event.share))} left" if event.share > 0 else ""
    return html.progress(
        round(event.share * 100), 100, f"Comparing every row with every other: {event.share:.0%}{left}", "Comparing"
    )


def pair_record(pair: SentencePair) -> dict[str, object]:
    """A pair as one flat row to save."""
    return {
        "row1": pair.row1,
        "row2": pair.row2,
        "score": round(pair.score, 4),
        "sentence1": pair.sentence1,
        "sentence2": pair.sentence2,
    }


def headline(findings: Findings) -> str:
    """What could go, and how it was found."""
    rows, groups, gone = len(findings.corpus), len(findings.grouping), findings.grouping.redundant
    if not groups:
        return f'<div role="status">{html.empty(_nothing(findings))}</div>'
    same = plural(findings.copies, "is an exact copy", "are exact copies")
    copies = f" {findings.copies:,} of these rows {same} of an earlier one." if findings.copies else ""
    stages = html.milliseconds({name: seconds * 1e3 for name, seconds in findings.seconds.items()})
    return (
        f'<div class="could-go" role="status"><p><b>{gone:,} of {rows:,} rows could go</b>: {groups:,} '
        f"{plural(groups, 'group', 'groups')} at cosine ≥ {findings.threshold:.3g}.{copies}</p>"
        f'<p class="hint">{stages}. {_how(findings)}</p>{html.notes([_mixed(findings)])}</div>'
    )


def groups(findings: Findings) -> str:
    """The largest groups: the row to keep, and those that it stands for."""
    total = len(findings.grouping)
    if not total:
        return ""
    shown = "".join(_group(number, members) for number, members in enumerate(findings.groups(GROUPS_SHOWN), 1))
    which = f"The largest {GROUPS_SHOWN} of {total:,} groups; the files hold all" if total > GROUPS_SHOWN else f"{total:,} in all"
    return (
        f'<h2 class="section">Groups</h2><p class="hint">{which}. The row to keep is the centre of its group: every other row '
        f'reaches the threshold to it.</p><ol class="dup-groups" tabindex="0" role="region" aria-label="Groups">{shown}</ol>'
    )


def borderline(pairs: Sequence[SentencePair], threshold: float, seconds: float | None = None) -> str:
    """The pairs nearest to the threshold, on both sides; with the cross-encoder's scores where it was asked."""
    if not pairs:
        return html.empty(NO_BORDERLINE)
    asked = f" The cross-encoder read them in {duration(seconds)}: 0 is unlike, 1 the same." if seconds is not None else ""
    items = "".join(_pair(pair, threshold) for pair in pairs)
    label = "Pairs nearest to the threshold"
    return (
        f'<p class="hint" role="status">The {len(pairs):,} {plural(len(pairs), "pair", "pairs")} nearest to the threshold, on both '
        f'sides of it.{asked}</p><ol class="dup-pairs" tabindex="0" role="region" aria-label="{label}">{items}</ol>'
    )


def _nothing(findings: Findings) -> str:
    best = findings.mined.duplicates.pairs.scores[:1]
    closest = f"The closest pair has {best[0]:.3f}: lower the threshold to see it." if len(best) else "All sentences are far apart."
    return f"No duplicates at cosine ≥ {findings.threshold:.3g} among {len(findings.corpus):,} rows. {closest}"


def _how(findings: Findings) -> str:
    """What the comparison covers, where that is less than everything."""
    pairs = findings.mined.duplicates.pairs
    rows = len(findings.mined.duplicates.copies.first)
    lines = [
        f"Every one of {rows * (rows - 1) // 2:,} pairs of different sentences was compared."
        if pairs.exact
        else _approximate(findings)
    ]
    if pairs.raised:
        lines.append(f"More than {len(pairs.scores):,} pairs are close: those below {pairs.floor:.3f} were not kept.")
    return " ".join(lines)


def _mixed(findings: Findings) -> str:
    """Groups that the corpus's own labels speak against."""
    columns = [f"{groups:,} in {column}" for column, groups in findings.mixed().items() if groups]
    return f"Groups whose rows have different labels: {', '.join(columns)}. A wrong label, or no duplicates." if columns else ""


def _approximate(findings: Findings) -> str:
    share = (
        f": {findings.recall:.1%} of the pairs above the threshold found, measured on a sample"
        if findings.recall is not None
        else ""
    )
    return f"Approximate: each row was compared with its nearest neighbours{share}."


def _group(number: int, members: Sequence[Member]) -> str:
    rows = "".join(_member(member, members[0]) for member in members[:MEMBERS_SHOWN])
    more = len(members) - MEMBERS_SHOWN
    rest = f'<li class="rest">and {more:,} more {plural(more, "row", "rows")} to drop</li>' if more > 0 else ""
    return f'<li class="dup-group" aria-label="Group {number}, {len(members):,} rows"><ul>{rows}{rest}</ul></li>'


def _member(member: Member, kept: Member) -> str:
    verdict = "keep" if member is kept else "drop"
    score = "" if member is kept else "copy" if member.sentence == kept.sentence else f"{member.score:.3f}"
    return (
        f'<li class="{verdict}"><span class="verdict">{verdict}</span><span class="cosine">{score}</span>'
        f'<p dir="auto">{_sentence(member.sentence)}</p><span class="file-row">row {member.row:,}</span></li>'
    )


def _pair(pair: SentencePair, threshold: float) -> str:
    side = "above" if pair.score >= threshold else "below"
    cross = "" if pair.cross_score is None else f'<span class="cross">{pair.cross_score:.3f}<small>cross-encoder</small></span>'
    return (
        f'<li><div class="dup-scores"><span class="cosine">{pair.score:.4f}<small>{side}</small></span>{cross}</div>'
        f'<div class="both"><p dir="auto">{_sentence(pair.sentence1)} <span class="file-row">row {pair.row1:,}</span></p>'
        f'<p dir="auto">{_sentence(pair.sentence2)} <span class="file-row">row {pair.row2:,}</span></p></div></li>'
    )


def _sentence(text: str) -> str:
    return escape(html.short(text, SENTENCE_LENGTH))
