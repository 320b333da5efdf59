"""The job search: find the sentences closest to a query."""

from dataclasses import asdict, dataclass
from typing import Any

from sbert_app.corpus.hits import DEFAULT_RANKING, RANKINGS, Hit
from sbert_app.corpus.indexed import HYBRID
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option
from sbert_app.jobs.declaring.option import choice, flag, json_object, option, sentence, whole
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.wording import plural

FOR_ANSWERS = "The cross-encoder for re-ranking. The bundled one grades likeness: name one that was trained to rank answers."
WAYS = "; ".join(f"{name}, {meaning}" for name, meaning in RANKINGS.items())


@dataclass(frozen=True)
class SearchOptions:
    query: str = option("The search query, in any words.", sentence("query", "Type what you are looking for."))
    top: int = option("Number of hits, each of another text.", whole("number of hits", 1, "hits"), 10)
    filters: dict[str, Any] | None = option(
        'A JSON object: column to value, list of values, {"contains": text}, or {"from": low, "to": high}.',
        json_object("filter"),
        None,
    )
    hybrid: bool = option("The same as the ranking hybrid.", flag("hybrid"), False)
    rerank: bool = option("Order the best 30 hits by a cross-encoder, which reads query and text together.", flag("rerank"), False)
    cross_encoder: str = cross_encoder_option(DEFAULT_CROSS_ENCODER, FOR_ANSWERS)
    ranking: str = option(f"How hits are ranked: {WAYS}.", choice("ranking", RANKINGS), DEFAULT_RANKING)


def search(call: Call, options: SearchOptions) -> Steps:
    """Search an indexed corpus by meaning.

    Returns:
        hits (of each text its best row: rank, row counted from 1, copies: how many other rows repeat the text, copy_rows: the first
        of them, score: the cosine, sentence, metadata, bm25, maxsim, cross_score, matches: words of the query and of the hit with
        their similarity and weight, best: the sentence that matches best, passage: the part of a long text that the scores are of,
        else None; both are first character and last + 1), milliseconds by stage, cautions: sentences on rows that a filter could
        not read, and on a query in a language that the model does not read; of a collection its name, kind of index and recall; of
        several files, row is an id, and row_name its file and row.
    """
    ranking = HYBRID if options.hybrid else options.ranking
    result = call.services.search.search(
        call.session, options.query, options.top, options.filters, ranking, options.rerank, options.cross_encoder
    )
    lines = [f"{hit.score:.3f}  row {hit.row_name or hit.row:<6} {_shown(hit)}{_repeated(hit)}" for hit in result.hits]
    collection = {"collection": asdict(result.store)} if result.store else {}
    answer = {"hits": [asdict(hit) for hit in result.hits], "milliseconds": result.milliseconds, "cautions": list(result.cautions)}
    yield Outcome(answer | collection, [*lines, *result.cautions])


def _shown(hit: Hit) -> str:
    """The text of a hit, of a long one the passage that matches best."""
    return f"… {hit.sentence[slice(*hit.passage)]}" if hit.passage else hit.sentence


def _repeated(hit: Hit) -> str:
    return f" (and in {hit.copies:,} other {plural(hit.copies, 'row', 'rows')})" if hit.copies else ""


SEARCH = Job("search", Needs.CORPUS, SearchOptions, search, "search", quick=True)
