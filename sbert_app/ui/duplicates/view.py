"""Render duplicates: summary, what stays, borderline pairs."""

from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.duplicates import UNMARKED, SentencePair
from sbert_app.corpus.findings import Findings, Mined
from sbert_app.jobs.duplicates import job, joining
from sbert_app.models.files.trained_for import how_to_read, in_words
from sbert_app.step import Step
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, commands, input_of, present, row
from sbert_app.wording import amount, duration, few, plural, row_text

NOT_YET = "Not searched yet. “Find duplicates” compares every row with every other."
ONE_ROW = "This corpus has only one row, so it has no duplicates."
STOPPED = "Stopped. Partial results are not kept: start again from the beginning."
CLEANED, VERDICTS, PAIRS = "cleaned.csv", "keep-or-drop.csv", "pairs.csv"
HEADLINE, STAYING, GROUPS = "duplicates-headline", "duplicates-staying", "duplicates-groups"  # the elements of the result
SAME_WORDS = (  # of a corpus that the model had not read whole
    "So far: exact copies, and rows that differ only in case, spaces and punctuation. Once the model has read all rows, "
    "“Find duplicates” finds the others too."
)
SENTENCE_LENGTH = 400
FILE_ROW = Markup('<span class="file-row">{}</span>')
CROSS = Markup('<span class="cross">{:.3f}<small>{}</small></span>')


def progress(step: Step[Mined]) -> Markup:
    """Progress bar of the mining, with the remaining time; nothing is counted while it waits."""
    if not step.total:
        return html.status(step.stage)
    left = f" · {step.left}" if step.left else ""
    return html.progress(step.done, step.total, f"{step.stage}: {step.done / step.total:.0%}{left}", "Comparing")


def not_yet(opened: OpenCollection | None) -> str:
    if opened is None:
        return NOT_YET
    rows = f"each of its {opened.rows:,} rows" if opened.rows <= joining.MOST_WHOLE else f"each of {joining.SAMPLED:,} random rows"
    return f"Not searched yet. “Find duplicates” compares {rows} with its {joining.NEIGHBOURS} nearest in the whole collection."


def pair_record(pair: SentencePair) -> dict[str, object]:
    rows = {"row1": pair.row1, "row2": pair.row2, "score": round(pair.score, 4)}
    return {**rows, "sentence1": pair.sentence1, "sentence2": pair.sentence2, "caution": pair.caution}


def amounts(findings: Findings) -> dict[str, str]:
    """How much each file holds; "" for one that is not offered."""
    rows, pairs, whole = len(findings.corpus), min(findings.pair_count, job.MOST_LISTED), not is_partial(findings)
    return {
        CLEANED: amount(findings.staying, "row") if whole else "",
        VERDICTS: amount(rows, "row") if whole else "",
        PAIRS: f"{'the best ' if pairs < findings.pair_count else ''}{amount(pairs, 'pair')}" if pairs else "",
    }


def links(findings: Findings) -> Markup:
    """The links under the result. The command also writes the cleaned file, unless groups are kept by hand."""
    cleaned = {} if findings.always or is_partial(findings) else {"clean": CLEANED, "remove": findings.remove}
    indexed = findings.mined.indexed
    caption = Caption.of(f"Duplicates in {indexed.corpus.name}", f"cosine ≥ {findings.threshold:.3g}", indexed.model)
    copies = commands(job.DUPLICATES, {"threshold": findings.threshold, **cleaned}, input_of(indexed))
    return row(caption, [HEADLINE, STAYING, GROUPS], present(), copies)


def headline(findings: Findings) -> Markup:
    """First what is certain, the exact copies, then what is only similar; how they were found is folded."""
    how, joined = html.info(_how(findings), "How they were found"), findings.mined.joined
    compared = SAME_WORDS if findings.mined.early else ""
    if joined and joined.is_sampled:
        which = f"{joined.compared:,} random rows were compared with all {joined.total:,}, by the {joined.index}."
        compared = f"{which} Duplicates among the other rows are not listed."
    if not len(findings.grouping):
        return Markup('<div class="could-go" role="status">{} {}{}</div>').format(_nothing(findings), how, html.notes([compared]))
    mixed = ", ".join(f"{groups:,} in {column}" for column, groups in findings.mixed().items() if groups)
    warning = f"Groups whose rows have different labels: {mixed}. Either a label is wrong or these are not duplicates."
    return Markup('<div class="could-go" role="status"><p>{}</p><div>{} {}</div>{}</div>').format(
        _copies(findings), _similar(findings), how, html.notes([compared, warning if mixed else ""])
    )


def is_partial(findings: Findings) -> bool:
    """Whether only some rows of a collection were compared, so that no cleaned file can be written."""
    return findings.mined.joined is not None and findings.mined.joined.is_sampled


def staying(findings: Findings) -> Markup:
    """How many rows the cleaned file keeps; nothing if it would not hold all of them."""
    if is_partial(findings):
        return Markup()
    rows, left, spared = len(findings.corpus), findings.staying, findings.spared
    why = f"because you keep {plural(spared, 'its group', 'their groups')}"
    if findings.remove == UNMARKED:
        why = "because of a mark or a group that you keep" if findings.always else "because of a mark"
    kept = f" {amount(spared, 'row stays', 'rows stay')} {why}."
    return Markup('<p class="dup-staying" role="status"><b>{:,} of {} stay</b> in {}, {} removed.{}{}</p>').format(
        left, amount(rows, "row"), CLEANED, amount(rows - left, "is", "are"), kept if spared else "", findings.unread
    )


JUDGE = Markup(
    '<p class="dup-judge"><button type="button" class="small" data-tab="Fine-tune" data-press="label-pairs">'
    "Judge such pairs</button> yourself with y and n: the best threshold follows from your answers, with its precision.</p>"
)


def borderline(pairs: Sequence[SentencePair], threshold: float, opinion: job.SecondOpinion | None = None) -> Markup:
    """The pairs nearest to the threshold, with the scores of a second model as far as it has read them."""
    if not pairs:
        return html.empty("No pairs near this threshold.")
    about = f"The {amount(len(pairs), 'pair')} nearest to the threshold, on both sides of it."
    if opinion:
        count = sum(pair.cross_score is not None for pair in pairs)
        which = "them" if count == len(pairs) else f"{count:,} of them"
        about += f" The {opinion.kind} {opinion.model}, {in_words(opinion.trained_for)}, scored {which} in "
        about += f"{duration(opinion.seconds)}. {how_to_read(opinion.trained_for, opinion.bounds)}"
    items = Markup().join(_pair(pair, threshold, opinion) for pair in pairs)
    return Markup('<p class="hint" role="status">{}</p><ol class="dup-pairs">{}</ol>{}').format(about, items, JUDGE)


def _nothing(findings: Findings) -> str:
    top, joined = findings.mined.duplicates.pairs.scores[:1], findings.mined.joined
    rows = joined.compared if joined else len(findings.corpus)
    if findings.mined.early:
        return f"No copies among {rows:,} rows, and no texts of the same words at cosine ≥ {findings.threshold:.3g}."
    closest = f"The closest pair has {top[0]:.3f}: lower the threshold to see it." if len(top) else "All sentences are dissimilar."
    return f"No duplicates at cosine ≥ {findings.threshold:.3g} among {rows:,} rows. {closest}"


def _copies(findings: Findings) -> Markup:
    if not findings.copies:
        return Markup("<b>No exact copies</b> of earlier rows.")
    count, columns = findings.differing[0], few(findings.differing[1])
    same, which = findings.copies - count, " or ".join(filter(None, [", ".join(columns[:-1]), *columns[-1:]]))
    parts = [f"{amount(same, 'is', 'are')} the same in every column, safe to remove"] if same else []
    parts += [f"{amount(count, 'differs', 'differ')} in {which}: look before you remove"] if count else []
    copies = amount(findings.copies, "exact copy", "exact copies")
    return Markup("<b>{}</b> of earlier rows' text: {}.").format(copies, "; ".join(parts))


def _similar(findings: Findings) -> Markup:
    count, which = findings.similar, f"similar to another (cosine ≥ {findings.threshold:.3g})"
    if not count:
        return Markup() if findings.mined.early else Markup("No more rows are {}.").format(which)
    rows, are, them = ("row", "is", "it") if count == 1 else ("rows", "are", "them")
    text = Markup("<b>{:,} {}{}</b> {} {}: look at {} before you remove {}.")
    return text.format(count, "more " if findings.copies else "", rows, are, which, them, them)


def _how(findings: Findings) -> str:
    """The stages' times, how many pairs were compared, and which were not kept."""
    pairs, joined = findings.mined.duplicates.pairs, findings.mined.joined
    rows = len(findings.mined.duplicates.copies.first)
    if findings.mined.early:
        compared = f"The model compared {amount(len(pairs.scores), 'pair')} of texts with the same words."
    elif pairs.exact:
        compared = f"All {rows * (rows - 1) // 2:,} pairs of different sentences were compared."
    elif joined:
        nearest = f"its {joined.neighbours} nearest of all, by the {joined.index}."
        compared = f"Each of {joined.compared:,} rows was compared with {nearest}"
    else:
        share = findings.recall
        recall = "" if share is None else f": {share:.1%} of the pairs above the threshold found, measured on a sample"
        compared = f"Approximate: each row was compared with its nearest neighbours{recall}."
    cut = f" More than {len(pairs.scores):,} pairs are close: those below {pairs.floor:.3f} were not kept." if pairs.raised else ""
    stages = html.milliseconds({name: seconds * 1e3 for name, seconds in findings.seconds.items()})
    return f"{amount(len(findings.grouping), 'group')}. {compared}{cut} {stages}."


def _pair(pair: SentencePair, threshold: float, opinion: job.SecondOpinion | None) -> Markup:
    unit = (opinion.kind if opinion.bounds else "logit") if opinion else ""
    cross = Markup() if pair.cross_score is None else CROSS.format(pair.cross_score, unit)
    rows = ((pair.sentence1, pair.row1), (pair.sentence2, pair.row2))
    texts = [(sentence, FILE_ROW.format(f"row {row_text(row)}")) for sentence, row in rows]
    about = ", ".join(filter(None, ["above" if pair.score >= threshold else "below", pair.caution]))
    return pair_item(f"{pair.score:.4f}", about, texts, cross)


def pair_item(score: str, about: str, texts: Sequence[tuple[str, Markup]], cross: Markup = Markup()) -> Markup:
    """A pair in a list. about: small print below the score; texts: each with its row; cross: another model's score."""
    line = Markup('<p dir="auto">{} {}</p>')
    return Markup(
        '<li><div class="dup-scores"><span class="cosine">{}<small>{}</small></span>{}</div><div class="both">{}</div></li>'
    ).format(score, about, cross, Markup().join(line.format(html.short(text, SENTENCE_LENGTH), row) for text, row in texts))
