"""Find duplicates in a collection: each row, or each of a random sample, is searched for its nearest rows in the whole store."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, ROW, SENTENCE, Collection, embeddings_of
from sbert_app.collections.opened import OpenCollection, corpus_of
from sbert_app.corpus.duplicates import Copies, Duplicates, Joined
from sbert_app.corpus.findings import Mined
from sbert_app.corpus.mining import COMPARING, EQUAL, FLOOR, SimilarPairs
from sbert_app.step import Step
from sbert_app.vectors import Rows, Vectors, unit_rows

MOST_WHOLE = 200_000  # rows of a collection that is compared as a whole
SAMPLED = 20_000  # rows of a larger one that are compared with all
NEIGHBOURS = 10
MOST_PAIRS = 100_000
BATCH = 500  # rows in one search of the store
FETCHED = 5_000  # rows in one request for texts


class StrongestPairs:
    """The closest pairs of ids so far, at most MOST_PAIRS; the floor rises when there are more."""

    def __init__(self) -> None:
        none = np.empty(0, np.int64)
        self.floor, self.pairs = FLOOR, _pairs(none, none, np.empty(0, np.float32))

    def add(self, rows: Rows, scores: Vectors, others: Rows) -> None:
        """rows: (q,) ids; scores, others: cosines and ids of their nearest rows, (q, k), id -1 for none."""
        own = np.repeat(rows, others.shape[1])
        score, other = scores.ravel(), others.ravel()
        close = (other >= 0) & (other != own) & (score >= self.floor)
        new = _pairs(own[close], other[close], score[close])
        self.pairs = pd.concat([self.pairs, new], ignore_index=True).drop_duplicates(["first", "second"])
        if len(self.pairs) > MOST_PAIRS:
            self.pairs = self.pairs.nlargest(MOST_PAIRS, "score")
            self.floor = float(self.pairs["score"].min())


def _pairs(rows1: Rows, rows2: Rows, scores: Vectors) -> pd.DataFrame:
    """Pairs with the smaller number first."""
    return pd.DataFrame({"first": np.minimum(rows1, rows2), "second": np.maximum(rows1, rows2), "score": scores})


def join(opened: OpenCollection) -> Iterator[Step[Mined]]:
    """Compare the rows of a collection. The last step has what was mined. Raises CollectionError."""
    closest, texts, done, collection = StrongestPairs(), [], 0, opened.collection
    with opened.reading():
        total = collection.count()
        whole = total <= MOST_WHOLE
        expected = total if whole else SAMPLED
        for rows in collection.scan(BATCH) if whole else _fetched(collection, collection.sample(SAMPLED), BATCH):
            ids, embeddings = rows.column(ROW).to_numpy(), unit_rows(embeddings_of(rows))
            closest.add(ids, *collection.search(embeddings, NEIGHBOURS + 1))
            texts.append(rows.drop_columns([EMBEDDING]))
            done += len(rows)
            yield Step(COMPARING, min(done, expected), expected)
        table = pa.concat_tables(texts)
        if not whole:
            partners = np.setdiff1d(np.union1d(closest.pairs["first"], closest.pairs["second"]), table.column(ROW).to_numpy())
            texts += [rows.drop_columns([EMBEDDING]) for rows in _fetched(collection, partners, FETCHED)]
            table = pa.concat_tables(texts).sort_by(ROW)
    corpus = replace(corpus_of(opened.name, table, opened.facts), store=opened.key)
    copies = Copies.of(table.column(SENTENCE).to_pylist())
    pairs = _of_nodes(closest, copies, corpus.rows)
    indexed = replace(opened.sample, corpus=corpus, embeddings=np.empty((0, opened.facts.dim), np.float32), passages=None)
    mined = Mined(indexed, Duplicates(copies, pairs), {}, joined=Joined(done, total, NEIGHBOURS, opened.index))
    yield Step(COMPARING, expected, expected, result=mined)


def _fetched(collection: Collection, ids: Rows, batch: int) -> Iterator[pa.Table]:
    """The rows with these ids, `batch` at a time."""
    for start in range(0, len(ids), batch):
        yield collection.fetch(ids[start : start + batch].tolist())


def _of_nodes(closest: StrongestPairs, copies: Copies, ids: Rows) -> SimilarPairs:
    """The pairs between different texts, each once. ids: of the rows, ascending, (n,)."""
    pairs = closest.pairs[closest.pairs["first"].isin(ids) & closest.pairs["second"].isin(ids)]
    nodes1, nodes2 = (copies.node[np.searchsorted(ids, pairs[side])] for side in ("first", "second"))
    frame = _pairs(nodes1, nodes2, pairs["score"].to_numpy())
    frame = frame[frame["first"] != frame["second"]].sort_values(["score", "first", "second"], ascending=[False, True, True])
    frame = frame.drop_duplicates(["first", "second"])
    rows1, rows2 = (frame[side].to_numpy(dtype=np.int32) for side in ("first", "second"))
    scores = frame["score"].mask(frame["score"] >= EQUAL, 1).to_numpy(dtype=np.float32)
    return SimilarPairs(rows1, rows2, scores, closest.floor, closest.floor > FLOOR, checked=np.empty((0, 2), np.float32))
