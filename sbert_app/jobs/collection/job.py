"""The job open_collection: open a collection, which other jobs refer to by its id as they do to a corpus."""

from dataclasses import dataclass

from sbert_app.collections.opened import OpenCollection
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import option, text
from sbert_app.step import Step


@dataclass(frozen=True)
class OpenOptions:
    address: str = option(
        "Where the collection is: a folder, FILE.db/NAME or http://host:port/NAME. Hosted: the name of one that the app offers.",
        text("address"),
    )


def open_collection(call: Call, options: OpenOptions) -> Steps:
    """Open a collection of embedded rows, and get its id for search, duplicates and cluster_map, which draws a sample of it.

    Returns:
        corpus (its id, which gives access to it), name, rows, sampled (rows of the sample), model, columns (of metadata), files,
        index, recall (at 10, of the index), recall_queries (the number of rows it was measured on, 0: not measured).
    """
    yield Step("Opening the collection")
    session = call.services.bench.sessions.open(call.stop.visitor)
    opened = call.services.collections.open(session, options.address)
    facts = opened.facts
    summary = {
        "corpus": session.id,
        "name": opened.name,
        "rows": opened.rows,
        "sampled": len(opened.sample.corpus),
        "model": facts.model,
        "columns": list(facts.columns),
        "files": len(facts.files),
        "index": facts.index,
        "recall": facts.recall,
        "recall_queries": facts.recall_queries,
    }
    yield Outcome(summary, [_line(opened)])


def _line(opened: OpenCollection) -> str:
    return f"Collection '{opened.name}': {opened.rows:,} rows, {opened.index}, model {opened.facts.model}."


OPEN_COLLECTION = Job("open_collection", Needs.NOTHING, OpenOptions, open_collection)
