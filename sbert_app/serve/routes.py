"""`POST /v1/embeddings`, `GET /v1/models` and `/v1/models/NAME`, for OpenAI clients. Every error has OpenAI's shape."""

import asyncio
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sbert_app.errors import EndedEarlyError, FaultError, UserError
from sbert_app.runtime.quota_usage import SpentError
from sbert_app.runtime.visitors import Visitor, asking
from sbert_app.runtime.workbench import Workbench
from sbert_app.serve.embeddings import EmbeddingRequest, EmbeddingService, RefusedError
from sbert_app.settings import BASIC, MEGABYTE, Limits
from sbert_app.watching import watched

MOST_BYTES = 8 * MEGABYTE
BODY_SECONDS = 30  # to send a body in
THREADS = 16  # that check requests and load models; none is held while a request waits for the device
INLINE_BYTES = 4_096  # requests of up to so many bytes are checked by the event loop itself: sooner than a thread begins
INLINE_ROWS = 64  # answers of up to so many embeddings are written by it too

ALL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
Handler = Callable[[Request], Awaitable[Response]]
Result = TypeVar("Result")


def routes(bench: Workbench) -> list[Route]:
    """The routes, to be added to the app."""
    api = Api(bench)
    return [
        Route("/v1/embeddings", api.answering(api.embeddings), methods=["POST"]),
        Route("/v1/models", api.answering(api.models), methods=["GET"]),
        Route("/v1/models/{name:path}", api.answering(api.model), methods=["GET"]),  # names of the Hub hold a slash
        Route("/v1/{rest:path}", api.answering(api.nothing), methods=ALL_METHODS),
    ]


class RequestPlaces:
    """The requests that are being answered, limited in total and by network address. Used by one event loop, without a lock."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._taken: Counter[str] = Counter()

    @contextmanager
    def take(self, address: str) -> Iterator[None]:
        """Hold a place while a request is read and answered. Raises RefusedError (429) if none is free."""
        if self._taken.total() >= self._limits.requests or self._taken[address] >= self._limits.requests_an_address:
            text = "Too many requests are being answered at once. Try again in a moment."
            raise RefusedError(text, status=429, code="rate_limit_exceeded")
        self._taken[address] += 1
        try:
            yield
        finally:
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]


class Api:
    """The handlers. They run on the event loop; whatever takes time runs in a thread."""

    def __init__(self, bench: Workbench) -> None:
        settings = bench.settings
        self._bench, self._key, self._login = bench, settings.key, settings.login
        self._service = EmbeddingService(bench)
        self._places = RequestPlaces(settings.limits)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="v1")

    def answering(self, handler: Handler) -> Handler:
        """A handler that checks the key, takes a place, and answers with an error instead of raising one."""

        async def answer(request: Request) -> Response:
            try:
                with watched("v1", handler.__name__) as request.state.watched:
                    self._check_key(request)
                    visitor: Visitor = request.scope["visitor"]
                    with self._places.take(visitor.address), asking(Visitor() if self._key else visitor):
                        return await handler(request)
            except RefusedError as error:
                return refusal(str(error), error.status, error.param, error.code)
            except UserError as error:
                return refusal(str(error), 429 if isinstance(error, SpentError) else 400)
            except FaultError as fault:
                return refusal(str(fault), 500)

        return answer

    async def embeddings(self, request: Request) -> Response:
        checked = await self._checked(await read_body(request))
        request.state.watched.sizes = {"texts": len(checked.sentences), "tokens": checked.tokens}
        vectors = await asyncio.wrap_future(self._service.encode(checked))
        inline = len(vectors) <= INLINE_ROWS
        answer = checked.answer(vectors) if inline else await self._in_thread(lambda: checked.answer(vectors))
        return Response(answer, media_type="application/json")

    async def models(self, request: Request) -> Response:
        names = await self._in_thread(lambda: self._bench.registry.encoders())
        return JSONResponse({"object": "list", "data": [_model(name) for name in names]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._in_thread(lambda: self._service.check_name(name))
        return JSONResponse(_model(name))

    async def nothing(self, request: Request) -> Response:
        offered = "POST /v1/embeddings, GET /v1/models and GET /v1/models/NAME"
        raise RefusedError(f"There is no {request.method} {request.url.path} here, only {offered}.", None, 404, "not_found")

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _checked(self, body: bytes) -> EmbeddingRequest:
        if len(body) <= INLINE_BYTES and self._service.is_quick(fields := parsed(body)):
            return self._service.check(fields)
        return await self._in_thread(lambda: self._service.check(parsed(body)))

    def _check_key(self, request: Request) -> None:
        if self._login == BASIC and not self._key:
            raise RefusedError("This app has a login, and no key for programs yet: set SBERT_STUDIO_KEY.", None, 403)
        if self._key and not has_key(request, self._key):
            text = "The API key is missing or wrong. Send it as Authorization: Bearer KEY."
            raise RefusedError(text, None, 401, "invalid_api_key")


def has_key(request: Request, key: str) -> bool:
    """Whether a program has sent the key. False if there is none to send."""
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    return bool(key) and scheme.lower() == "bearer" and hmac.compare_digest(sent.strip().encode("latin-1"), key.encode())


async def read_body(request: Request) -> bytes:
    """The body, at most MOST_BYTES. Raises RefusedError for a longer or a slow one, and for what is not sent as JSON."""
    # The type matters: a form of a web page elsewhere cannot send it.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError("Send JSON, with the header Content-Type: application/json.", status=415)
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)  # what is too much is read to its end and dropped: a client reads no answer while it sends
                body += chunk if size <= MOST_BYTES else b""
    except ClientDisconnect:
        raise EndedEarlyError("The client has left.") from None  # nobody reads it
    except TimeoutError:
        raise RefusedError(f"The body did not arrive within {BODY_SECONDS} seconds. Send it again.", status=408) from None
    if size > MOST_BYTES:
        megabytes = MOST_BYTES // MEGABYTE
        raise RefusedError(f"The body is larger than {megabytes} MB. Send fewer or shorter texts at a time.", "input", 413)
    return bytes(body)


def parsed(body: bytes) -> Any:
    """The values of a JSON body. Raises RefusedError."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(f"The body is not JSON: {error}.") from None


def refusal(text: str, status: int, param: str | None = None, code: str | None = None) -> Response:
    """An error in OpenAI's shape. Of 429 only too many requests have a code: they are soon over, a spent quota is not."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    content = {"error": {"message": text, "type": kind, "param": param, "code": code}}
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"} if code else None}
    return JSONResponse(content, status, headers.get(status))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "sbert-studio"}
