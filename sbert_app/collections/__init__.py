"""Collections: rows with embeddings in a store that an address names, for what is too large for a corpus in memory."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal
from urllib.parse import urlsplit

from sbert_app.collections.collection import Collection, Facts
from sbert_app.collections.folder import FolderCollection
from sbert_app.errors import UserError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")  # what Milvus allows
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
PORTS = {"http": 19530, "https": 443}  # as in pymilvus
LITE = ".db"  # how pymilvus recognises a file of milvus-lite
EXAMPLE = "http://127.0.0.1:19530/tickets"


@dataclass(frozen=True)
class Address:
    """Where a collection is. uri: the folder itself, the file of milvus-lite, or http(s)://host:port; never with credentials."""

    kind: Literal["folder", "milvus"]
    uri: str
    name: str

    @property
    def is_local_milvus(self) -> bool:
        """Whether it is a file of milvus-lite, which a public installation must refuse.

        Opening one starts a server without authentication on a port of 127.0.0.1, and no other process can open the file.
        """
        return self.kind == "milvus" and self.uri.endswith(LITE)

    def __str__(self) -> str:
        return self.uri if self.kind == "folder" else f"{self.uri}/{self.name}"


def parse(text: str) -> Address:
    """Read http(s)://host:port/NAME, FILE.db/NAME, or a folder. Raises UserError; its text never repeats credentials."""
    text = text.strip()
    if not text:
        raise UserError(f"A collection needs an address: a folder, FILE.db/NAME, or {EXAMPLE}.")
    if "\0" in text:
        raise UserError("The address of a collection must not contain a NUL character.")
    if scheme := SCHEME.match(text):
        return _server(text, scheme.group().removesuffix("://").lower())
    path = PurePath(text)
    if path.suffix == LITE:
        raise UserError(f"'{text}' is a file of milvus-lite: name the collection in it as well, as in {text}/tickets.")
    if path.parent.suffix == LITE:
        return Address("milvus", str(path.parent), _checked(path.name))
    return Address("folder", text, path.name)


def _server(text: str, scheme: str) -> Address:
    if scheme not in PORTS:
        raise UserError(f"A collection cannot be at an address with {scheme}://. Use a folder, FILE.db/NAME, or {EXAMPLE}.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UserError(f"This is no address of a Milvus server. One looks like {EXAMPLE}.") from error
    if "@" in text or parts.query or parts.fragment:
        raise UserError(
            f"The address of a collection holds only host, port and name, as in {EXAMPLE}. "
            "Give a token or password apart from it: addresses are shown on screen."
        )
    if not parts.hostname:
        raise UserError(f"'{text}' names no host. An address of Milvus looks like {EXAMPLE}.")
    names = [part for part in parts.path.split("/") if part]
    if len(names) != 1:
        raise UserError(f"'{text}' must end with the name of one collection, as in {EXAMPLE}.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    # Always with the port: pymilvus takes http://milvus.db for a file of milvus-lite.
    return Address("milvus", f"{scheme}://{host}:{port or PORTS[scheme]}", _checked(names[0]))


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        rule = "letters from a to z, digits and underscores, at most 255, no digit first"
        raise UserError(f"'{name}' cannot be the name of a collection in Milvus. A name has {rule}.")
    return name


def open_collection(address: str, token: str = "") -> Collection:
    """An existing collection, whatever store that is. token: for a Milvus server with authentication. Raises UserError."""
    place = parse(address)
    if place.kind == "milvus":
        from sbert_app.collections.milvus.store import MilvusCollection

        return MilvusCollection.open(place, token)
    return FolderCollection.open(Path(place.uri))


def create_collection(address: str, facts: Facts, token: str = "") -> Collection:
    """A new, empty collection. Raises UserError, also where one exists."""
    place = parse(address)
    if place.kind == "milvus":
        from sbert_app.collections.milvus.store import MilvusCollection

        return MilvusCollection.create(place, facts, token)
    return FolderCollection.create(Path(place.uri), facts)
