"""The job duplicates: mine the pairs of a corpus once, group them at any threshold, score those near it with a second model."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.duplicates import REMOVALS, SIMILAR, SentencePair, find_duplicates
from sbert_app.corpus.findings import Findings, Mined
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.mining import COMPARING, FLOOR
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option
from sbert_app.jobs.declaring.option import choice, number, option, output, upload, whole
from sbert_app.jobs.duplicates.joining import join
from sbert_app.jobs.duplicates.overlap import compare_file, in_line, kept
from sbert_app.jobs.search.open_corpus import cautions
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.models.files.trained_for import Bounds, how_to_read
from sbert_app.runtime import Session, StoppedError, Workbench
from sbert_app.step import Step
from sbert_app.storage import writing_to
from sbert_app.tables import Table
from sbert_app.wording import few

# On 10,000 labelled Quora pairs: precision 0.8 and recall 0.6 at 0.85; precision 0.75 and recall 0.86 at 0.75.
DEFAULT_THRESHOLD = 0.85  # a cosine
MOST_LISTED = 100_000  # pairs in one answer
MOST_SCORED = 100  # pairs scored by the cross-encoder, one forward pass each
MINE, GROUP = "compare", "group"  # stages
MINING, SCORING = "mining", "second opinion"  # job names
OF_BEGINNINGS = (
    "of such a text only the beginning is compared. Similar rows begin alike and may differ further on: look at a group before you "
    "remove rows. Passages that are used again inside longer texts are not found."
)
NO_GROUP = "This group is not in the list any more. Choose one from the list."


@dataclass(frozen=True)
class DuplicatesOptions:
    threshold: float = option("Lowest cosine of two duplicates.", number("threshold", FLOOR, 1), DEFAULT_THRESHOLD)
    top: int = option("Number of pairs to list.", whole("number of pairs", 0, MOST_LISTED), 100)
    against: Table | None = option("Another file: also report its rows that duplicate rows of the corpus.", upload(), None)
    clean: Path | None = option("Write the rows to keep to this .csv file.", output(".csv", reason="the rows are a table"), None)
    remove: str = option(
        "What --clean leaves out: 'copies', 'unmarked' (similar rows too, but none of another number or a denial) or 'similar'.",
        choice("rows to remove", REMOVALS), SIMILAR, endpoint=False,
    )  # fmt: skip
    cross_encoder: str = cross_encoder_option("", "Also score the pairs nearest to the threshold, up to 100; empty for none.")


def duplicates(call: Call, options: DuplicatesOptions) -> Steps:
    """Find duplicates in a corpus: the closest pairs, and groups with the row to keep. Another threshold needs no new comparison.

    Returns:
        pairs (row1, row2 counted from 1, score, both sentences; best first), groups (representative: the row to keep, rows,
        size), rows, redundant (rows that could be removed), exact_copies (of a text), differing_copies and differing_columns
        (copies with other values there), threshold, floor (no pairs below it are kept), cautions (what to mind: rows that the model
        hardly reads, texts of which only the beginning was compared), exact, recall (share of pairs found, for corpora too large
        for exact mining), overlap (with another file), second_opinion (with a cross-encoder: its name, what it was trained for, how
        to read its scores, and the pairs nearest to the threshold with them), seconds by stage.
    """
    if call.session.get(Mined) is None:
        for step in mine(call.bench, call.session):
            yield Step("Comparing, per cent", round(100 * step.done / max(step.total, 1)), 100)
        if call.session.get(Mined) is None:
            return
    findings = findings_of(call.session, options.threshold, options.remove)
    summary, lines = findings.summary(options.top), [*findings.mined.cautions, *_lines(findings, options.top)]
    if options.against is not None:
        for compared in compare_file(call.bench, call.session, options.against):
            yield compared
        if compared.result is None:
            return
        overlap = summary["overlap"] = compared.result.summary(options.threshold)
        lines.append(f"{overlap['found']:,} of {overlap['rows']:,} rows of {overlap['file']} duplicate rows of the corpus.")
    if options.cross_encoder:
        pairs, opinion = score_borderline(call.bench, call.session, options.threshold, cross_encoder=options.cross_encoder)
        summary["second_opinion"] = opinion.summary(pairs)
        lines.append(f"Pairs nearest to the threshold, by {opinion.model}. {how_to_read(opinion.trained_for, opinion.bounds)}")
        lines += [f"{p.score:.3f}  {p.cross_score:.3f}  rows {p.row1} and {p.row2}" for p in pairs]
    if options.clean:
        with writing_to(options.clean, "clean"):
            options.clean.write_text(findings.cleaned_file(), encoding="utf-8", newline="")
        lines.append(f"{findings.staying:,} rows to keep -> {options.clean}.{findings.unread}")
        lines += [f"{n:,} others have another number or a denial: see --remove."] if (n := len(findings.marked)) else []
    yield Outcome(summary, lines)


def _lines(findings: Findings, top: int) -> list[str]:
    grouping = findings.grouping
    differing, columns = findings.differing
    but = f" ({differing:,} differ in {', '.join(few(columns))})" if differing else ""
    head = (
        f"{findings.copies:,} exact copies{but} among {len(findings.corpus):,} rows; {findings.similar:,} more rows are similar to "
        f"another (cosine >= {findings.threshold:.3g}); {len(grouping):,} groups."
    )
    pairs = [
        f"{pair.score:.3f}  rows {pair.row1} and {pair.row2}\n       {pair.sentence1}\n       {pair.sentence2}"
        for pair in findings.pairs(top)
    ]
    return [head, *pairs]


@dataclass(frozen=True)
class SecondOpinion:
    """One model's scores of pairs, by (row1, row2) of the file. seconds: of the last scoring. bounds: None for logits."""

    model: str
    kind: str  # "cross-encoder" or "poly-encoder"
    trained_for: str
    bounds: Bounds | None
    scores: dict[tuple[int | str, int | str], float]
    seconds: float
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    def summary(self, pairs: Sequence[SentencePair]) -> dict[str, Any]:
        """Plain JSON: the model, how to read its scores, and the pairs with them."""
        scored = [{"row1": p.row1, "row2": p.row2, "score": p.score, "cross_encoder_score": p.cross_score} for p in pairs]
        about = how_to_read(self.trained_for, self.bounds)
        return {"model": self.model, "kind": self.kind, "trained_for": self.trained_for, "how_to_read": about, "pairs": scored}


def mine(bench: Workbench, session: Session) -> Iterator[Step[Mined]]:
    """Mine the session's corpus; the result of the last step stays in the session until another corpus is opened."""
    indexed = session.corpus()
    work = _mined(bench, indexed, session.get(OpenCollection))
    # One that is still being read is mined at once, for copies and texts of the same words: its indexing is in the queue.
    yield from kept(session, session.begin(MINING), work) if indexed.growing else in_line(bench, session, MINING, work)


def _mined(bench: Workbench, indexed: IndexedCorpus, opened: OpenCollection | None) -> Iterator[Step[Mined]]:
    """Compare the rows of a corpus, or of the collection that it is a sample of. A store may answer late."""
    start = time.perf_counter()
    yield Step(COMPARING, 0, 1)
    if indexed.growing:
        compared = indexed.growing.duplicates()
    else:
        compared = bench.device.each(find_duplicates(indexed.corpus.sentences, indexed.embeddings, indexed.index))
    mined = (Step(s.stage, s.done, s.total, result=Mined(indexed, s.result, {}) if s.result else None) for s in compared)
    for step in join(opened) if opened else mined:
        seconds, found = time.perf_counter() - start, step.result
        if found:
            long = "" if found.early else found.indexed.long_texts  # early ones have the same words: they are alike as a whole
            remarks = (*cautions(bench, found.indexed), *([f"{long}: {OF_BEGINNINGS}"] if long else []))
            found = replace(found, seconds={MINE: seconds}, cautions=remarks)
        yield replace(step, seconds=seconds, result=found)


@dataclass(frozen=True)
class KeptRows:
    """The rows of groups that a visitor keeps whole, counted from 0, under each index of these rows."""

    of_corpus: ClassVar[bool] = True
    rows: frozenset[int] = frozenset()


def findings_of(session: Session, threshold: float, remove: str = SIMILAR) -> Findings:
    """Group the mined pairs at a threshold, raised to the mining's floor. Raises UserError if the open corpus is not mined."""
    threshold = validation.number(threshold, "threshold", FLOOR, 1)
    remove = validation.one_of(remove, "rows to remove", REMOVALS) or SIMILAR
    mined = session.require(Mined, "This corpus has not been searched for duplicates yet. Find them first.")
    opinion = session.get(SecondOpinion)
    threshold = max(threshold, mined.duplicates.pairs.floor)
    start = time.perf_counter()
    grouping = mined.duplicates.grouping(threshold)
    seconds = mined.seconds | {GROUP: time.perf_counter() - start}
    mined = replace(mined, cross_scores=opinion.scores if opinion else {})
    return Findings(mined, threshold, grouping, seconds, remove, (session.get(KeptRows) or KeptRows()).rows)


def keep_group(session: Session, threshold: float, centre: object, whole: object) -> None:
    """Keep all rows of a group, whatever is removed, or take that back. centre: the row number of its first member."""
    rows = findings_of(session, threshold).rows_of_group(centre) if isinstance(centre, int) else []
    if not rows or not isinstance(whole, bool):
        raise UserError(NO_GROUP)

    def changed(before: KeptRows | None) -> KeptRows:
        others = (before or KeptRows()).rows.difference(rows)
        return KeptRows(others.union(rows) if whole else others)

    session.update(KeptRows, changed)


def score_borderline(
    bench: Workbench, session: Session, threshold: float, count: int = MOST_SCORED, cross_encoder: str = DEFAULT_CROSS_ENCODER
) -> tuple[list[SentencePair], SecondOpinion]:
    """Borderline pairs with a cross-encoder's scores; its own earlier ones are reused. UserError for a model without a score."""
    pairs = findings_of(session, threshold).borderline(count)
    stop = session.begin(SCORING)
    cross = bench.registry.pair_scorer(cross_encoder)
    earlier = session.get(SecondOpinion)
    scores = dict(earlier.scores) if earlier and earlier.model == cross.name else {}
    new = [pair for pair in pairs if (pair.row1, pair.row2) not in scores]
    start = time.perf_counter()
    try:
        values = bench.device.scores(cross, [(pair.sentence1, pair.sentence2) for pair in new], stop.tick)
    except StoppedError:
        raise UserError(stop.reason) from None
    scores |= {(pair.row1, pair.row2): float(value) for pair, value in zip(new, values, strict=True)}
    opinion = SecondOpinion(cross.name, cross.kind, cross.trained_for, cross.bounds, scores, time.perf_counter() - start)
    session.put(opinion, stop)
    return [replace(pair, cross_score=scores[pair.row1, pair.row2]) for pair in pairs], opinion


DUPLICATES = Job("duplicates", Needs.CORPUS, DuplicatesOptions, duplicates, "duplicates")
