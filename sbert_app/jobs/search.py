"""The job search: find the sentences closest to a query."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from sbert_app.jobs.job import Call, Job, Needs, Outcome, Step, cross_encoder_option
from sbert_app.jobs.option import flag, json_object, option, sentence, whole
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER


@dataclass(frozen=True)
class SearchOptions:
    query: str = option("The search query, in any words.", sentence("query", "Type what you are looking for."))
    top: int = option("Number of hits.", whole("number of hits", 1, "hits"), 10)
    filters: dict[str, Any] | None = option(
        'A JSON object: column to value, list of values, {"contains": text}, or {"from": low, "to": high}.',
        json_object("filter"),
        None,
    )
    hybrid: bool = option("Combine the ranking with BM25 keyword search.", flag("hybrid"), False)
    rerank: bool = option("Re-rank the best hits with the cross-encoder.", flag("rerank"), False)
    cross_encoder: str = cross_encoder_option(DEFAULT_CROSS_ENCODER, "The cross-encoder for re-ranking.")


def search(call: Call, options: SearchOptions) -> Iterator[Step | Outcome]:
    """Search an indexed corpus by meaning.

    Returns:
        hits (rank, row counted from 1, score, sentence, metadata, cross_score) and milliseconds by stage.
    """
    result = call.services.search.search(
        call.session_id, options.query, options.top, options.filters, options.hybrid, options.rerank, options.cross_encoder
    )
    lines = [f"{hit.score:.3f}  row {hit.row:<6} {hit.sentence}" for hit in result.hits]
    yield Outcome({"hits": [asdict(hit) for hit in result.hits], "milliseconds": result.milliseconds}, lines)


SEARCH = Job("search", Needs.CORPUS, SearchOptions, search, "search", quick=True)
