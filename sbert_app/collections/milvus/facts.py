"""What a collection in Milvus remembers about itself: its facts and its index, as JSON in a property of the collection."""

import json
import time
from collections.abc import Mapping
from typing import Any

from sbert_app.collections.address import Address
from sbert_app.collections.collection import CollectionError, Facts
from sbert_app.collections.milvus.client import READ_SECONDS, WRITE_SECONDS, Connection
from sbert_app.collections.milvus.index import MOST_LISTS, Index
from sbert_app.collections.milvus.rows import schema_for
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF

PROPERTY = "sbert_studio.facts"
MOST_FACTS = 1_000_000  # bytes; Milvus keeps properties in etcd, whose values have at most 1.5 MB
FRESH_SECONDS = 5.0  # another process may have finished writing


class StoredFacts:
    """The facts and the index of a collection, read anew when they are some seconds old."""

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
    text = json.dumps({"facts": facts.to_json(), "kind": index.kind, "lists": index.lists})
    if len(text) > MOST_FACTS:
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
