"""Render the comparison of two lists: summary, and the closest pairs as a table."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from sbert_app.services.similarity import ListComparison
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, pictures, present, row
from sbert_app.wording import plural, rounded

SHOWN_PAIRS = 100
HEAT_MAP, PAIRS = "heat-map", "pairs"  # the elements of the chart and of the table


def summary(result: ListComparison, records: Sequence[Mapping[str, object]], model: str) -> Markup:
    """Number of pairs, time, and downloads, also of the heat map."""
    count = result.scores.size
    text = f"{count:,} {plural(count, 'pair', 'pairs')} in {result.milliseconds:.1f} ms"
    if count > SHOWN_PAIRS:
        text += f" · the closest {SHOWN_PAIRS} are listed, {len(records):,} are in the download"
    caption = Caption.of("Cosine of every sentence of one list with every sentence of the other", model)
    links = row(caption, [HEAT_MAP, PAIRS], present(), pictures(HEAT_MAP, "sbert-studio-heat-map"))
    return html.head(text, html.downloads("pairs", records)) + links


def pair_table(records: Sequence[Mapping[str, object]]) -> Markup:
    """A table of the closest pairs, at most SHOWN_PAIRS."""
    rows = [(str(r["rank"]), f"{r['score']:.4f}", str(r["sentence1"]), str(r["sentence2"])) for r in records[:SHOWN_PAIRS]]
    return Markup('<div class="pairs" tabindex="0">{}</div>').format(html.table(("#", "Score", "First list", "Second list"), rows))


def pair_records(result: ListComparison, count: int) -> list[dict[str, object]]:
    """The closest pairs as records."""
    pairs = enumerate(result.best(count), 1)
    return [{"rank": rank, "score": float(rounded(score, 4)), "sentence1": s1, "sentence2": s2} for rank, (score, s1, s2) in pairs]
