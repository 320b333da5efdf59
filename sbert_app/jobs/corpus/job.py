"""The job index_corpus: encode sentences, build their index, save it, and open the corpus, which other jobs refer to by its id."""

import logging
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.hits import FormerIndex, Indexing
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.mending import MENDS, mended
from sbert_app.corpus.passages import LongTexts
from sbert_app.corpus.reader import Corpus, existing, read_corpus
from sbert_app.corpus.text_column import guess_column
from sbert_app.jobs import validation
from sbert_app.jobs.corpus.opening import open_unread
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import flag, names, option
from sbert_app.jobs.duplicates.job import KeptRows
from sbert_app.jobs.labelling import former_labels
from sbert_app.jobs.search.open_corpus import Judgements, cautions
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime import Session, Stop, Workbench, place_in_line
from sbert_app.step import Step
from sbert_app.tables import Table, skipped_summary
from sbert_app.wording import amount

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

log = logging.getLogger(__name__)

INDEXING = "indexing"  # job name
TO_MEND = f"What to mend before it is read: any of {', '.join(MENDS)}."
ENCODING = "Encoding"  # the stage in which rows are searched already
AT_ONCE = 2_000  # rows to encode, from which on a corpus is opened before it is indexed: fewer take a second or two


@dataclass(frozen=True)
class IndexOptions:
    model: str = model_option()
    mends: list[str] = option(TO_MEND, names("mends"), [])
    whole: bool = option("Whether every row is read first.", flag("whole"), True, shell=False, endpoint=False)


def index_corpus(call: Call, options: IndexOptions) -> Steps:
    """Index a corpus from a file or from lines, and get its id for other jobs.

    Returns:
        corpus (its id, which gives access to it), sentences, passages (parts of texts longer than the model reads),
        columns, index and recall ("" and null before every row is read), seconds, notes.
    """
    session, table = call.bench.sessions.open(call.stop.visitor), call.required_table()
    session.put(table)
    step, columns = Step[IndexedCorpus](""), call.columns or [guess_column(table.frame)]
    with closing(index(call.bench, session, columns, options.model, options.mends, not options.whole)) as steps:
        for step in steps:
            begun = session.get(IndexedCorpus)
            if not options.whole and step.stage == ENCODING and step.unit != _unit(1) and begun and begun.growing:
                step = replace(step, result=begun, notes=("The model reads only the rows that a query needs.",))
                break
            yield step
    if step.result is None:
        return
    indexed, source, passages = step.result, step.result.corpus, len(step.result.passages or ())
    notes = [*step.notes, *source.notes, *skipped_summary(source.skipped), *cautions(call.bench, indexed)]
    summary = {
        "corpus": session.id,
        "sentences": len(source),
        "passages": passages,
        "columns": list(source.columns),
        "index": "" if indexed.growing else indexed.index.report.kind,
        "recall": None if indexed.growing else indexed.index.report.recall,
        "seconds": step.seconds,
        "notes": notes,
    }
    further = [f"{amount(len(source), 'row')}, {amount(passages, 'passage')} of long texts."] if passages else []
    yield Outcome(summary, [f"Sentences from column '{', '.join(source.columns)}'.", *further, *notes])


INDEX_CORPUS = Job("index_corpus", Needs.SENTENCES, IndexOptions, index_corpus)


def waiting_table(session: Session) -> Table:
    """The table that the visitor brought, whose text columns are to be chosen. Raises UserError if there is none."""
    return session.require(Table, "There is nothing to index yet. Upload a file, paste lines, or choose an example.")


def unread_table(session: Session) -> Table | None:
    """A table that the visitor brought and the model has not read: a reload ended the reading, or another is being read."""
    table, indexed = session.get(Table), session.get(IndexedCorpus)
    return None if table is None or (indexed and indexed.corpus.name == table.name) else table


def index(
    bench: Workbench,
    session: Session,
    columns: list[str],
    model: str = DEFAULT_ENCODER,
    mends: Sequence[str] = (),  # what to mend before, of MENDS
    early: bool = True,  # open a corpus of more than AT_ONCE rows before it is indexed
) -> Generator[Step[IndexedCorpus]]:
    """Index the session's table. The last step has the corpus or is `stopped`; until then the previous corpus stays open."""
    columns, table = validation.names(columns, "sentence columns"), waiting_table(session)
    for mend in mends:
        validation.one_of(mend, "mend", MENDS)
    if mends:
        table = mended(table, existing(table, columns), mends)
        table = replace(table, notes=(*table.notes, f"Mended: {'; '.join(MENDS[mend] for mend in mends)}."))
    corpus = replace(read_corpus(table, columns, bench.settings.limits), mends=tuple(mends))
    yield from _run(bench, session, corpus, model, early)


def index_again(bench: Workbench, session: Session, model: str) -> Iterator[Step[IndexedCorpus]]:
    """Index the open corpus with another model, as `index`."""
    corpus = session.corpus().corpus
    refuse_collection(session.get(OpenCollection), "Indexing again")
    yield from _run(bench, session, corpus, model, early=False)


def _run(bench: Workbench, session: Session, corpus: Corpus, model: str, early: bool) -> Iterator[Step[IndexedCorpus]]:
    """Wait in the queue, index, and open the result, unless the run was revoked, as another corpus was opened."""
    line = bench.lines.corpora
    with bench.usage.take(rows=len(corpus), indexings=1) as used, line.join(stop := session.begin(INDEXING)) as waiting:
        yield from (_step(place_in_line(before, "job"), corpus) for before in waiting)
        for step in _index(bench, session if early else None, corpus, model, stop):
            if step.done:
                used |= {"rows": min(step.done, len(corpus)), "indexings": 1}
            if step.result is not None and not _open(session, step.result, step, stop):
                step = replace(step, stage="Stopped", stopped=True, result=None)
            yield step


def _open(session: Session, indexed: IndexedCorpus, step: Step[IndexedCorpus], stop: Stop) -> bool:
    """Open what was indexed, beside the index of another model of the same corpus. False if the run was revoked."""
    before, how = session.get(IndexedCorpus), Indexing(step.seconds, step.rate, step.notes)
    if before and before.growing and before.corpus is indexed.corpus:  # open already: what belongs to it stays
        return not stop.revoked and session.swap(before, indexed) and session.put(how, stop)
    same_rows = before and not before.growing and before.corpus.sentences == indexed.corpus.sentences
    former = [FormerIndex(before)] if before and same_rows and before.fingerprint != indexed.fingerprint else []
    kept = filter(None, (session.get(Judgements), former_labels(session), session.get(KeptRows))) if same_rows else ()
    return session.open(indexed, stop, how, *former, *kept)


def _step(stage: str, corpus: Corpus) -> Step[IndexedCorpus]:
    """A step before anything is encoded."""
    return Step(stage, 0, len(corpus), unit="sentences")


def _index(bench: Workbench, session: Session | None, corpus: Corpus, model: str, stop: Stop) -> Iterator[Step[IndexedCorpus]]:
    """Load the corpus, or encode and index it, as `index`. session: where a large corpus is opened at once."""
    yield _step("Loading the model", corpus)
    encoder = bench.registry.encoder(model)
    start = time.perf_counter()
    saved = None if bench.settings.hosted else bench.library.find(corpus, encoder.fingerprint)
    if saved:
        seconds, passages = time.perf_counter() - start, len(saved.passages or ())
        total = len(corpus) + passages
        yield Step("Opened", total, total, seconds, total, saved, unit=_unit(passages))
        return
    long_texts = LongTexts(encoder, corpus.sentences)
    for _ in long_texts.cut():
        if stop.is_set():
            yield replace(_step("Stopped", corpus), stopped=True)
            return
        yield _step("Cutting long texts", corpus)
    yield from _encode(bench, session, corpus, encoder, long_texts, stop)


def _encode(
    bench: Workbench, session: Session | None, corpus: Corpus, encoder: "Encoder", long_texts: LongTexts, stop: Stop
) -> Iterator[Step[IndexedCorpus]]:
    """Encode sentences and passages, and build the index."""
    texts, start, count = long_texts.texts, time.perf_counter(), len(corpus)
    job, total = bench.embedder.job(encoder, [*corpus.sentences, *texts]), count + len(texts)
    if session and total - job.cached > AT_ONCE:
        yield from open_unread(bench, session, corpus, encoder, job, long_texts.count, stop)
        start = time.perf_counter()
    step = Step[IndexedCorpus](ENCODING, job.cached, total, skipped=job.cached, unit=_unit(len(texts)))
    with closing(job.run()) as batches:
        for done in batches:
            step = replace(step, done=done, seconds=time.perf_counter() - start)
            if stop.is_set() and done < total:
                yield replace(step, stage="Stopped", stopped=True)
                return
            yield step
    yield replace(step, stage="Building the index")
    rows, rest = np.split(job.embeddings, [count])
    opened = session and session.get(IndexedCorpus)
    lexical = opened.lexical if opened and opened.corpus is corpus else None
    indexed = IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, rows, lexical)
    indexed = replace(indexed, truncated=long_texts.count, passages=long_texts.passages(rest))
    if not bench.settings.hosted and not corpus.first_query:  # an example need not be saved
        try:
            indexed = replace(indexed, saved_id=bench.library.save(indexed))
        except OSError as error:  # such as a full disk: the corpus can be used all the same
            log.warning("corpus not saved: %s", error)
            step = replace(step, notes=(f"Ready to search, but not saved for next time: {error.strerror or error}.",))
    yield replace(step, stage="Indexed", result=indexed)


def _unit(passages: int) -> str:
    return "sentences and passages" if passages else "sentences"
