"""A connection to Milvus or milvus-lite whose failures are sentences that help."""

import importlib.util
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sbert_app.collections import Address
from sbert_app.collections.collection import CollectionError
from sbert_app.errors import UserError

CONNECT_SECONDS = 3.0
READ_SECONDS = 30.0
WRITE_SECONDS = 120.0
BUILD_SECONDS = 24 * 3600.0  # only while the server answers: when it does not, any call ends within CONNECT_SECONDS
NOT_FOUND, NOT_LOADED = (4, 100), 101  # codes of Milvus
INSTALL = "pip install -r requirements-scale.txt"
LONGEST_REASON = 300  # characters of an answer of Milvus that are shown

Result = TypeVar("Result")
log = logging.getLogger(__name__)


class Connection:
    """A client of the Milvus at an address. All threads may use it; it finds a server again that was away."""

    def __init__(self, address: Address, token: str = "", create: bool = False) -> None:
        """create: make the folder of milvus-lite if there is none. Raises CollectionError if Milvus cannot be reached."""
        self.address = address
        self._token = token
        _require("pymilvus")
        if address.is_local_milvus:
            _require("milvus_lite")
            if not create and not Path(address.uri).exists():
                raise CollectionError(f"There is no {address.uri}. Check the address, or create the collection first.")
            Path(address.uri).parent.mkdir(parents=True, exist_ok=True)
        # Without a pool of its own, a new connection to a server that was away inherits the waiting time of the old one.
        options = {"grpc.use_local_subchannel_pool": 1}
        with self.sentences("connecting"):
            from pymilvus import MilvusClient

            for package in ("pymilvus", "milvus_lite", "grpc._server"):  # would log a traceback of what is a sentence here
                logging.getLogger(package).setLevel(logging.CRITICAL)
            self._client = MilvusClient(address.uri, token=token, timeout=CONNECT_SECONDS, dedicated=True, grpc_options=options)
        self._open = True
        self._loading = threading.Lock()

    def call(self, action: str, function: Callable[[Any], Result]) -> Result:
        """What `function` returns for the client. action: what fails if it fails: "searching". Raises CollectionError."""
        with self.sentences(action):
            try:
                return function(self._client)
            except Exception as error:
                if getattr(error, "code", None) != NOT_LOADED:
                    raise
            self.load()
            return function(self._client)

    def load(self) -> None:
        """Load the collection into memory; Milvus searches no other."""
        with self.sentences("loading"), self._loading:
            self._client.load_collection(self.address.name, timeout=BUILD_SECONDS)

    def close(self) -> None:
        """Close it. The last connection to a file of milvus-lite also ends its server, so that other processes can open it."""
        if not self._open:
            return
        self._open = False
        self._client.close()
        if self.address.is_local_milvus:
            _release(self.address.uri)

    @contextmanager
    def sentences(self, action: str) -> Iterator[None]:
        """Turn any error, of pymilvus, of gRPC or over an answer that lacks something, into a CollectionError without the token."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            log.warning("%s: %s: %s", action, type(error).__name__, type(error.__cause__).__name__)
            text = _sentence(self.address, action, error)
            raise CollectionError(text.replace(self._token, "…") if self._token else text) from None


@contextmanager
def closing_on_error(connection: Connection) -> Iterator[None]:
    try:
        yield
    except CollectionError:
        connection.close()
        raise


def _require(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise CollectionError(f"Collections in Milvus need the package {package.replace('_', '-')}: {INSTALL}")


def _sentence(address: Address, action: str, error: BaseException) -> str:
    import grpc

    codes = set(_codes(error))
    if address.is_local_milvus and "Open local milvus failed" in str(error):
        return (
            f"{address.uri} cannot be opened: another process has it open, or it is no folder of milvus-lite 3. milvus-lite allows "
            f"one process; for several, run `milvus-lite server --data-dir {address.uri} --host 127.0.0.1` and give its address."
        )
    if codes & {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}:
        return f"Milvus at {address.uri} refuses the token, or needs one. Check the token and what it may do."
    if codes & set(NOT_FOUND):
        return f"There is no collection '{address.name}' in Milvus at {address.uri}. Check the name, or create it first."
    if grpc.StatusCode.DEADLINE_EXCEEDED in codes:
        return f"Milvus at {address.uri} took too long ({action}). Try again, or ask for less at once."
    if grpc.StatusCode.UNAVAILABLE in codes or "Fail connecting" in str(error):
        return f"Milvus at {address.uri} does not answer ({action}). Check that it runs and that the address is right."
    if isinstance(error, (KeyError, TypeError, ValueError, IndexError, OverflowError)) and not hasattr(error, "code"):
        return (
            f"The collection '{address.name}' in Milvus at {address.uri} holds other rows than SBERT Studio writes ({action}). "
            "Index its files again, into a new collection."
        )
    reason = " ".join(str(getattr(error, "message", "") or error).split())[:LONGEST_REASON]
    return f"Milvus at {address.uri} failed while {action}: {reason}"


def _codes(error: BaseException | None) -> Iterator[Any]:
    """The codes of Milvus and gRPC of an error and of what caused it."""
    visited = set[int]()
    while error is not None and id(error) not in visited:  # pymilvus raises errors from themselves
        visited.add(id(error))
        code = getattr(error, "code", None)
        yield code() if callable(code) else code
        error = error.__cause__ or error.__context__


def _release(uri: str) -> None:
    """End the server of a file of milvus-lite if no other client of this process uses it."""
    from milvus_lite.server_manager import server_manager_instance as servers
    from pymilvus.client.connection_manager import ConnectionManager

    local = servers.start_and_get_uri(uri)
    used = {connection["address"] for connection in ConnectionManager.get_instance().get_stats()["connections"]}
    if local and local.removeprefix("http://") not in used:
        servers.release_server(uri)
