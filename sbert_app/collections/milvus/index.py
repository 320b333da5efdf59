"""Which index a collection in Milvus has and how it is searched; its facts, as JSON in a property of the collection."""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sbert_app.collections import Address
from sbert_app.collections.collection import EMBEDDING, ROW, CollectionError, Facts
from sbert_app.collections.milvus.client import READ_SECONDS, WRITE_SECONDS, Connection
from sbert_app.collections.milvus.rows import schema_for
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF
from sbert_app.vectors import Rows, Vectors

PROPERTY = "sbert_studio.facts"
MOST_FACTS = 1_000_000  # bytes; Milvus keeps properties in etcd, whose values have at most 1.5 MB
FRESH_SECONDS = 5.0  # another process may have finished writing
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

        IVF_SQ8 compares embeddings in 8 bits, which puts up to 2 % of the ten best after others: twice as many rows are asked
        for, with their embeddings, so that `ranked` can compare these.
        """
        share = max(share, 1e-6)
        limit = min(2 * top, MOST_HITS) if self.kind == IVF else top
        probed = max(LEAST_PROBED, math.ceil(4 * math.sqrt(self.lists)))  # of 141 lists (20,000 rows) 47, of 1,000 (a million) 126
        params = {
            EXACT: {},
            IVF: {"nprobe": min(self.lists, math.ceil(probed / share))},
            HNSW: {"ef": max(top, min(MOST_CANDIDATES, math.ceil(max(CANDIDATES, 2 * top) / share)))},
        }
        search_params = {"metric_type": METRIC, "params": params[self.kind]}
        return {"limit": limit, "search_params": search_params, "output_fields": [EMBEDDING] if self.kind == IVF else []}

    def close_to(self, other: "Index") -> bool:
        """Whether the other is good enough instead: of the same kind, with at least half and at most twice the lists."""
        return self.kind == other.kind and self.lists <= 2 * other.lists and other.lists <= 2 * self.lists


def ranked(hits: Sequence[Mapping[str, Any]], query: Vectors, top: int) -> tuple[Vectors, Rows]:
    """The best of what a search returned: cosines and ids, at most `top`; compared again where embeddings came along."""
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


class StoredFacts:
    """The facts and the index of a collection, read again when they are some seconds old."""

    def __init__(self, connection: Connection) -> None:
        """Raises CollectionError if there is no collection, or one that something else made."""
        self._connection = connection
        self.read()

    def current(self) -> tuple[Facts, Index]:
        if time.monotonic() - self._time > FRESH_SECONDS:
            self.read()
        return self._values

    def read(self) -> tuple[Facts, Index]:
        name = self._connection.address.name
        described = self._connection.call("opening", lambda client: client.describe_collection(name, timeout=READ_SECONDS))
        self._values, self._time = _parsed(described, self._connection.address), time.monotonic()
        return self._values

    def write(self, facts: Facts, index: Index) -> None:
        name, properties = self._connection.address.name, properties_of(facts, index)
        self._connection.call(
            "writing the facts", lambda client: client.alter_collection_properties(name, properties, timeout=WRITE_SECONDS)
        )
        self._values, self._time = (facts, index), time.monotonic()


def properties_of(facts: Facts, index: Index) -> dict[str, str]:
    """The properties of a collection with these facts. Raises CollectionError if they are too long for Milvus."""
    if len(text := json.dumps({"facts": facts.to_json(), "kind": index.kind, "lists": index.lists})) > MOST_FACTS:
        raise CollectionError(f"{len(facts.files):,} files are too many for one collection in Milvus. Use fewer, larger files.")
    return {PROPERTY: text}


def _parsed(described: Mapping[str, Any], address: Address) -> tuple[Facts, Index]:
    try:
        stored = json.loads(described["properties"][PROPERTY])
        facts, index = Facts.from_json(stored["facts"]), Index(stored["kind"], int(stored["lists"]))
        fields = {field["name"]: (field["type"], field["params"].get("dim")) for field in described["fields"]}
        written = {field.name: (field.dtype, field.params.get("dim")) for field in schema_for(facts).fields}
        if index.kind not in (EXACT, IVF, HNSW) or not 0 <= index.lists <= MOST_LISTS or not written.items() <= fields.items():
            raise ValueError("another schema")
        return facts, index
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise CollectionError(
            f"The collection '{address.name}' in Milvus at {address.uri} was not made by SBERT Studio: "
            "it does not say which model its embeddings are of. Take another name."
        ) from None
