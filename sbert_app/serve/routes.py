"""`POST /v1/embeddings`, `GET /v1/models` and `/v1/models/NAME`, for OpenAI clients. Every error has OpenAI's shape."""

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from sbert_app.errors import OUR_FAULT, UserError
from sbert_app.runtime.stop import network_address
from sbert_app.runtime.workbench import Workbench
from sbert_app.serve import bodies
from sbert_app.serve.embeddings import EmbeddingRequest, EmbeddingService, RefusedError
from sbert_app.settings import Limits

THREADS = 16  # that check requests and load models; none is held while a request waits for the device
INLINE_BYTES = 4_096  # requests of up to so many bytes are checked by the event loop itself: sooner than a thread begins
INLINE_ROWS = 64  # answers of up to so many embeddings are written by it too

log = logging.getLogger(__name__)

Handler = Callable[[Request], Awaitable[Response]]
Result = TypeVar("Result")


def routes(bench: Workbench) -> list[Route]:
    """The routes, to be added to the app."""
    api = Api(bench)
    return [
        Route("/v1/embeddings", api.answering(api.embeddings), methods=["POST"]),
        Route("/v1/models", api.answering(api.models), methods=["GET"]),
        Route("/v1/models/{name:path}", api.answering(api.model), methods=["GET"]),  # names of the Hub hold a slash
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
        self._bench, self._hosted, self._key = bench, settings.hosted, settings.key.encode()
        self._service = EmbeddingService(bench)
        self._places = RequestPlaces(settings.limits)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="v1")

    def answering(self, handler: Handler) -> Handler:
        """A handler that checks the key, takes a place, and answers with an error instead of raising one."""

        async def answer(request: Request) -> Response:
            try:
                self._check_key(request)
                with self._places.take(self._address(request)):
                    return await handler(request)
            except RefusedError as error:
                return bodies.refusal(str(error), error.status, error.param, error.code)
            except UserError as error:
                return bodies.refusal(str(error), 400)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            except Exception:
                log.exception("%s failed", request.url.path)
                return bodies.refusal(OUR_FAULT, 500)

        return answer

    async def embeddings(self, request: Request) -> Response:
        body = await bodies.read_body(request)
        checked = await self._checked(body)
        vectors = await asyncio.wrap_future(self._service.encode(checked))
        if len(vectors) <= INLINE_ROWS:
            return bodies.as_json(bodies.embeddings(checked, vectors))
        return bodies.as_json(await self._in_thread(lambda: bodies.embeddings(checked, vectors)))

    async def models(self, request: Request) -> Response:
        return bodies.as_json(await self._in_thread(lambda: bodies.models(self._bench.registry.encoders())))

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._in_thread(lambda: self._service.check_name(name))
        return bodies.as_json(orjson.dumps(bodies.model(name)))

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _checked(self, body: bytes) -> EmbeddingRequest:
        if len(body) <= INLINE_BYTES and self._service.is_quick(fields := bodies.parsed(body)):
            return self._service.check(fields)
        return await self._in_thread(lambda: self._service.check(bodies.parsed(body)))

    def _check_key(self, request: Request) -> None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if self._key and not (scheme.lower() == "bearer" and hmac.compare_digest(key.strip().encode("latin-1"), self._key)):
            raise RefusedError(
                "The API key is missing or wrong. Send it as Authorization: Bearer KEY.", None, 401, "invalid_api_key"
            )

    def _address(self, request: Request) -> str:
        """The visitor's network address if the app is hosted, else ""."""
        client = request.client.host if request.client else ""
        return network_address(request.headers.get("x-forwarded-for", ""), client) if self._hosted else ""
