"""Render groups of duplicates: the rows that stay and the rows that go, and a button to keep a whole group."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from markupsafe import Markup

from sbert_app.corpus.duplicates import COPIES, SIMILAR, UNMARKED, Group, Member, mark
from sbert_app.corpus.findings import Findings
from sbert_app.ui.kit import html
from sbert_app.wording import amount, plural, row_list, row_text

FIRST, GROUPS_SHOWN, LINES_SHOWN, MOST_LINES = 10, 50, 8, 100  # groups, and lines of a group: at once, and unfolded
IN_FILE = "The file keep-or-drop.csv has all rows."
NUMBERS_SHOWN = 3  # rows named on one line
SENTENCE_LENGTH, VALUE_LENGTH = 400, 60
COLUMNS_SHOWN = 4  # in which the rows of a group differ
ONE_STAYS = "One row of each group stays: the one to which all others of the group are similar."
WHICH = {
    COPIES: "The first row of each text stays. Rows that are only similar stay too.",
    UNMARKED: f"{ONE_STAYS} So does the first row of each text with a mark, such as “numbers or dates differ”.",
    SIMILAR: ONE_STAYS,
}
COUNTED = "Rows are counted without the header: a spreadsheet counts one more."


def groups(findings: Findings, unfolded: bool = False) -> Markup:
    """The largest groups: the first FIRST of them, the others to unfold."""
    total = len(findings.grouping)
    if not total:
        return Markup()
    shown = [_group(number, group) for number, group in enumerate(findings.groups(GROUPS_SHOWN), 1)]
    title = Markup('<h2 class="section">{}</h2>').format(amount(total, "group"))
    listed = title + html.hint(f"{WHICH[findings.remove]} {COUNTED}") + _list(shown[:FIRST])
    if total <= FIRST:
        return listed
    every = f"Show all {total:,} groups" if total <= GROUPS_SHOWN else f"Show the largest {GROUPS_SHOWN} of {total:,} groups"
    return listed + Markup('<details class="dup-more"{}><summary>{}</summary>{}{}</details>').format(
        Markup(" open") if unfolded else "", every, _list(shown[FIRST:]), html.hint(IN_FILE) if total > GROUPS_SHOWN else ""
    )


def _list(items: Sequence[Markup]) -> Markup:
    return Markup('<ol class="dup-groups">{}</ol>').format(Markup().join(items))


def _group(number: int, group: Group) -> Markup:
    centre = group.members[0]
    # Exact copies of a row share a line if they differ in no column.
    lines = [list(same) for _, same in groupby(group.members, lambda m: (m.copy_of or m.row, m.copy_of is None, m.keep, m.values))]
    # What a similar row's score does not tell, such as another number; "" for nothing.
    noted = [mark(centre.sentence, m.sentence) if m is not centre and m.copy_of is None else "" for m, *_ in lines[:MOST_LINES]]
    rows = {member.row: member for member in group.members}
    shown = [_members(same, centre, rows, note) for same, note in zip(lines, noted, strict=False)]
    if more := [member for same in lines[LINES_SHOWN:] for member in same]:
        dropped = sum(not member.keep for member in more)
        going = f", {dropped:,} to drop" if dropped else ""
        to_see = sum(map(bool, noted[LINES_SHOWN:]))
        rest = f"{len(more):,} more {plural(len(more), 'row', 'rows')}{going}{f', {to_see:,} to look at' if to_see else ''}"
        beyond = html.hint(IN_FILE) if len(lines) > MOST_LINES else Markup()
        folded = Markup('<li class="rest"><details><summary>{}</summary><ul>{}</ul>{}</details></li>')
        shown[LINES_SHOWN:] = [folded.format(rest, Markup().join(shown[LINES_SHOWN:]), beyond)]
    keep = Markup(
        '<button type="button" class="keep-all" data-centre="{}" aria-pressed="{}" aria-label="Keep all of this group, group {}">'
        '<i aria-hidden="true"></i>Keep all of this group</button>'
    ).format(centre.row, "true" if group.whole else "false", number)
    makes_a_difference = group.whole or not all(member.keep for member in group.members)
    return Markup('<li class="dup-group" aria-label="Group {}, {:,} rows"><ul>{}</ul>{}</li>').format(
        number, len(group.members), Markup().join(shown), keep if makes_a_difference else ""
    )


def _members(same: Sequence[Member], centre: Member, group: Mapping[int, Member], note: str) -> Markup:
    """One row, or several exact copies of a row, and why they are in the group. group: its members by their rows."""
    member, count = same[0], len(same)
    reason: str = Markup("{:.2f} similar{}").format(member.score, Markup(" <mark>{}</mark>").format(note) if note else "")
    if member is centre:
        reason = ""
    elif member.copy_of is not None:
        copied = "" if member.copy_of == centre.row else f" of row {row_text(member.name_of_copied or member.copy_of)}"
        reason = f"{'exact copy' if count == 1 else f'{count:,} exact copies'}{copied}"
    return Markup(
        '<li class="{verdict}"><span class="verdict">{verdict}</span><span class="reason">{reason}</span>'
        '<p dir="auto">{sentence}</p><span class="file-row">{rows}</span>{values}</li>'
    ).format(
        verdict="keep" if member.keep else "drop",
        reason=reason,
        sentence=html.short(member.sentence, SENTENCE_LENGTH),
        rows=row_list([other.name or other.row for other in same], NUMBERS_SHOWN),
        values=_values(member, group.get(member.copy_of or centre.row, centre)),
    )


def _values(member: Member, compared: Member) -> Markup:
    """The row's values in the columns in which its group differs, those that are not those of the row compared with it marked."""
    if not member.values:
        return Markup()
    other, same = Markup('<span>{} <mark title="{}">{}</mark></span>'), Markup("<span>{0} {2}</span>")
    shown = []
    for column, value in list(member.values.items())[:COLUMNS_SHOWN]:
        first = compared.values[column]
        title = f"Not as in row {row_text(compared.name or compared.row)}: {html.short(first, VALUE_LENGTH) or 'empty'}"
        shown.append((same if value == first else other).format(column, title, html.short(value, VALUE_LENGTH) or "empty"))
    if (more := len(member.values) - COLUMNS_SHOWN) > 0:
        shown.append(Markup("<span>and {} more {}</span>").format(more, plural(more, "column", "columns")))
    return Markup('<div class="differing">{}</div>').format(Markup().join(shown))
