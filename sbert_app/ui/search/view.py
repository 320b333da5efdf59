"""Render search hits."""

from html import escape

from sbert_app.corpus.indexed import FUSION
from sbert_app.services.search import Hit, SearchResult
from sbert_app.ui.kit import html

FUSED = " · ranked by meaning and keywords; the score is the cosine only"
NO_QUERY = "Type what you are looking for, in any words, and press Enter."
METADATA_SHOWN = 6
METADATA_LENGTH = 80


def results(result: SearchResult) -> str:
    """The hits as cards with score bars, metadata, and a button “More like this”."""
    if not result.hits:
        return html.empty("No sentence matches the filters. Relax them to see hits.")
    records = [hit_record(hit) for hit in result.hits]
    head = (
        f'<div class="hits-head" role="status"><span>{len(result.hits):,} of {result.searched:,} · '
        f"{html.milliseconds(result.milliseconds)}{FUSED if FUSION in result.milliseconds else ''}</span>"
        f"{html.downloads('hits', records)}</div>"
    )
    return f'{head}<ol class="hits">{"".join(_card(hit) for hit in result.hits)}</ol>'


def hit_record(hit: Hit) -> dict[str, object]:
    """A hit as a flat record for export; metadata columns keep their names unless they clash."""
    record: dict[str, object] = {"rank": hit.rank, "row": hit.row, "score": round(hit.score, 4), "sentence": hit.sentence}
    if hit.cross_score is not None:
        record["cross_encoder_score"] = round(hit.cross_score, 4)
    return record | {(f"{key}_" if key in record else key): value for key, value in hit.metadata.items()}


def _card(hit: Hit) -> str:
    chips = "".join(
        f"<li><span>{escape(key)}</span> {escape(html.short(value, METADATA_LENGTH))}</li>"
        for key, value in list(hit.metadata.items())[:METADATA_SHOWN]
        if value
    )
    cross = hit.cross_score
    bar = "" if cross is None else f'<div class="cross">{cross:.3f}</div>{html.bar(cross, "cross", f"cross-encoder {cross:.3f}")}'
    score = f'<div class="hit-score"><b>{hit.score:.3f}</b>{html.bar(hit.score, label=f"score {hit.score:.3f}")}{bar}</div>'
    body = f'<p dir="auto">{escape(hit.sentence)}</p><ul class="chips"><li><span>row</span> {hit.row:,}</li>{chips}</ul>'
    label = f"More like this: row {hit.row}"
    more = f'<button type="button" class="more" data-row="{hit.row}" aria-label="{label}">More like this</button>'
    return f'<li class="hit">{score}<div class="hit-body">{body}</div>{more}</li>'
