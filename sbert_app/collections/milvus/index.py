"""Indexes of Milvus: which one for how many rows, and how much of it a search reads."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sbert_app.collections.collection import EMBEDDING, ROW, Rows
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF
from sbert_app.vectors import Vectors

METRIC = "IP"  # of unit vectors: the cosine
MOST_LISTS, MOST_HITS = 65_536, 16_384  # that Milvus allows
LEAST_PROBED = 32
LINKS, BUILD_CANDIDATES, CANDIDATES, MOST_CANDIDATES = 16, 200, 128, 16_384  # of HNSW


@dataclass(frozen=True)
class Index:
    """An index of the embeddings. kind: one of collection.INDEXES; lists: of "ivf", else 0."""

    kind: str = EXACT
    lists: int = 0

    def parameters(self) -> Any:
        """What Milvus builds: FLAT, IVF_SQ8 or HNSW."""
        from pymilvus import MilvusClient

        kinds: dict[str, tuple[str, dict[str, int]]] = {
            EXACT: ("FLAT", {}),
            IVF: ("IVF_SQ8", {"nlist": self.lists}),
            HNSW: ("HNSW", {"M": LINKS, "efConstruction": BUILD_CANDIDATES}),
        }
        name, params = kinds[self.kind]
        parameters = MilvusClient.prepare_index_params()
        nested = {"params": params}  # milvus-lite 3.2.2 reads no others; a server reads both
        parameters.add_index(EMBEDDING, index_type=name, index_name=EMBEDDING, metric_type=METRIC, params=nested)
        return parameters

    def search_settings(self, top: int, share: float = 1.0) -> dict[str, Any]:
        """How to search for `top` rows. share: of the rows, those a filter leaves; the fewer, the more lists or candidates.

        IVF_SQ8 compares embeddings in 8 bits, which puts up to 2 % of the ten best behind others: twice as many rows are asked
        for, with their embeddings, so that `ranked` can compare these.
        """
        share = max(share, 1e-6)
        limit = min(2 * top, MOST_HITS) if self.kind == IVF else top
        params = {
            EXACT: {},
            IVF: {"nprobe": min(self.lists, math.ceil(probed(self.lists) / share))},
            HNSW: {"ef": max(top, min(MOST_CANDIDATES, math.ceil(max(CANDIDATES, 2 * top) / share)))},
        }
        search_params = {"metric_type": METRIC, "params": params[self.kind]}
        return {"limit": limit, "search_params": search_params, "output_fields": [EMBEDDING] if self.kind == IVF else []}

    def close_to(self, other: "Index") -> bool:
        """Whether the other is good enough instead: of the same kind, with at least half and at most twice the lists."""
        return self.kind == other.kind and self.lists <= 2 * other.lists and other.lists <= 2 * self.lists


def ranked(hits: Sequence[Mapping[str, Any]], query: Vectors, top: int) -> tuple[Vectors, Rows]:
    """The best of what a search returned: cosines and ids, at most `top`; compared anew where embeddings came along."""
    rows = np.array([hit[ROW] for hit in hits], dtype=np.int64)
    if rows.size and EMBEDDING in hits[0]["entity"]:
        cosines = np.array([hit["entity"][EMBEDDING] for hit in hits], dtype=np.float32) @ query
    else:
        cosines = np.array([hit["distance"] for hit in hits], dtype=np.float32)
    if not np.isfinite(cosines).all():
        raise ValueError("a cosine that is no number")
    order = np.argsort(-cosines, kind="stable")[:top]
    return np.clip(cosines[order], -1, 1), rows[order]


def index_for(kind: str, rows: int) -> Index:
    """The index of a kind for so many rows: of "ivf", about the square root of them as lists."""
    return Index(kind, max(1, min(MOST_LISTS, round(math.sqrt(rows))))) if kind == IVF else Index(kind)


def probed(lists: int) -> int:
    """How many inverted lists a query reads: of 141 (20,000 rows) 47, of 1,000 (a million rows) 126."""
    return max(LEAST_PROBED, math.ceil(4 * math.sqrt(lists)))
