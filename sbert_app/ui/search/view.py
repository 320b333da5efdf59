"""Render search hits."""

import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from sbert_app.corpus.indexed import FUSION, WORDS
from sbert_app.corpus.lexical import WORD, tokenize
from sbert_app.services.search import Hit, SearchResult
from sbert_app.ui.kit import html
from sbert_app.wording import plural

NO_QUERY = "Type what you are looking for, in any words, and press Enter."
NO_HITS = "No row fits the filters. Remove one to see hits."
NO_WORDS = "Nothing beside the hits: word search needs a word of the query, and no row holds one."
WEAK, ALL_WEAK = "Weak matches from here on", "No strong match: even the best are weak"
METADATA_SHOWN = 3
METADATA_LENGTH = 80
LONG = 280  # characters that fill three lines; a longer sentence can be unfolded


def results(result: SearchResult, other: SearchResult | None = None) -> Markup:
    """The hits as cards, beside those of another search if there is one. An attribute holds the query, for the page's address."""
    query = Markup('<div data-query="{}">{}</div>')
    if not result.hits:
        return query.format(result.query, html.empty(NO_HITS))
    records = [hit_record(hit) for hit in result.hits]
    total = f"{_amount(result)} in {sum(result.milliseconds.values()):,.0f} ms{_ranked_by(result)}"
    facts = Markup("{} {}").format(total, html.info(html.milliseconds(result.milliseconds)))
    head = html.head(facts, html.downloads("hits", records))
    if other is None:
        return query.format(result.query, head + _hits(result))
    if not other.hits:
        return query.format(result.query, html.empty(NO_WORDS) + head + _hits(result))
    sections = (
        Markup("<section><h3>{}</h3>{}</section>").format(_title(side), _hits(side, against))
        for side, against in ((result, other), (other, result))
    )
    return query.format(result.query, head + Markup('<div class="beside">{}</div>').format(Markup().join(sections)))


def _title(result: SearchResult) -> str:
    return "By words (BM25)" if WORDS in result.milliseconds else f"By meaning, {result.model}"


def chips(active: Mapping[str, str]) -> Markup:
    """The filters and options in force, each with a button that removes it."""
    button = Markup(
        '<button type="button" class="chip" data-filter="{}" aria-label="Remove: {}">{} <i aria-hidden="true">×</i></button>'
    )
    return Markup().join(button.format(name, label, label) for name, label in active.items())


def _amount(result: SearchResult) -> str:
    shown, fitting, all_rows = (f"{number:,}" for number in (len(result.hits), result.fitting, result.searched))
    return f"{shown} of {all_rows}" if result.fitting == result.searched else f"{shown} of {fitting} that fit ({all_rows} in all)"


def _ranked_by(result: SearchResult) -> str:
    """What decides the order, where it is not the score in front."""
    if result.hits[0].cross_score is not None:
        return " · ranked by the cross-encoder, the number below"
    return " · ranked by meaning and keywords; the score is the cosine only" if FUSION in result.milliseconds else ""


def hit_record(hit: Hit) -> dict[str, object]:
    """A hit as a flat record for export; metadata columns keep their names unless they clash."""
    record: dict[str, object] = {"rank": hit.rank, "row": hit.row, "score": round(hit.score, 4), "sentence": hit.sentence}
    if hit.cross_score is not None:
        record["cross_encoder_score"] = round(hit.cross_score, 4)
    return record | {(f"{key}_" if key in record else key): value for key, value in hit.metadata.items()}


def _hits(result: SearchResult, other: SearchResult | None = None) -> Markup:
    """Cards, those of one text as one; `other`: another search, to show how each hit's rank differs there."""
    words = frozenset(tokenize(result.query))
    ranks = None if other is None else {hit.row: hit.rank for hit in other.hits}
    same_text: dict[str, list[Hit]] = {}
    for hit in result.hits:
        same_text.setdefault(hit.sentence, []).append(hit)
    first_weak = next((hit.rank for hit in result.hits if hit.score < result.weak), 0) if _by_cosine(result) else 0
    cards = []
    for hit, *copies in same_text.values():
        if hit.rank == first_weak:
            cards.append(_weak(first_weak, result.weak))
        cards.append(_card(hit, copies, words, "" if ranks is None else _moved(hit.rank, ranks.get(hit.row))))
    return Markup('<ol class="hits">{}</ol>').format(Markup().join(cards))


def _by_cosine(result: SearchResult) -> bool:
    """Whether the cosine alone decides the order."""
    return result.hits[0].cross_score is None and not {FUSION, WORDS} & result.milliseconds.keys()


def _weak(rank: int, score: float) -> Markup:
    """The line above the first weak hit."""
    why = f"With this model, 19 of 20 pairs written to be related have a cosine above {score:.2f}; these hits are below it."
    line = Markup('<li class="weak"><span>{} {}</span></li>')
    return line.format(ALL_WEAK if rank == 1 else WEAK, html.info(why))


def _moved(rank: int, other: int | None) -> Markup:
    text = "only here" if other is None else "same rank" if other == rank else f"rank {other} there"
    return Markup('<span class="moved">{}</span>').format(text)


def _card(hit: Hit, copies: Sequence[Hit], words: frozenset[str], moved: str | Markup) -> Markup:
    """A hit. copies: later hits with the same text."""
    bars = Markup("<small>{}</small>{}").format("cosine", html.bar(hit.score, label=f"cosine {hit.score:.3f}"))
    if hit.cross_score is not None:
        bars += Markup('<div class="cross">{:.3f}</div><small>cross-encoder</small>').format(hit.cross_score)
        bars += html.bar(hit.cross_score, "cross", f"cross-encoder {hit.cross_score:.3f}")
    return Markup(
        '<li class="hit"><div class="hit-score"><b>{score:.3f}</b>{bars}{moved}</div>'
        '<div class="hit-body">{sentence}{same}<ul class="chips">{chips}</ul></div><button type="button" class="more" '
        'data-row="{row}" aria-label="More like this: row {row}">More like this</button></li>'
    ).format(
        score=hit.score,
        bars=bars,
        moved=moved,
        sentence=_sentence(hit, words),
        same=_same(copies),
        chips=_metadata(hit),
        row=hit.row,
    )


def _same(copies: Sequence[Hit]) -> Markup:
    if not copies:
        return Markup()
    rows = ", ".join(f"{copy.row:,}" for copy in copies)
    return Markup('<p class="same">The same text in {} {}</p>').format(plural(len(copies), "row", "rows"), rows)


def _sentence(hit: Hit, words: frozenset[str]) -> Markup:
    """The sentence with the query's words marked and its title in bold; a long one is cut to three lines until unfolded."""
    title, rest = hit.sentence[: len(hit.title)], hit.sentence[len(hit.title) :]
    bold = Markup("<strong>{}</strong>").format(_marked(title, words)) if title else Markup()
    text = Markup('<p dir="auto">{}{}</p>').format(bold, _marked(rest, words))
    return text + (_unfold("more", "less") if len(hit.sentence) > LONG else Markup())


def _marked(text: str, words: frozenset[str]) -> Markup:
    """The text with these lower-cased words marked."""
    pieces, end = [], 0
    for match in re.finditer(WORD, text):
        if match[0].lower() in words:
            pieces += [Markup.escape(text[end : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
            end = match.end()
    return Markup().join([*pieces, Markup.escape(text[end:])])


def _metadata(hit: Hit) -> Markup:
    """Row number and metadata; what is beyond the first METADATA_SHOWN is folded."""
    facts = [("row", f"{hit.row:,}"), *(item for item in hit.metadata.items() if item[1])]
    item = Markup("<li{}><span>{}</span> {}</li>")
    folded = Markup(' class="folded"')
    items = [
        item.format(folded if position > METADATA_SHOWN else "", key, html.short(value, METADATA_LENGTH))
        for position, (key, value) in enumerate(facts)
    ]
    hidden = len(facts) - METADATA_SHOWN - 1
    if hidden > 0:
        items.append(Markup('<li class="rest">{}</li>').format(_unfold(f"+{hidden}", "less")))
    return Markup().join(items)


def _unfold(closed: str, opened: str) -> Markup:
    """A button of a card that shows what is folded; assets/page.js listens."""
    return Markup(
        '<button type="button" class="unfold" data-unfold aria-expanded="false"><span class="when-closed">{}</span>'
        '<span class="when-open">{}</span></button>'
    ).format(closed, opened)
