"""Open or create a collection at an address, whatever store that is."""

from pathlib import Path

from sbert_app.collections.address import Address, parse
from sbert_app.collections.collection import Collection, Facts


def open_collection(address: str | Address, token: str = "") -> Collection:
    """An existing collection. token: for a Milvus server with authentication. Raises UserError."""
    place = parse(address) if isinstance(address, str) else address
    if place.kind == "milvus":
        from sbert_app.collections.milvus.store import MilvusCollection

        return MilvusCollection.open(place, token)
    from sbert_app.collections.folder import FolderCollection

    opened: Collection = FolderCollection.open(Path(place.uri))
    return opened


def create_collection(address: str | Address, facts: Facts, token: str = "") -> Collection:
    """A new, empty collection. Raises UserError, also where one exists."""
    place = parse(address) if isinstance(address, str) else address
    if place.kind == "milvus":
        from sbert_app.collections.milvus.store import MilvusCollection

        return MilvusCollection.create(place, facts, token)
    from sbert_app.collections.folder import FolderCollection

    created: Collection = FolderCollection.create(Path(place.uri), facts)
    return created
