"""The job index_corpus: index sentences as a corpus, which other jobs refer to by its id."""

from dataclasses import dataclass

from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.search.offered import cautions
from sbert_app.step import Step
from sbert_app.tables.table import skipped_summary
from sbert_app.wording import plural


@dataclass(frozen=True)
class IndexOptions:
    model: str = model_option()


def index_corpus(call: Call, options: IndexOptions) -> Steps:
    """Index a corpus from a file or from lines, and get its id for other jobs.

    Returns:
        corpus (its id, which gives access to it), sentences, passages (parts of texts longer than the model reads),
        columns, index, recall, seconds, notes.
    """
    corpora, session = call.services.corpora, call.services.bench.sessions.open(call.stop.visitor)
    column = corpora.put_table(session, call.required_table())
    last = None
    for last in corpora.index(session, call.columns or [column], options.model):
        yield Step(last.stage, last.done, last.total)
    if last is None or last.corpus is None:
        return
    report, source = last.corpus.index.report, last.corpus.corpus
    passages = len(last.corpus.passages or ())
    notes = [*last.notes, *source.notes, *skipped_summary(source.skipped), *cautions(call.bench, session)]
    summary = {
        "corpus": session.id,
        "sentences": len(source),
        "passages": passages,
        "columns": list(source.columns),
        "index": report.kind,
        "recall": report.recall,
        "seconds": last.seconds,
        "notes": notes,
    }
    rows = f"{len(source):,} {plural(len(source), 'row', 'rows')}"
    further = [f"{rows}, {passages:,} {plural(passages, 'passage', 'passages')} of long texts."] if passages else []
    yield Outcome(summary, [f"Sentences from column '{', '.join(source.columns)}'.", *further, *notes])


INDEX_CORPUS = Job("index_corpus", Needs.SENTENCES, IndexOptions, index_corpus)
