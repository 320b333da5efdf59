"""Render the text around the map: clusters, selection, quality measures."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.projecting import Points2D
from sbert_app.corpus_map.result import CorpusMap, QueryOnMap
from sbert_app.mapping.quality import OUTLIER, SAMPLE
from sbert_app.ui.kit import html
from sbert_app.ui.map.palette import GREY, PALETTE
from sbert_app.vectors import Vectors
from sbert_app.wording import plural

HOW_TO = "Hover to read a sentence, click it for its neighbours, draw a lasso to list points, double-click to show all again."
NEAR = "Near points are similar; distances between clusters and their sizes on the map mean little."
PREVIEW = Markup('<p class="stage">Preview: the first two principal components. Draw the map to see named clusters.</p>')
NOTHING_CHOSEN = "Click a point, draw a lasso, or choose a cluster to list sentences here."
EXAMPLE = "support_tickets.csv"
SHOWN_ROWS = 200
SAVED_IN_PAGE = 2_000  # rows; a larger selection has no download links
SENTENCE_LENGTH = 90
NAME_LENGTH = 60
METADATA_SHOWN = 4
METADATA_LENGTH = 40
BUTTON = Markup(
    '<li><button type="button" data-cluster="{}" aria-pressed="{}"><i style="background:{}"></i><b>{}</b><span>{}</span>{}'
    "</button></li>"
)


def corpus_line(indexed: IndexedCorpus | None = None) -> Markup:
    """The corpus that will be drawn; None means the example."""
    name, facts = EXAMPLE, ", the example"
    if indexed is not None:
        rows = len(indexed.corpus)
        name, facts = indexed.corpus.name, f": {rows:,} {plural(rows, 'sentence', 'sentences')}, {indexed.model}"
    return html.status(Markup("<b>{}</b>{}. Open another one under “Corpus”, at the top.").format(name, facts))


def stage(step: Points2D) -> Markup:
    return html.progress(step.done, step.total, f"{step.stage} …", "Drawing the map")


def summary(corpus_map: CorpusMap) -> Markup:
    """What was drawn; folded: how to read it, how it was made, and the time of each step."""
    projection, clustering = corpus_map.projection, corpus_map.clustering
    total = sum(corpus_map.seconds.values())
    stages = " · ".join(f"{name} {seconds:.2f} s" for name, seconds in corpus_map.seconds.items())
    outliers = f", {clustering.outliers:,} {plural(clustering.outliers, 'outlier', 'outliers')}" if clustering.outliers else ""
    count, clusters = len(projection.points), f"{clustering.count} {plural(clustering.count, 'cluster', 'clusters')}"
    head = Markup("<b>{:,}</b> {} in <b>{}</b>{}, drawn in {:.1f} s").format(
        count, plural(count, "sentence", "sentences"), clusters, outliers, total
    )
    how = f"Points: {projection.method}. Clusters: {clustering.method} on the map; {clustering.how}. Time: {stages}."
    fold = Markup("<details><summary>How to read it, and how it was drawn</summary>{}{}</details>")
    folded = fold.format(html.hint(NEAR), html.hint(how))
    return Markup('<div class="map-summary"><p role="status">{}</p>{}{}</div>').format(head, folded, html.notes(projection.notes))


def status(title: str = "", detail: str = "") -> Markup:
    """The line above the map: the selection with a link to its list; without one, how to select."""
    if not title:
        return Markup('<p class="hint" role="status">{}</p>').format(HOW_TO)
    more = f": {html.short(detail, 110)}" if detail else ""
    return html.status(Markup('<b>{}</b>{} <a href="#map-selection">listed below the map</a>').format(title, more))


def cluster_list(corpus_map: CorpusMap, chosen: int | None = None) -> Markup:
    """Clusters as buttons with colour, name, size and most central sentence; the chosen one is marked."""
    largest = int(corpus_map.clustering.sizes.max(initial=1))
    rows = [_cluster(corpus_map, number, largest, number == chosen) for number in range(corpus_map.clustering.count)]
    if corpus_map.clustering.outliers:
        size = f"{corpus_map.clustering.outliers:,}"
        rows.append(BUTTON.format(OUTLIER, str(chosen == OUTLIER).lower(), GREY, "outliers", size, ""))
    return Markup('<ul class="clusters" aria-label="Clusters">{}</ul>').format(Markup().join(rows))


def _cluster(corpus_map: CorpusMap, number: int, largest: int, chosen: bool) -> Markup:
    size = int(corpus_map.clustering.sizes[number])
    sentence = html.short(corpus_map.projection.indexed.corpus.sentences[corpus_map.central[number]], SENTENCE_LENGTH)
    name, colour = html.short(corpus_map.names[number], NAME_LENGTH), PALETTE[number % len(PALETTE)]
    share = Markup('<em style="width:{:.1f}%;background:{}"></em>').format(100 * size / largest, colour)
    central = Markup('<q dir="auto">{}</q>').format(sentence)
    return BUTTON.format(number, str(chosen).lower(), colour, name, f"{size:,}", share + central)


def cluster_choices(corpus_map: CorpusMap) -> list[tuple[str, int]]:
    """Choices for the drop-down: name and size of each cluster."""
    sizes = corpus_map.clustering.sizes
    named = [(f"{html.short(name, NAME_LENGTH)} ({sizes[number]:,})", number) for number, name in enumerate(corpus_map.names)]
    return [*named, *([(f"outliers ({corpus_map.clustering.outliers:,})", OUTLIER)] if corpus_map.clustering.outliers else [])]


def selection(
    corpus_map: CorpusMap, rows: NDArray[np.int64], title: str, scores: Vectors | None = None, words: Sequence[str] = ()
) -> Markup:
    """Rows (k,) as a table. scores (k,): cosines, for neighbours and hits; words: the rows' distinctive words."""
    if not len(rows):
        return html.empty(NOTHING_CHOSEN)
    listed = rows if len(rows) <= SAVED_IN_PAGE else rows[:SHOWN_ROWS]
    records = corpus_map.records(listed)
    if scores is not None:
        records = [{"score": round(float(score), 4), **record} for score, record in zip(scores, records, strict=True)]
    save = html.downloads("selection", records) if len(rows) <= SAVED_IN_PAGE else Markup()
    head = html.head(Markup("<b>{}</b>").format(title), save)
    about = html.hint(Markup("Distinctive words: <b>{}</b>").format(", ".join(words))) if words else ""
    more = html.hint(f"The first {SHOWN_ROWS:,} of {len(rows):,}.") if len(rows) > SHOWN_ROWS else ""
    return Markup('{}{}<div class="selection scroll" role="region" aria-label="Chosen sentences" tabindex="0">{}</div>{}').format(
        head, about, _table(records[:SHOWN_ROWS], scores is not None), more
    )


def _table(records: Sequence[dict[str, object]], scored: bool) -> Markup:
    columns = [key for key in records[0] if key not in ("row", "sentence", "cluster", "map_x", "map_y", "score")][:METADATA_SHOWN]
    header = [*(["cosine"] if scored else []), "row", "sentence", "cluster", *columns]
    rows = []
    for record in records:
        score = [Markup("<b>{:.3f}</b>").format(record["score"])] if scored else []
        extra = [Markup("<small>{}</small>").format(html.short(str(record[key]), METADATA_LENGTH)) for key in columns]
        row, sentence = Markup("<b>{:,}</b>").format(record["row"]), Markup('<span dir="auto">{}</span>').format(record["sentence"])
        rows.append([*score, row, sentence, str(record["cluster"]), *extra])
    return html.table(header, rows)


def numbers(corpus_map: CorpusMap) -> Markup:
    """Agreement of the clusters with the corpus's label columns, then the silhouettes."""
    return _accords(corpus_map) + _silhouettes(corpus_map)


def _silhouettes(corpus_map: CorpusMap) -> Markup:
    """How well the clusters are separated, all together and one by one."""
    if corpus_map.silhouette is None:
        return Markup()
    sample = min(SAMPLE, len(corpus_map.projection.points))
    line = (
        f"Silhouette of all clusters: {corpus_map.silhouette:.3f}, from −1 to 1; higher means better separated, and sentences "
        f"rarely exceed 0.2. Computed by cosine between the embeddings of {sample:,} rows; on the map it would be too optimistic."
    )
    rows = [
        [html.short(name, NAME_LENGTH), f"{corpus_map.silhouettes[number]:.2f}", f"{corpus_map.clustering.sizes[number]:,}"]
        for number, name in enumerate(corpus_map.names)
        if number in corpus_map.silhouettes
    ]
    table = html.table(["cluster", "silhouette", "rows"], rows)
    return html.notes([line]) + Markup('<div class="measures numbers-map">{}</div>').format(table)


def _accords(corpus_map: CorpusMap) -> Markup:
    """Agreement of the clusters with the corpus's label columns."""
    if not corpus_map.accords:
        return html.notes(["The corpus has no label column (2 to 100 different values) to compare the clusters with."])
    rows = [
        [accord.column, f"{accord.values:,}", f"{accord.purity:.3f}", f"{accord.ari:.3f}", f"{accord.nmi:.3f}"]
        for accord in corpus_map.accords
    ]
    table = html.table(["column", "values", "purity", "ARI", "NMI"], rows)
    explained = (
        "How far the clusters match the values of a column. ARI is 0 by chance and 1 for the same groups; NMI is 1 for the same "
        "groups; purity grows with the number of clusters."
    )
    return Markup('<div class="measures numbers-map">{}</div>{}').format(table, html.notes([explained]))


def hovered(corpus_map: CorpusMap, row: int) -> Markup:
    """The sentence under the pointer, for plots that do not hold the sentences."""
    sentence = html.short(corpus_map.projection.indexed.corpus.sentences[row], 300)
    return Markup('<p class="under-pointer" dir="auto">{}</p>').format(sentence)


def query_title(query: QueryOnMap) -> str:
    return f"Nearest to “{html.short(query.query, 60)}” ({query.milliseconds:.0f} ms; the star marks its position)"


def model_comparison(corpus_map: CorpusMap) -> Markup:
    """How neighbours and same-label shares change under the other model."""
    if corpus_map.comparison is None:
        return Markup()
    shares = corpus_map.comparison.drift.kept
    lines = [
        f"{100 * float(shares.mean()):.0f} % of each row's 10 nearest rows stay the same under {corpus_map.comparison.model}; "
        f"{100 * float((shares == 1).mean()):.0f} % of the rows keep all of them. Colour by “Drift” to see which rows changed.",
        "The second map starts from the first and is aligned to it. Small moves are chance, as a second run of the same model "
        "shows: the drift counts neighbours, not distances on the map.",
    ]
    if shares.min() == 1:
        return html.notes(["All rows have the same neighbours under this model: moves on the map are chance.", *lines[1:]])
    if not corpus_map.comparison.same_label:
        return html.notes(lines)
    rows = [
        [column, f"{100 * before:.1f} %", f"{100 * after:.1f} %", f"{100 * (after - before):+.1f} points"]
        for column, (before, after) in corpus_map.comparison.same_label.items()
    ]
    table = html.table(["nearest rows with the same", corpus_map.model, corpus_map.comparison.model, "change"], rows)
    return Markup('<div class="measures numbers-map">{}</div>{}').format(table, html.notes(lines))
