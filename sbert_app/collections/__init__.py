"""Collections: rows with embeddings in a store of their own, for what is too large for a corpus in memory."""

from pathlib import Path

from sbert_app.collections.address import Address, parse
from sbert_app.collections.collection import Collection, Facts


def open_collection(address: str | Address, token: str = "") -> Collection:
    """An existing collection, whatever store that is. token: for a Milvus server with authentication. Raises UserError."""
    place = parse(address) if isinstance(address, str) else address
    if place.kind == "milvus":
        from sbert_app.collections.milvus.store import MilvusCollection

        return MilvusCollection.open(place, token)
    from sbert_app.collections.folder import FolderCollection

    return FolderCollection.open(Path(place.uri))


def create_collection(address: str | Address, facts: Facts, token: str = "") -> Collection:
    """A new, empty collection. Raises UserError, also where one exists."""
    place = parse(address) if isinstance(address, str) else address
    if place.kind == "milvus":
        from sbert_app.collections.milvus.store import MilvusCollection

        return MilvusCollection.create(place, facts, token)
    from sbert_app.collections.folder import FolderCollection

    return FolderCollection.create(Path(place.uri), facts)
