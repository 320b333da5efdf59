"""Bodies of requests and answers under /v1, as OpenAI clients send and read them."""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from starlette.requests import Request
from starlette.responses import Response

from sbert_app.serve.embeddings import EmbeddingRequest, RefusedError
from sbert_app.settings import MEGABYTE
from sbert_app.vectors import Vectors

MOST_BYTES = 8 * MEGABYTE
BODY_SECONDS = 30  # to send a body in


async def read_body(request: Request) -> bytes:
    """The body, at most MOST_BYTES. Raises RefusedError for a longer or a slow one, and for what is not sent as JSON.

    The type matters: a form of a web page elsewhere cannot send it.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError("Send JSON, with the header Content-Type: application/json.", status=415)
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)  # what is too much is read to its end and dropped: a client reads no answer while it sends
                body += chunk if size <= MOST_BYTES else b""
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


def embeddings(request: EmbeddingRequest, vectors: Vectors) -> bytes:
    """The answer to a request. vectors: (n, dim) float32."""
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    values = [base64.b64encode(row).decode() for row in rows] if request.base64 else rows
    return orjson.dumps(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": i, "embedding": value} for i, value in enumerate(values)],
            "model": request.encoder.name,
            "usage": {"prompt_tokens": request.tokens, "total_tokens": request.tokens},
        },
        option=orjson.OPT_SERIALIZE_NUMPY,
    )


def models(names: Sequence[str]) -> bytes:
    """The list of models."""
    return orjson.dumps({"object": "list", "data": [model(name) for name in names]})


def model(name: str) -> dict[str, Any]:
    """One model."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "sbert-studio"}


def as_json(content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(content, status, headers, media_type="application/json")


def refusal(text: str, status: int, param: str | None = None, code: str | None = None) -> Response:
    """An error in OpenAI's shape."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    content = orjson.dumps({"error": {"message": text, "type": kind, "param": param, "code": code}})
    return as_json(content, status, {"WWW-Authenticate": "Bearer"} if status == 401 else None)
