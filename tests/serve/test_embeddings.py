"""The running app under /v1, driven by OpenAI's own client; mistakes and wrong keys are refused in its shape."""

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from openai import OpenAI

from sbert_app.runtime.workbench import Workbench
from sbert_app.serve.embeddings import RefusedError
from sbert_app.serve.routes import RequestPlaces
from sbert_app.settings import HOSTED_LIMITS, Limits, Settings
from tests import served
from tests.served import SLOW

MODEL = "all-MiniLM-L6-v2"
KEY = "sk-only-for-this-test"
HEAD_READ = 0.1  # seconds in which a server reads the head of a request


class Served(served.Served):
    """A running app with OpenAI's client beside the plain one."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.openai = OpenAI(base_url=f"{self.url}v1", api_key=settings.key or "none", max_retries=0, timeout=SLOW)

    def post(self, body: Any, **headers: str) -> httpx.Response:
        own = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post("v1/embeddings", content=body if isinstance(body, bytes) else json.dumps(body), headers=own)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def app(home: Path) -> Iterator[Served]:
    with closing(Served(Settings(home=home, device="cpu"))) as app:
        yield app


@pytest.fixture(scope="module")
def locked(home: Path) -> Iterator[Served]:
    """Hosted, with a key, and one request at a time for each address."""
    limits = replace(HOSTED_LIMITS, requests_an_address=1)
    with closing(Served(Settings(home=home, device="cpu", hosted=True, key=KEY, limits=limits))) as app:
        yield app


def assert_same(embeddings: Any, bench: Workbench, sentences: list[str]) -> None:
    """In bf16, what else is in a batch changes the last digits."""
    vectors = np.array(embeddings, dtype=np.float32)
    expected = bench.registry.encoder().encode(sentences)
    assert vectors.shape == expected.shape and (vectors * expected).sum(1).min() > 0.999
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"encoding_format": "float"}, {"dimensions": 384, "user": "somebody"}])
def test_openais_client_gets_what_the_encoder_gives(app: Served, sentences: list[str], options: dict[str, Any]) -> None:
    batch = [*sentences[:70], sentences[0], "łódź 🙂"]  # more than 64: written by a thread
    answer = app.openai.embeddings.create(model=MODEL, input=batch, **options)
    assert [item.index for item in answer.data] == list(range(72)) and answer.model == MODEL
    assert_same([item.embedding for item in answer.data], app.bench, batch)
    single = app.openai.embeddings.create(model=MODEL, input=batch[-1], **options)
    assert_same([single.data[0].embedding], app.bench, batch[-1:])
    usage = app.openai.embeddings.create(model=MODEL, input=["a cat", "word " * 3_000], **options).usage
    read = 4 + app.bench.registry.encoder().max_length
    assert usage.prompt_tokens == usage.total_tokens == read, "as the model reads them"


def test_base64_is_the_bytes_and_float_is_as_exact(app: Served) -> None:
    texts = ["one text", "and another"]
    numbers, packed = (app.post({"model": MODEL, "input": texts, "encoding_format": kind}).json() for kind in ("float", "base64"))
    for number, bytes_ in zip(numbers["data"], packed["data"], strict=True):
        assert np.array_equal(np.float32(number["embedding"]), np.frombuffer(base64.b64decode(bytes_["embedding"]), "<f4"))


def test_models_are_listed_but_for_those_of_runs(app: Served, home: Path, model_folder: Path) -> None:
    run = home / "runs" / "2026-a-secret"
    run.mkdir(parents=True)
    (run / "model").symlink_to(model_folder)
    assert [model.id for model in app.openai.models.list()] == list(app.bench.registry.encoders())
    for model in app.openai.models.list():
        assert app.openai.models.retrieve(model.id) == model
    with pytest.raises(openai.NotFoundError, match="There is no model 'other/name'"):
        app.openai.models.retrieve("other/name")
    assert app.openai.embeddings.create(model="runs/2026-a-secret", input="text").model == "runs/2026-a-secret"
    for name in ("text-embedding-3-small", "runs/2026-guessed", str(model_folder), "cross-MiniLM-L6-stsb", "new/dan", "a\nb"):
        with pytest.raises(openai.NotFoundError) as refused:
            app.openai.embeddings.create(model=name, input="text")
        assert refused.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "foo"), ("POST", "rerank"), ("GET", "embeddings"), ("DELETE", f"models/{MODEL}")]
)
def test_what_is_not_there_is_a_sentence_in_openais_shape(app: Served, method: str, path: str) -> None:
    answer = app.http.request(method, f"v1/{path}")
    assert answer.status_code == 404 and f"There is no {method} /v1/{path} here" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("param", "text", "values"),
    [
        ("dimensions", "384 dimensions", [256, True]),
        ("encoding_format", "float, base64", ["int8"]),
        ("input", "send the input as text", [[1, 2, 3], [[1, 2], [3]]]),
        ("input", "at least one text", [[], None, {"text": "a"}]),
        ("input", "index 1 must be text", [["a", None]]),
        ("input", "index 1 is blank", [["a", "", "b"]]),
        ("input", "index 0 is blank", [" \n", "\0"]),
        ("input", "at most 2,048", [["a"] * 2_049]),
        ("model", "by its name", [None, ["x"]]),
    ],
)
def test_a_mistake_is_a_sentence_in_openais_shape(app: Served, param: str, text: str, values: list[Any]) -> None:
    for value in values:
        answer = app.post({"model": MODEL, "input": "a", param: value})
        error = answer.json()["error"]
        assert answer.status_code == 400 and error["param"] == param and error["type"] == "invalid_request_error"
        assert text in error["message"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"text"', b"null", b'{"input": NaN}', b"\xff\xfe", b"[" * 100_000, b'"\\ud800"']
)
def test_a_body_that_is_no_json_object_is_refused(app: Served, body: bytes) -> None:
    answer = app.post(body)
    assert answer.status_code == 400 and "JSON" in answer.json()["error"]["message"]


def test_a_large_body_is_refused_before_it_is_read_as_json(app: Served) -> None:
    with pytest.raises(openai.APIStatusError, match="larger than 8 MB") as refused:
        app.openai.embeddings.create(model=MODEL, input=["x" * 1_000_000] * 9)
    assert refused.value.status_code == 413
    chunks = (b"x" * 1_000_000 for _ in range(9))  # without a length in the header
    answer = app.http.post("v1/embeddings", content=chunks, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_only_json_is_accepted_so_that_no_form_can_send_it(app: Served) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert app.post({"model": MODEL, "input": "a"}, Content_Type=kind).status_code == 415
    assert app.post({"model": MODEL, "input": "a"}, Content_Type="Application/JSON; charset=utf-8").status_code == 200


def test_with_a_key_set_it_is_required(locked: Served) -> None:
    assert len(locked.openai.embeddings.create(model=MODEL, input="text").data[0].embedding) == 384
    for key in ("wrong", KEY[:-1], KEY + "x", "é"):
        header = f"Bearer {key}".encode("latin-1")
        for answer in (
            locked.http.post("v1/embeddings", json={"model": MODEL, "input": "a"}, headers={"Authorization": header}),
            locked.http.get("v1/models", headers={"Authorization": header}),
        ):
            assert answer.status_code == 401 and answer.json()["error"]["code"] == "invalid_api_key"
    assert locked.http.get("v1/models").status_code == 401
    assert locked.http.get("v1/models", headers={"Authorization": f"Basic {KEY}"}).status_code == 401
    with pytest.raises(openai.AuthenticationError, match="API key is missing or wrong"):
        OpenAI(base_url=f"{locked.url}v1", api_key="wrong", max_retries=0).models.list()
    assert KEY not in repr(locked.bench.settings)


def test_an_address_takes_a_bounded_number_of_places(locked: Served) -> None:
    """A request that is still being sent holds its place; another address is served meanwhile."""
    request = {"model": MODEL, "input": "a"}
    keyed = {"Authorization": f"Bearer {KEY}"}
    body = json.dumps(request).encode()
    port = httpx.URL(locked.url).port
    head = (
        f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\nX-Forwarded-For: 10.0.0.1\r\n"
        f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(20):  # a head that is read while the question below is answered is refused itself
        slow = socket.create_connection(("127.0.0.1", port), timeout=SLOW)
        slow.sendall(head.encode() + body[:5])
        time.sleep(HEAD_READ)
        if (answer := locked.post(request, **keyed, X_Forwarded_For="10.0.0.1")).status_code == 429:
            break
        slow.close()
    with slow:
        assert answer.status_code == 429 and answer.json()["error"]["code"] == "rate_limit_exceeded"
        assert answer.headers["Retry-After"] == "1"
        assert locked.post(request, **keyed, X_Forwarded_For="10.0.0.2").status_code == 200
        slow.sendall(body[5:])
        assert slow.recv(12) == b"HTTP/1.1 200"
        while slow.recv(65_536):
            pass
    assert locked.post(request, **keyed, X_Forwarded_For="10.0.0.1").status_code == 200


def test_places_are_bounded_in_total_and_given_back() -> None:
    places = RequestPlaces(replace(Limits(), requests=2, requests_an_address=2))
    with places.take("a"), places.take("b"), pytest.raises(RefusedError, match="Too many requests"), places.take("c"):
        pass
    with places.take("a"), places.take("a"):
        pass
    assert not places._taken


def test_sixteen_clients_at_once_get_their_own_rows(app: Served, sentences: list[str]) -> None:
    requests = [sentences[i * 5 : i * 5 + 1 + i % 5] for i in range(16)]
    barrier = threading.Barrier(16)

    def client(texts: list[str]) -> list[list[float]]:
        own = OpenAI(base_url=f"{app.url}v1", api_key="none", max_retries=0, timeout=SLOW)
        barrier.wait(SLOW)
        return [item.embedding for _ in range(3) for item in own.embeddings.create(model=MODEL, input=texts).data]

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(client, requests))
    for texts, embeddings in zip(requests, answers, strict=True):
        assert_same(embeddings, app.bench, texts * 3)


def test_while_the_device_is_busy_the_app_still_answers(app: Served) -> None:
    with ThreadPoolExecutor(1) as thread:
        with app.bench.device.hold():
            waiting = thread.submit(app.post, {"model": MODEL, "input": "a"})
            assert app.http.get("v1/models").status_code == 200
            assert not waiting.done()
        assert waiting.result(SLOW).status_code == 200
