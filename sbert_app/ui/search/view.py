"""Render search hits, how many of them are judged, and why a row is not among them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from sbert_app.corpus.hits import MAXSIM, Hit, SearchResult
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS
from sbert_app.corpus.passages import COST
from sbert_app.corpus.ranking.lexical import tokenize
from sbert_app.corpus.ranking.missed import BM25, CUT, MEANING, TOGETHER, WORD_BY_WORD, Miss, Standing, quoted
from sbert_app.corpus.reader import free_names
from sbert_app.jobs.search.open_corpus import Fitting, Judgements, no_hits
from sbert_app.ui.kit import html
from sbert_app.ui.search.hit_view import card
from sbert_app.wording import amount

NO_QUERY = "Type what you are looking for, in any words, and press Enter."
COMPARE = Markup('<button type="button" class="unfold" data-beside="{}">Compare with words alone</button>').format(WORDS)
MORE = {10: 20, 20: 50, 50: 100}  # hits that are shown -> then
WEAK, ALL_WEAK = "Weak matches from here on", "No strong match: even the best are weak"
WHY_WEAK = "With this model, 19 of 20 pairs written to be related have a cosine above {:.2f}; these hits are below it."
TITLES = {
    DENSE: "By meaning",
    WORDS: "By words (BM25)",
    HYBRID: "By meaning and words",
    MAXSIM: "By meaning and words, word by word",
}
ORDERED_BY = {
    WORDS: "ranked by words; the score is the cosine",
    HYBRID: "ranked by meaning and words; the score is the cosine only",
    MAXSIM: "ranked by meaning, by words and word by word; the score is the cosine only",
}
OF_PASSAGES = f"ranked by the cosine, less {COST:g} where it is of a passage of a long text"
THEN_WORDS = "ranked by meaning, then the best 50 word by word; the score is the cosine only"  # a collection by MAXSIM
USE = "Add the file in Evaluation: it measures how well each way to rank answers your queries."
TEXT_LENGTH = 300  # characters of a row that is not among the hits, or the last above a score
UNDIMMED = Markup('<div class="first-hits">{}</div>')  # not dimmed while the answer is awaited
WITHOUT_QUERY = Markup('<div class="fitting" data-query="">{}</div>')  # what page.js keeps in the address
FIRST = 20  # rows that are shown without a query
LAST, OF_LAST = 5, "A cosine says how close, not whether it is right: read the last ones, and raise or lower it until they are."
WAYS = {
    MEANING: "By meaning (cosine)",
    BM25: "By words (BM25)",
    TOGETHER: "Both together (sum of z-scores)",
    WORD_BY_WORD: "Word by word (MaxSim)",
}


def results(
    result: SearchResult, other: SearchResult | None = None, judged: Mapping[int, int] | None = None, delimiter: str = ","
) -> Markup:
    """The hits as cards, beside another search's. judged: the visitor's grades by row; delimiter: of the hits saved as csv."""
    judged = judged or {}
    query = Markup('<div data-query="{}">{}</div>')  # the attribute is for the page's address
    if not result.hits:
        return query.format(result.query, html.empty(no_hits(result.ranking)) + html.cautions(result.cautions))
    total = f"Best {result.extent} in {sum(result.milliseconds.values()):,.0f} ms{_ranked_by(result)}"
    index = f"{result.store.index} · " if result.store else ""
    compare = "" if other or result.store or result.ranking == WORDS else COMPARE
    facts = Markup("{} {} {}").format(total, html.info(index + html.milliseconds(result.milliseconds), "Times"), compare)
    head = html.head(facts, html.downloads("hits", _records(result), delimiter)) + html.cautions(result.cautions)
    if other is None:
        return query.format(result.query, head + _hits(result, judged) + _more(result))
    if not other.hits:
        return query.format(result.query, html.empty(f"Nothing beside the hits. {no_hits(WORDS)}") + head + _hits(result, judged))
    sections = (
        Markup("<section><h3>{}</h3>{}</section>").format(_title(side), _hits(side, judged, against))
        for side, against in ((result, other), (other, result))
    )
    return query.format(result.query, head + Markup('<div class="beside">{}</div>').format(Markup().join(sections)))


def no_query(within: str) -> Markup:
    """What to do, and what is searched: the title of what is selected on the map, "" for all."""
    only = f" Only {within[:1].lower()}{within[1:]} are searched." if within else ""  # it begins with a number, "The" or "Row"
    return WITHOUT_QUERY.format(html.empty(f"{NO_QUERY}{only}"))


def fitting(rows: Fitting, delimiter: str) -> Markup:
    """Without a query: how many rows fit the filters, the first of them, and all as files."""
    count, saved = f"{rows.count:,} of {rows.searched:,} rows fit", len(rows.records)
    count += f"; the files have the first {saved:,}" if saved < rows.count else ""
    first = [[str(r["row"]), html.short(text, TEXT_LENGTH)] for r, text in zip(rows.records, rows.sentences, strict=True)][:FIRST]
    table = html.table(["row", f"the first {len(first)} texts"], first) if first else Markup()
    head = html.head(count, html.downloads("rows", rows.records, delimiter)) + html.cautions(rows.notes)
    return WITHOUT_QUERY.format(head + table)


def above(count: str, result: SearchResult, delimiter: str) -> Markup:
    """How many rows have a cosine of at least something, all of them as files, and the last: where one sees whether it is right."""
    last = [[f"{hit.score:.3f}", hit.place, html.short(hit.sentence, TEXT_LENGTH)] for hit in result.hits[-LAST:]]
    texts = "the last of them" if len(result.hits) > LAST else "text"
    table = html.hint(OF_LAST) + html.table(["cosine", "row", texts], last) if last else Markup()
    return html.head(count, html.downloads("rows", _records(result), delimiter)) + html.cautions(result.cautions) + table


def _records(result: SearchResult) -> list[dict[str, object]]:
    return [record for hit in result.hits for record in hit_records(hit, result.repeats.get(hit.row, ()))]


def _more(result: SearchResult) -> Markup:
    texts, rows = len(result.hits), sum(1 + hit.copies for hit in result.hits)
    if texts not in MORE or rows >= result.fitting:
        return Markup()
    return Markup('<button type="button" class="small" data-top="{}">More hits</button>').format(MORE[texts])


def _title(result: SearchResult) -> str:
    if result.store and result.ranking == MAXSIM:
        return "By meaning, then word by word"
    return f"{TITLES[result.ranking]}, {result.model}" if result.ranking == DENSE else TITLES[result.ranking]


def chips(active: Mapping[str, str], filters: Mapping[str, Any]) -> Markup:
    """The filters and options in force, each with a button that removes it. An attribute holds the filters, for the address."""
    attribute = Markup('<i hidden data-filters="{}"></i>').format(json.dumps(filters, ensure_ascii=False) if filters else "")
    button = Markup(
        '<button type="button" class="chip" data-filter="{}" aria-label="Remove: {}">{} <i aria-hidden="true">×</i></button>'
    )
    return attribute + Markup().join(button.format(name, label, label) for name, label in active.items())


def _ranked_by(result: SearchResult) -> str:
    """What decides the order, where it is not the score in front."""
    if result.hits[0].cross_score is not None:
        return f" · ranked by {result.cross_encoder or 'the cross-encoder'}, the number below"
    if result.store and result.ranking == MAXSIM:
        return f" · {THEN_WORDS}"
    if result.ranking == DENSE and any(hit.passage for hit in result.hits):
        return f" · {OF_PASSAGES}"
    return f" · {ORDERED_BY[result.ranking]}" if result.ranking in ORDERED_BY else ""


def hit_records(hit: Hit, repeats: Sequence[tuple[int | str, Mapping[str, str]]] = ()) -> Iterator[dict[str, object]]:
    """A flat record for export of a hit, and one of each row that repeats its text. "passage" is of hits in long texts alone."""
    scores = {"bm25": hit.bm25, "maxsim": hit.maxsim, "cross_encoder_score": hit.cross_score}
    rounded = {name: round(score, 4) for name, score in scores.items() if score is not None}
    for row, metadata in ((hit.row_name or hit.row, hit.metadata), *repeats):
        record: dict[str, object] = {"rank": hit.rank, "row": row, "score": round(hit.score, 4), "sentence": hit.sentence}
        record |= {"passage": hit.sentence[slice(*hit.passage)]} if hit.passage else {}
        record |= {"copies": hit.copies} if hit.copies else {}
        record |= rounded
        yield record | dict(zip(free_names(metadata, {*record, "passage"}), metadata.values(), strict=True))


def _hits(result: SearchResult, judged: Mapping[int, int], other: SearchResult | None = None) -> Markup:
    """Cards; `other`: another search, to show how each hit's rank differs there."""
    words = frozenset(tokenize(result.query))
    ranks = None if other is None else {hit.sentence: hit.rank for hit in other.hits}
    first_weak = _first_weak(result)
    cards = []
    for hit in result.hits:
        if hit.rank == first_weak:
            line = Markup('<li class="weak"><span>{} {}</span></li>')
            why = html.info(WHY_WEAK.format(result.weak), "Why these are weak")
            cards.append(line.format(ALL_WEAK if first_weak == 1 else WEAK, why))
        there = ranks and ranks.get(hit.sentence)
        text = "only here" if there is None else "same rank" if there == hit.rank else f"rank {there} there"
        moved = Markup('<span class="moved">{}</span>').format(text) if ranks else ""
        cards.append(card(hit, words, moved, judged.get(hit.row)))
    return Markup('<ol class="hits">{}</ol>').format(Markup().join(cards))


def _first_weak(result: SearchResult) -> int:
    """The rank from which all hits are weak by their cosine, 0 for none. Where something else judges them it is 1 or 0."""
    first = 1 + max((hit.rank for hit in result.hits if hit.score >= result.weak), default=0)
    other_judge = result.ranking == WORDS or result.hits[0].cross_score is not None
    return 0 if first > 1 and (other_judge or first > len(result.hits)) else first


def judged_so_far(judgements: Judgements) -> Markup:
    """How many hits of how many queries are judged; nothing without any."""
    number, queries = len(judgements.grades), len({query for query, _ in judgements.grades})
    text = f"{amount(number, 'hit')} of {amount(queries, 'query', 'queries')} judged. {USE}"
    return html.hint(text) if number else Markup()


def missed(miss: Miss) -> Markup:
    """Why a row is not among the hits: the reason in one sentence, its text, a table of ranks, and what else is known."""
    parts = [Markup('<p class="standing-reason">{}</p>').format(miss.in_words)]
    if not miss.in_corpus:
        parts.insert(0, Markup("<p>{}</p>").format(f"The corpus holds no such text; the most similar row is {miss.row:,}."))
    if miss.sentence:
        text = html.short(miss.sentence, TEXT_LENGTH)
        parts.append(Markup('<p class="standing-text" dir="auto"><span>row {}</span> {}</p>').format(f"{miss.row:,}", text))
    if miss.standings:
        among = f"rank of {miss.of:,}{' without what hides it' if miss.filters else ''}"
        parts.append(html.table(["ranked", among, "score"], [_standing(standing) for standing in miss.standings]))
    return Markup('<div class="standing" role="status">{}{}</div>').format(Markup().join(parts), html.notes(_notes(miss)))


def _standing(standing: Standing) -> list[str]:
    rank = "–" if standing.rank is None else f"{standing.rank:,}"
    score = "" if standing.score is None else f"{standing.score:.3f}"
    return [WAYS[standing.way], rank, " · ".join(filter(None, [score, standing.note]))]


def _notes(miss: Miss) -> Iterator[str]:
    words = miss.words
    if words.shared or words.lacking:
        has, lacks = (quoted(group) or "none" for group in (words.shared, words.lacking))
        yield f"Words of the query that the row has: {has}. That it lacks: {lacks}."
    for word, meant in words.typos.items():
        yield f"No row has “{word}”; “{meant}” occurs."
    if miss.read < miss.length and miss.reason != CUT:
        yield f"The model reads the first {miss.read:,} of its {miss.length:,} characters."
