"""Render the lists beside the map: its clusters or the values of a column, as buttons, and the selected rows, as cards."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from sbert_app.corpus_map.colouring import OUTLIERS, Categories, ColourScale, colouring
from sbert_app.corpus_map.query import PlacedRows, QueryOnMap
from sbert_app.corpus_map.result import NAME_LENGTH, CorpusMap
from sbert_app.corpus_map.selection import Selection
from sbert_app.mapping.clusters import OUTLIER
from sbert_app.ui.kit import html
from sbert_app.ui.map.chart import colour_of
from sbert_app.ui.map.view import NO_ROWS
from sbert_app.vectors import Rows
from sbert_app.wording import amount, row_text

SENTENCE_LENGTH = 90
SHOWN_ROWS = 200
SAVED_IN_PAGE = 2_000  # rows; a larger selection has no download links
METADATA_SHOWN, METADATA_LENGTH = 8, 40
CLUSTERS_SHOWN = 6  # in which selected rows are
QUERY_LENGTH = 60  # characters of a query in a title
OUTSIDE = "{} of these {} rows are not in the sample that the map shows: each is ringed amid the sampled rows nearest to it."
OWN_KEYS = ("row", "sentence", "cluster", "map_x", "map_y", "score")
BUTTON = Markup(
    '<li><button type="button" data-group="{}" aria-pressed="{}"><i style="background:{}"></i><b dir="auto">{}</b><span>{}</span>{}'
    "</button>{}</li>"
)
ROWS = Markup('{}{}<ol class="selection" aria-label="{}" tabindex="0">{}</ol>{}')
LONG = 400  # characters; a longer text is folded
LONG_TEXT = Markup('<details><summary dir="auto" title="Show the whole text">{}</summary></details>')
IN_CLUSTER = Markup('<span><i style="background:{}"></i>{}</span>')
INSIDE = Markup('<button type="button" class="unfold" data-tab="Search" data-inside>Search inside</button>')
# assets/map_clusters.js turns the name into a text field, which shows data-made when it is empty.
RENAME = Markup(
    '<button type="button" class="rename" data-rename="{}" data-name="{}" data-made="{}" data-most="{}" aria-label="Rename {}" '
    'title="Rename"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M10.5 2.5l3 3L5 14H2v-3zM8.7 4.3l3 3"/></svg></button>'
)


def colour_list(corpus_map: CorpusMap, colour: str, chosen: int | None = None) -> Markup:
    """The values of the column that colours the map, or for other colours the clusters, as buttons; the chosen one is marked."""
    groups, notes = colouring(corpus_map, colour), Markup()
    if isinstance(groups, ColourScale):  # what of it could not be read is said above the clusters
        notes = html.cautions(groups.notes)
        groups = Categories("cluster", corpus_map.clustering.labels, corpus_map.names)
    counts, buttons = groups.counts.tolist(), []
    largest = max(counts if groups.of_column else counts[:-1], default=1)
    for number in filter(counts.__getitem__, (*range(len(groups.names)), OUTLIER)):
        hue, size, pressed = colour_of(number, groups.numbers), f"{counts[number]:,}", str(number == chosen).lower()
        bar = Markup('<em style="width:{:.1f}%;background:{}"></em>').format(min(100.0, 100 * counts[number] / largest), hue)
        is_cluster = not groups.of_column and number != OUTLIER
        sentence, pencil = (_central(corpus_map, number), _rename(corpus_map, number)) if is_cluster else (Markup(), Markup())
        name = html.short(groups.name_of(number), NAME_LENGTH)
        buttons.append(BUTTON.format(number, pressed, hue, name, size, bar + sentence, pencil))
    label = f"Values of {groups.title}" if groups.of_column else "Clusters"
    return notes + Markup('<ul class="clusters" aria-label="{}">{}</ul>').format(label, Markup().join(buttons))


def _central(corpus_map: CorpusMap, number: int) -> Markup:
    sentence = corpus_map.projection.indexed.corpus.sentences[corpus_map.central[number]]
    return Markup('<q dir="auto">{}</q>').format(html.short(sentence, SENTENCE_LENGTH))


def _rename(corpus_map: CorpusMap, number: int) -> Markup:
    """The pencil of a cluster."""
    name = corpus_map.names[number]
    return RENAME.format(number, name, corpus_map.made_names[number], NAME_LENGTH, name)


def selection(corpus_map: CorpusMap, selected: Selection, words: Sequence[str], inside: bool) -> Markup:
    """The selected rows as cards. words: the rows' distinctive words; inside: whether they can be searched."""
    rows, scores = selected.rows, selected.scores
    if not len(rows):
        return html.empty(NO_ROWS) + html.cautions(selected.notes)
    listed = rows if len(rows) <= SAVED_IN_PAGE else rows[:SHOWN_ROWS]
    records = corpus_map.records(listed)
    if scores is not None:
        records = [{"score": round(float(score), 4), **record} for score, record in zip(scores, records, strict=True)]
    delimiter = corpus_map.projection.indexed.corpus.form.delimiter
    save = html.downloads("selection", records, delimiter) if len(rows) <= SAVED_IN_PAGE else Markup()
    pencil = _rename(corpus_map, selected.cluster) if selected.cluster is not None and selected.cluster != OUTLIER else ""
    name, button = selected.title(corpus_map), INSIDE if inside else ""
    title = Markup("<span><b>{}</b>{}{}</span> {}").format(name, selected.aside, pencil, button)
    head = html.head(title, save) + html.cautions(selected.notes)
    about = html.hint(Markup("Distinctive words: <b>{}</b>").format(", ".join(words))) if words else ""
    about += html.hint(_clusters_of(corpus_map, rows)) if selected.cluster is None else ""
    labels = corpus_map.clustering.labels[listed[:SHOWN_ROWS]].tolist()
    cards = [
        _card(record, IN_CLUSTER.format(colour_of(label), html.short(str(record["cluster"]), 40)))
        for record, label in zip(records[:SHOWN_ROWS], labels, strict=True)
    ]
    more = html.hint(f"The first {SHOWN_ROWS:,} of {len(rows):,}.") if len(rows) > SHOWN_ROWS else ""
    return ROWS.format(head, about, "Chosen sentences", Markup().join(cards), more)


def _clusters_of(corpus_map: CorpusMap, rows: Rows) -> str:
    """How many of these rows are in which clusters, the most frequent first."""
    named, sizes = [*corpus_map.names, OUTLIERS], [*corpus_map.clustering.sizes.tolist(), corpus_map.clustering.outliers]
    counts = Counter(corpus_map.clustering.labels[rows].tolist()).most_common()
    shares = ", ".join(f"{html.short(named[label], 40)} {count:,} of {sizes[label]:,}" for label, count in counts[:CLUSTERS_SHOWN])
    further = [count for _, count in counts[CLUSTERS_SHOWN:]]
    return f"Clusters: {shares}" + (f"; {amount(sum(further), 'sentence')} in {len(further):,} more" if further else "")


def _card(record: dict[str, Any], mark: Markup, own: Sequence[str] = OWN_KEYS) -> Markup:
    """A listed row: its sentence, cosine, file row, a mark, and its first columns besides its own keys."""
    score = Markup('<b title="cosine">{:.3f}</b>').format(record["score"]) if "score" in record else ""
    texts = [(key, str(value)) for key, value in record.items() if key not in own and str(value).strip()]
    columns = [Markup("<span>{} <em>{}</em></span>").format(key, html.short(text, METADATA_LENGTH)) for key, text in texts]
    shown = Markup().join(columns[:METADATA_SHOWN])
    facts = Markup("{}<span>row {}</span>{}{}").format(score, row_text(record["row"]), mark, shown)
    text = LONG_TEXT if len(str(record["sentence"])) > LONG else Markup('<p dir="auto">{}</p>')
    return Markup("<li>{}<small>{}</small></li>").format(text.format(record["sentence"]), facts)


def nearest_title(query: QueryOnMap, rows: PlacedRows) -> str:
    """What is listed and ringed for a query on the map of a sample."""
    text = html.short(query.query, QUERY_LENGTH)
    time, count = f"{query.milliseconds:.0f} ms", len(rows.scores)
    return f"The {count} nearest to “{text}” in all {rows.total:,} rows ({time}; star: the query, rings: these rows)"


def nearest(query: QueryOnMap, rows: PlacedRows) -> Markup:
    """The rows of a collection nearest to a query, as cards."""
    records = rows.records()
    save = html.downloads("nearest", records, rows.corpus.form.delimiter)
    head = html.head(Markup("<b>{}</b>").format(nearest_title(query, rows)), save)
    missing = len(records) - int(rows.sampled.sum())
    about = html.hint(OUTSIDE.format(missing, len(records))) if missing else ""
    outside = Markup("<span>not in the sample</span>")
    own = (*OWN_KEYS, "in_sample")
    cards = Markup().join(_card(record, Markup() if record["in_sample"] else outside, own) for record in records)
    return ROWS.format(head, about, "Nearest sentences", cards, "")
