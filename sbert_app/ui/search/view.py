"""Render search hits."""

from markupsafe import Markup

from sbert_app.corpus.indexed import FUSION
from sbert_app.services.search import Hit, SearchResult
from sbert_app.ui.kit import html

FUSED = " · ranked by meaning and keywords; the score is the cosine only"
NO_QUERY = "Type what you are looking for, in any words, and press Enter."
METADATA_SHOWN = 6
METADATA_LENGTH = 80


def results(result: SearchResult) -> Markup:
    """The hits as cards with score bars, metadata, and a button “More like this”."""
    if not result.hits:
        return html.empty("No sentence matches the filters. Relax them to see hits.")
    records = [hit_record(hit) for hit in result.hits]
    times = html.milliseconds(result.milliseconds) + (FUSED if FUSION in result.milliseconds else "")
    head = html.head(f"{len(result.hits):,} of {result.searched:,} · {times}", html.downloads("hits", records))
    return head + Markup('<ol class="hits">{}</ol>').format(Markup().join(map(_card, result.hits)))


def hit_record(hit: Hit) -> dict[str, object]:
    """A hit as a flat record for export; metadata columns keep their names unless they clash."""
    record: dict[str, object] = {"rank": hit.rank, "row": hit.row, "score": round(hit.score, 4), "sentence": hit.sentence}
    if hit.cross_score is not None:
        record["cross_encoder_score"] = round(hit.cross_score, 4)
    return record | {(f"{key}_" if key in record else key): value for key, value in hit.metadata.items()}


def _card(hit: Hit) -> Markup:
    facts = [("row", f"{hit.row:,}"), *(item for item in list(hit.metadata.items())[:METADATA_SHOWN] if item[1])]
    chips = (Markup("<li><span>{}</span> {}</li>").format(key, html.short(value, METADATA_LENGTH)) for key, value in facts)
    bars = html.bar(hit.score, label=f"score {hit.score:.3f}")
    if hit.cross_score is not None:
        bars += Markup('<div class="cross">{:.3f}</div>').format(hit.cross_score)
        bars += html.bar(hit.cross_score, "cross", f"cross-encoder {hit.cross_score:.3f}")
    return Markup(
        '<li class="hit"><div class="hit-score"><b>{score:.3f}</b>{bars}</div>'
        '<div class="hit-body"><p dir="auto">{sentence}</p><ul class="chips">{chips}</ul></div><button type="button" class="more" '
        'data-row="{row}" aria-label="More like this: row {row}">More like this</button></li>'
    ).format(score=hit.score, bars=bars, sentence=hit.sentence, chips=Markup().join(chips), row=hit.row)
