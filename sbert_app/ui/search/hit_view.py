"""Render one hit: its score, its text with what matched marked, which words met, its metadata."""

import re
from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.corpus.hits import Hit
from sbert_app.corpus.ranking.lexical import STOP_WORDS, WORD
from sbert_app.explain.words import FUNCTION_WORDS
from sbert_app.jobs.search.open_corpus import GRADES
from sbert_app.ui.kit import html
from sbert_app.wording import plural, row_text

METADATA_SHOWN = 3
METADATA_LENGTH = 80
LONG = 280  # characters that fill three lines; a longer sentence can be unfolded
EXCERPT = 600  # characters of a folded text that begins in the middle
LEAST_SHARE = 0.2  # of the strongest match's share of the score: weaker matches are not marked
LEAST_SIMILARITY = 0.3  # of two words in their sentences; below it they do not mean the same

Mark = tuple[int, int, float]  # first character, last + 1, strength 0..1

_MARK = Markup('<mark style="--w:{:.2f}">{}</mark>')
_WHOLE = Markup('{}<span class="passage">{}</span>{}')
_GRADE = Markup('<button type="button" data-judge="{}" data-of="{}" aria-pressed="{}">{}</button>')  # hidden until hits are judged


def card(hit: Hit, words: frozenset[str], moved: str | Markup, grade: int | None = None) -> Markup:
    """A hit. words: the query's, marked unless it was compared token by token; grade: how it was judged, None for not at all."""
    bars = Markup("<small>{}</small>{}").format("cosine", html.bar(hit.score, label=f"cosine {hit.score:.3f}"))
    if hit.cross_score is not None:
        bars += Markup('<div class="cross">{:.3f}</div><small>cross-encoder</small>').format(hit.cross_score)
        if hit.cross_share is not None:
            bars += html.bar(hit.cross_share, "cross", f"cross-encoder {hit.cross_score:.3f}")
    grades = (_GRADE.format(value, hit.row, "true" if value == grade else "false", name) for value, name in GRADES.items())
    return Markup(
        '<li class="hit"><div class="hit-score"><b>{score:.3f}</b> {bars}{moved}</div>'
        '<div class="hit-body">{sentence}{same}{why}<ul class="chips">{chips}</ul>'
        '<div class="judge" role="group" aria-label="Row {place} answers my query"><span>Answers my query:</span>{grades}</div>'
        '</div><button type="button" class="more" '
        'data-row="{row}"{passage} aria-label="More like this: row {place}">More like this</button></li>'
    ).format(
        score=hit.score, bars=bars, moved=moved, sentence=_sentence(hit, words), same=_same(hit), why=_matched_words(hit),
        chips=_metadata(hit), grades=Markup().join(grades), row=hit.row, place=hit.place,
        passage=Markup(' data-passage="{}"').format(hit.passage[0]) if hit.passage else "",
    )  # fmt: skip


def _same(hit: Hit) -> Markup:
    if not hit.copies:
        return Markup()
    rows = ", ".join(map(row_text, hit.copy_rows))
    more = f" … and {hit.copies - len(hit.copy_rows):,} more" if hit.copies > len(hit.copy_rows) else ""
    return Markup('<p class="same">The same text in {} {}{}</p>').format(plural(hit.copies, "row", "rows"), rows, more)


def _sentence(hit: Hit, words: frozenset[str]) -> Markup:
    """The sentence with what matched marked and its title in bold; a long one is folded to three lines."""
    marks, end = _marks(hit, words), len(hit.title)
    title = Markup("<strong>{}</strong>").format(_marked(hit.sentence, marks, 0, end)) if end else Markup()
    first, last = (max(end, place) for place in hit.passage or (end, end))
    parts = [_marked(hit.sentence, marks, *span) for span in ((end, first), (first, last), (last, len(hit.sentence)))]
    whole = title + _WHOLE.format(*parts) if hit.passage else title + parts[2]
    paragraph = Markup('<p dir="auto">{}</p>').format(whole)
    if len(hit.sentence) <= LONG:
        return paragraph
    start, _ = hit.best or hit.passage or (0, 0)  # the sentence that matches best, known where tokens were compared, or passage
    if start <= max(end, LONG // 2):
        return paragraph + _unfold("more")
    excerpt = _marked(hit.sentence, marks, start, min(len(hit.sentence), start + EXCERPT))
    folded = Markup('<p class="excerpt" dir="auto">{}… {}</p><p class="whole" dir="auto">{}</p>')
    title = Markup("<strong>{}</strong> ").format(hit.title) if end else Markup()
    return folded.format(title, excerpt, whole) + _unfold("whole text")


def _marks(hit: Hit, words: frozenset[str]) -> list[Mark]:
    """What to mark: the words that met, as strong as their share of the score; or else the query's own words."""
    if not hit.matches:
        return [(*match.span(), 1.0) for match in re.finditer(WORD, hit.sentence) if match[0].lower() in words]
    strongest = max(match.weight * match.similarity for match in hit.matches)
    shares: dict[tuple[int, int], float] = {}
    for match in hit.matches:
        share = match.weight * match.similarity / max(strongest, 1e-9)
        telling = WORD.search(match.word) and match.word.lower() not in STOP_WORDS | FUNCTION_WORDS
        if telling and share >= LEAST_SHARE and match.similarity >= LEAST_SIMILARITY:
            shares[match.start, match.end] = max(share, shares.get((match.start, match.end), 0.0))
    return [(start, end, share) for (start, end), share in sorted(shares.items())]


def _marked(text: str, marks: Sequence[Mark], start: int, end: int) -> Markup:
    """The characters from start to end, with the marks that begin among them."""
    pieces = []
    for first, last, share in marks:
        if start <= first < end:
            pieces += [Markup.escape(text[start:first]), _MARK.format(share, text[first : min(last, end)])]
            start = min(last, end)
    return Markup().join([*pieces, Markup.escape(text[start:end])])


def _matched_words(hit: Hit) -> Markup:
    """Behind a click: every word of the query with the word that it met, and all scores of the hit."""
    if not hit.matches:
        return Markup()
    rows = [[m.query_word, m.word, f"{m.similarity:.2f}", f"{100 * m.weight:.0f} %"] for m in hit.matches]
    scores = {"cosine": hit.score, "MaxSim": hit.maxsim, "BM25": hit.bm25}
    numbers = " · ".join(f"{name} {value:.3f}" for name, value in scores.items() if value is not None)
    about = "Similarity: cosine of the two words in their sentences. Weight: by how rare the word is in this corpus."
    table = html.table(["of your query", "here", "similarity", "weight"], rows)
    fold = Markup('<details class="met"><summary aria-label="Which words match: row {}">Which words match</summary>{}{}</details>')
    return fold.format(hit.place, table, html.hint(f"{numbers}. {about}"))


def _metadata(hit: Hit) -> Markup:
    """Row number and metadata; what is beyond the first METADATA_SHOWN is folded, unless it is one alone."""
    facts = [("row", hit.place), *(item for item in hit.metadata.items() if item[1])]
    shown, folded = Markup("<li><span>{}</span> {}</li>"), Markup('<li class="folded"><span>{}</span> {}</li>')
    hidden = len(facts) - METADATA_SHOWN - 1
    kinds = [shown] * (METADATA_SHOWN + 1) + [folded if hidden > 1 else shown] * len(facts)
    items = [kind.format(key, html.short(value, METADATA_LENGTH)) for kind, (key, value) in zip(kinds, facts, strict=False)]
    if hidden > 1:
        items.append(Markup('<li class="rest">{}</li>').format(_unfold(f"+{hidden}")))
    return Markup().join(items)


def _unfold(closed: str) -> Markup:
    """A button of a card that shows what is folded; assets/page.js listens."""
    return Markup(
        '<button type="button" class="unfold" data-unfold aria-expanded="false"><span class="when-closed">{}</span>'
        '<span class="when-open">less</span></button>'
    ).format(closed)
