"""Open a collection for a visitor: any address, or, hosted, one that the administrator lists."""

from sbert_app.collections import open_collection
from sbert_app.collections.address import parse
from sbert_app.collections.collection import Collection, CollectionError
from sbert_app.collections.opened import OpenCollection, reading
from sbert_app.collections.sample import read_sample
from sbert_app.errors import UserError
from sbert_app.jobs.collection.search import open_collection_of
from sbert_app.runtime.session import Session
from sbert_app.runtime.sessions import ENDED
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.tables import Table

BLANK = "The address is blank. Type a folder, FILE.db/NAME or http://host:port/NAME."
OPENING = "opening"  # job name
KEY = "collection:"  # before the name of a listed collection in a page's address


class CollectionService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        """Raises UserError if a hosted app is to offer a Milvus Lite file: that is for one process and one visitor."""
        self._bench, self._settings = workbench, workbench.settings
        self._listed = _named(self._settings.collections)
        for address in self._listed.values():
            if parse(address).is_local_milvus and self._settings.hosted:
                raise UserError(
                    f"SBERT_STUDIO_COLLECTIONS lists '{name_of(address)}' in a Milvus Lite file, which a hosted app cannot offer. "
                    "Name a folder or a Milvus server."
                )

    @property
    def hosted(self) -> bool:
        return self._settings.hosted

    def listed(self) -> list[str]:
        """The names of the collections that the app offers."""
        return list(self._listed)

    def current(self, session: Session) -> OpenCollection | None:
        """The session's open collection."""
        return open_collection_of(session)

    def open(self, session: Session, address: str) -> OpenCollection:
        """Open a collection, with a sample of it as the session's corpus. Raises UserError, leaving what was open.

        address: a folder, FILE.db/NAME or http://host:port/NAME, or the name of a listed one; hosted, only such a name.
        """
        stop = session.begin(OPENING)
        text = validation.line(address, "address")
        if not text:
            raise UserError(BLANK)
        listed = self._listed.get(text, "")
        if self.hosted and not listed:
            names = ", ".join(self._listed) or "none"
            raise UserError(f"There is no collection of this name here. The collections are: {names}.")
        name = text if listed else name_of(text)
        with reading(name, self.hosted):
            collection = open_collection(listed or text, self._settings.store_token)
            try:
                opened = self._opened(name, collection, text if listed else collection.address, bool(listed))
                if not session.open(opened.sample, stop, opened, without=Table):
                    if session.closed:
                        raise UserError(ENDED)
                    raise UserError(f"'{name}' was not opened, because another corpus was opened meanwhile.")
            except BaseException:
                collection.close()
                raise
        return opened

    def open_key(self, session: Session, key: str) -> bool:
        """Open the listed collection that a page's address names; False for anything else.

        Never any other: a link from elsewhere must not make the app connect to an address of its choice.
        """
        name = key.removeprefix(KEY)
        if key == name or name not in self._listed:
            return False
        try:
            self.open(session, name)
        except UserError:
            return False
        return True

    def _opened(self, name: str, collection: Collection, key: str, listed: bool) -> OpenCollection:
        """Check the collection's model and read a sample."""
        self._check_model(name, collection)
        rows = collection.count()
        if not rows:
            raise CollectionError(f"The collection '{name}' has no rows yet. Index files into it first.")
        return OpenCollection(name, key, collection, rows, read_sample(name, key, collection, rows), listed, self.hosted)

    def _check_model(self, name: str, collection: Collection) -> None:
        """Raise UserError unless the encoder that made the collection is here."""
        facts = collection.facts
        try:
            encoder = self._bench.registry.encoder(facts.model)
        except UserError as error:
            raise UserError(f"The collection '{name}' was made with '{facts.model}', which cannot be loaded: {error}") from None
        if encoder.fingerprint != facts.fingerprint:
            raise UserError(
                f"The collection '{name}' was made with other weights or another precision of '{facts.model}' than are used here "
                f"({encoder.hardware.precision}). Index its files again, or set SBERT_STUDIO_PRECISION to that of the collection."
            )


def key_of(opened: OpenCollection) -> str:
    """What a page's address remembers of a collection, "" if nothing opens it again."""
    return f"{KEY}{opened.name}" if opened.listed else ""


def name_of(address: str) -> str:
    """The last part of an address: the name of the collection, without host and folder."""
    return parse(address).name or address


def _named(addresses: tuple[str, ...]) -> dict[str, str]:
    """Addresses by their names; a name that occurs again gets a number."""
    named: dict[str, str] = {}
    for address in addresses:
        name, number = name_of(address), 2
        while name in named:
            name, number = f"{name_of(address)} ({number})", number + 1
        named[name] = address
    return named
