"""Find duplicates in a collection: each row, or each of a random sample, is searched for its nearest rows in the whole store."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, ROW, SENTENCE, Collection, embeddings_of
from sbert_app.collections.opened import OpenCollection, corpus_of
from sbert_app.corpus.duplicates import Copies, Duplicates, Joined
from sbert_app.corpus.findings import Mined
from sbert_app.corpus.mining import COMPARING, BestPairs, SimilarPairs
from sbert_app.step import Step
from sbert_app.vectors import Rows, unit_rows

MOST_WHOLE = 200_000  # rows of a collection that is compared as a whole
SAMPLED = 20_000  # rows of a larger one that are compared with all
NEIGHBOURS = 10
MOST_PAIRS = 100_000
BATCH = 500  # rows in one search of the store
FETCHED = 5_000  # rows in one request for texts


def join(opened: OpenCollection) -> Iterator[Step[Mined]]:
    """Compare the rows of a collection. The last step has what was mined. Raises CollectionError."""
    closest, texts, done, collection = BestPairs(MOST_PAIRS, np.int64), [], 0, opened.collection
    with opened.reading():
        total = collection.count()
        whole = total <= MOST_WHOLE
        expected = total if whole else SAMPLED
        for rows in collection.scan(BATCH) if whole else _fetched(collection, collection.sample(SAMPLED), BATCH):
            ids, embeddings = rows.column(ROW).to_numpy(), unit_rows(embeddings_of(rows))
            closest.add_nearest(ids, *collection.search(embeddings, NEIGHBOURS + 1))
            texts.append(rows.drop_columns([EMBEDDING]))
            done += len(rows)
            yield Step(COMPARING, min(done, expected), expected)
        table, found = pa.concat_tables(texts), closest.pairs()
        if not whole:
            partners = np.setdiff1d(np.union1d(found.rows1, found.rows2), table.column(ROW).to_numpy())
            texts += [rows.drop_columns([EMBEDDING]) for rows in _fetched(collection, partners, FETCHED)]
            table = pa.concat_tables(texts).sort_by(ROW)
    corpus = replace(corpus_of(opened.name, table, opened.facts), store=opened.key)
    copies = Copies.of(table.column(SENTENCE).to_pylist())
    pairs = _of_nodes(found, copies, corpus.rows)
    indexed = replace(opened.sample, corpus=corpus, embeddings=np.empty((0, opened.facts.dim), np.float32), passages=None)
    mined = Mined(indexed, Duplicates(copies, pairs), {}, joined=Joined(done, total, NEIGHBOURS, opened.index))
    yield Step(COMPARING, expected, expected, result=mined)


def _fetched(collection: Collection, ids: Rows, batch: int) -> Iterator[pa.Table]:
    """The rows with these ids, `batch` at a time."""
    for start in range(0, len(ids), batch):
        yield collection.fetch(ids[start : start + batch].tolist())


def _of_nodes(found: SimilarPairs, copies: Copies, ids: Rows) -> SimilarPairs:
    """The pairs between different texts, each once. found: of ids, best first; ids: of the rows, ascending, (n,)."""
    known = np.isin(found.rows1, ids) & np.isin(found.rows2, ids)
    nodes1, nodes2 = (copies.node[np.searchsorted(ids, side[known])] for side in (found.rows1, found.rows2))
    nodes = BestPairs(MOST_PAIRS)
    nodes.add_nearest(nodes1, found.scores[known][:, None], nodes2[:, None])
    return replace(nodes.pairs(), floor=found.floor, raised=found.raised, checked=np.empty((0, 2), np.float32))
