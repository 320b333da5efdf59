"""The job why_not: tell why a row or a text is not among the hits of a query."""

from dataclasses import asdict, dataclass
from typing import Any

from sbert_app.corpus.hits import DEFAULT_RANKING, RANKINGS
from sbert_app.corpus.ranking.missed import Miss, quoted
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import choice, json_object, option, sentence, whole
from sbert_app.jobs.search.job import WAYS
from sbert_app.jobs.search.standing import HINT


@dataclass(frozen=True)
class WhyNotOptions:
    query: str = option("The search query, in any words.", sentence("query", "Type what you are looking for."))
    expected: str = option(
        "The row that was expected: its number in the file, counted from 1 without the header, or its text.",
        sentence("expected row or text", HINT),
    )
    top: int = option("Number of hits of the search.", whole("number of hits", 1, "hits"), 10)
    filters: dict[str, Any] | None = option("The filters of the search, as `search` takes them.", json_object("filter"), None)
    ranking: str = option(f"How its hits are ranked: {WAYS}.", choice("ranking", RANKINGS), DEFAULT_RANKING)


def why_not(call: Call, options: WhyNotOptions) -> Steps:
    """Tell why a row, or a text, was not found: hidden, cut, skipped, other words, a typo, or others fit better.

    Returns:
        reason and the same in one sentence (in_words), row, sentence, in_corpus (false: the most similar row is meant), rank among
        the hits, standings (by meaning, words, together, word by word: rank, score), words of the query that it shares and lacks
        and those that look like typos, filters that hide it, read and length (characters that the model reads, and all), skipped.
    """
    miss = call.services.standings.why_not(
        call.session, options.query, options.expected, options.top, options.filters, options.ranking
    )
    summary = {"reason": miss.reason, "in_words": miss.in_words, **asdict(miss)}
    yield Outcome(summary, lines(miss))


def lines(miss: Miss) -> list[str]:
    """The answer for the shell."""
    texts = [] if miss.in_corpus else [f"The corpus holds no such text; the most similar row is {miss.row:,}: {miss.sentence}"]
    texts.append(miss.in_words)
    for standing in miss.standings:
        rank = "–" if standing.rank is None else f"{standing.rank:,}"
        score = "" if standing.score is None else f"{standing.score:.3f}"
        texts.append(f"{standing.way:14} rank {rank:>6}  score {score:>7}  {standing.note}".rstrip())
    if miss.words.lacking:
        texts.append(f"It lacks {quoted(miss.words.lacking)}.")
    return texts


WHY_NOT = Job("why_not", Needs.CORPUS, WhyNotOptions, why_not, "why_not", quick=True)
