"""Render the text around the map: clusters, selection, quality measures."""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.projecting import Points2D
from sbert_app.corpus_map.result import CorpusMap, QueryOnMap
from sbert_app.mapping.quality import OUTLIER, SAMPLE
from sbert_app.ui.kit import html
from sbert_app.ui.map.palette import GREY, PALETTE
from sbert_app.wording import plural

HOW_TO = (
    "Hover to read a sentence, click it for its neighbours, draw a lasso to list points, double-click to show all again. "
    "Near points are similar; distances between clusters and their sizes on the map mean little."
)
PREVIEW = '<p class="stage">Preview: the first two principal components. Draw the map to see named clusters.</p>'
NOTHING_CHOSEN = "Click a point, draw a lasso, or choose a cluster to list sentences here."
EXAMPLE = "support_tickets.csv"
SHOWN_ROWS = 200
SAVED_IN_PAGE = 2_000  # rows; a larger selection has no download links
SENTENCE_LENGTH = 90
NAME_LENGTH = 60
METADATA_SHOWN = 4
METADATA_LENGTH = 40


def corpus_line(indexed: IndexedCorpus | None = None) -> str:
    """The corpus that will be drawn; None means the example."""
    corpus = f"<b>{EXAMPLE}</b>, the example"
    if indexed is not None:
        rows = len(indexed.corpus)
        corpus = f"<b>{escape(indexed.corpus.name)}</b>: {rows:,} {plural(rows, 'sentence', 'sentences')}, {escape(indexed.model)}"
    return f'<p class="stage" role="status">{corpus}. Open another corpus in the Search tab.</p>'


def stage(step: Points2D) -> str:
    return html.progress(step.done, step.total, f"{step.stage} …", "Drawing the map")


def summary(corpus_map: CorpusMap) -> str:
    """What was drawn, how, and how long it took."""
    projection, clustering = corpus_map.projection, corpus_map.clustering
    total = sum(corpus_map.seconds.values())
    stages = " · ".join(f"{name} {seconds:.2f} s" for name, seconds in corpus_map.seconds.items())
    outliers = f", {clustering.outliers:,} {plural(clustering.outliers, 'outlier', 'outliers')}" if clustering.outliers else ""
    count = f"{clustering.count} {plural(clustering.count, 'cluster', 'clusters')}"
    head = (
        f"<b>{len(projection.points):,}</b> {plural(len(projection.points), 'sentence', 'sentences')} in <b>{count}</b>{outliers}, "
        f"{total:.1f} s ({stages})"
    )
    how = f"Points: {projection.method}. Clusters: {clustering.method} on the map; {clustering.how}."
    return (
        f'<div class="map-summary" role="status"><p>{head}</p><p class="hint">{escape(how)}</p>{html.notes(projection.notes)}</div>'
    )


def status(title: str = "", detail: str = "") -> str:
    """The line above the map: the selection with a link to its list; without one, how to select."""
    if not title:
        return f'<p class="hint" role="status">{HOW_TO}</p>'
    more = f": {escape(html.short(detail, 110))}" if detail else ""
    return f'<p class="stage" role="status"><b>{escape(title)}</b>{more} <a href="#map-selection">listed below the map</a></p>'


def cluster_list(corpus_map: CorpusMap, chosen: int | None = None) -> str:
    """Clusters as buttons with colour, name, size, silhouette and most central sentence; the chosen one is marked."""
    largest = int(corpus_map.clustering.sizes.max(initial=1))
    rows = [_cluster(corpus_map, number, largest, number == chosen) for number in range(corpus_map.clustering.count)]
    if corpus_map.clustering.outliers:
        size, pressed = corpus_map.clustering.outliers, "true" if chosen == OUTLIER else "false"
        rows.append(
            f'<li><button type="button" data-cluster="{OUTLIER}" aria-pressed="{pressed}"><i style="background:{GREY}"></i>'
            f"<b>outliers</b>"
            f"<span>{size:,}</span></button></li>"
        )
    return f'<ul class="clusters" aria-label="Clusters">{"".join(rows)}</ul>'


def _cluster(corpus_map: CorpusMap, number: int, largest: int, chosen: bool) -> str:
    size = int(corpus_map.clustering.sizes[number])
    silhouette = corpus_map.silhouettes.get(number)
    quality = f" · silhouette {silhouette:.2f}" if silhouette is not None else ""
    sentence = html.short(corpus_map.projection.indexed.corpus.sentences[corpus_map.central[number]], SENTENCE_LENGTH)
    colour = PALETTE[number % len(PALETTE)]
    return (
        f'<li><button type="button" data-cluster="{number}" aria-pressed="{"true" if chosen else "false"}">'
        f'<i style="background:{colour}"></i><b>{escape(html.short(corpus_map.names[number], NAME_LENGTH))}</b>'
        f"<span>{size:,}{quality}</span>"
        f'<em style="width:{100 * size / largest:.1f}%;background:{colour}"></em>'
        f'<q dir="auto">{escape(sentence)}</q></button></li>'
    )


def cluster_choices(corpus_map: CorpusMap) -> list[tuple[str, int]]:
    """Choices for the drop-down: name and size of each cluster."""
    sizes = corpus_map.clustering.sizes
    named = [(f"{html.short(name, NAME_LENGTH)} ({sizes[number]:,})", number) for number, name in enumerate(corpus_map.names)]
    return [*named, *([(f"outliers ({corpus_map.clustering.outliers:,})", OUTLIER)] if corpus_map.clustering.outliers else [])]


def selection(
    corpus_map: CorpusMap,
    rows: NDArray[np.int64],
    title: str,
    scores: NDArray[np.floating] | None = None,
    words: Sequence[str] = (),
) -> str:
    """Rows (k,) as a table. scores (k,): cosines, for neighbours and hits; words: the rows' distinctive words."""
    if not len(rows):
        return html.empty(NOTHING_CHOSEN)
    listed = rows if len(rows) <= SAVED_IN_PAGE else rows[:SHOWN_ROWS]
    records = corpus_map.records(listed)
    if scores is not None:
        records = [{"score": round(float(score), 4), **record} for score, record in zip(scores, records, strict=True)]
    about = f'<p class="hint">Distinctive words: <b>{escape(", ".join(words))}</b></p>' if words else ""
    save = html.downloads("selection", records) if len(rows) <= SAVED_IN_PAGE else ""
    more = f'<p class="hint">The first {SHOWN_ROWS:,} of {len(rows):,}.</p>' if len(rows) > SHOWN_ROWS else ""
    head = f'<div class="hits-head" role="status"><span><b>{escape(title)}</b></span>{save}</div>'
    table = _table(records[:SHOWN_ROWS], scores is not None)
    region = f'<div class="selection scroll" role="region" aria-label="Chosen sentences" tabindex="0">{table}</div>'
    return f"{head}{about}{region}{more}"


def _table(records: Sequence[dict[str, object]], scored: bool) -> str:
    columns = [key for key in records[0] if key not in ("row", "sentence", "cluster", "map_x", "map_y", "score")][:METADATA_SHOWN]
    header = [*(["cosine"] if scored else []), "row", "sentence", "cluster", *columns]
    rows = []
    for record in records:
        score = [f"<b>{record['score']:.3f}</b>"] if scored else []
        extra = [f"<small>{escape(html.short(str(record[key]), METADATA_LENGTH))}</small>" for key in columns]
        sentence = f'<span dir="auto">{escape(str(record["sentence"]))}</span>'
        rows.append([*score, f"<b>{record['row']:,}</b>", sentence, escape(str(record["cluster"])), *extra])
    return html.table(header, rows)


def numbers(corpus_map: CorpusMap) -> str:
    """Silhouette, and agreement of the clusters with the corpus's label columns."""
    lines = []
    if corpus_map.silhouette is not None:
        sample = min(SAMPLE, len(corpus_map.projection.points))
        lines.append(
            f"Silhouette {corpus_map.silhouette:.3f} (−1 to 1, by cosine between the embeddings of {sample:,} rows; on the map it "
            "would be too optimistic). Sentences rarely exceed 0.2."
        )
    if not corpus_map.accords:
        lines.append("The corpus has no label column (2 to 100 different values) to compare the clusters with.")
        return html.notes(lines)
    rows = [
        [escape(accord.column), f"{accord.values:,}", f"{accord.purity:.3f}", f"{accord.ari:.3f}", f"{accord.nmi:.3f}"]
        for accord in corpus_map.accords
    ]
    table = html.table(["column", "values", "purity", "ARI", "NMI"], rows)
    lines.append(
        "ARI is 0 by chance and 1 for the same groups; NMI is 1 for the same groups; purity grows with the number of clusters."
    )
    return f'<div class="measures numbers-map">{table}</div>{html.notes(lines)}'


def hovered(corpus_map: CorpusMap, row: int) -> str:
    """The sentence under the pointer, for plots that do not hold the sentences."""
    return f'<p class="under-pointer" dir="auto">{escape(html.short(corpus_map.projection.indexed.corpus.sentences[row], 300))}</p>'


def query_title(query: QueryOnMap) -> str:
    return f"Nearest to “{html.short(query.query, 60)}” ({query.milliseconds:.0f} ms; the star marks its position)"


def model_comparison(corpus_map: CorpusMap) -> str:
    """How neighbours and same-label shares change under the other model."""
    if corpus_map.comparison is None:
        return ""
    kept = corpus_map.comparison.drift.kept
    lines = [
        f"{100 * float(kept.mean()):.0f} % of each row's 10 nearest rows stay the same under {corpus_map.comparison.model}; "
        f"{100 * float((kept == 1).mean()):.0f} % of the rows keep all of them. Colour by “Drift” to see which rows changed.",
        "The second map starts from the first and is aligned to it. Small moves are chance, as a second run of the same model "
        "shows: the drift counts neighbours, not distances on the map.",
    ]
    if kept.min() == 1:
        return html.notes(["All rows have the same neighbours under this model: moves on the map are chance.", *lines[1:]])
    if not corpus_map.comparison.same_label:
        return html.notes(lines)
    rows = [
        [escape(column), f"{100 * before:.1f} %", f"{100 * after:.1f} %", f"{100 * (after - before):+.1f} points"]
        for column, (before, after) in corpus_map.comparison.same_label.items()
    ]
    table = html.table(["nearest rows with the same", corpus_map.model, corpus_map.comparison.model, "change"], rows)
    return f'<div class="measures numbers-map">{table}</div>{html.notes(lines)}'
