"""A real server closes connections that send no complete head, and no others."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest
import uvicorn

from sbert_app.ui import gradio_changes as heads

BOUND = 1.0
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def app(scope, receive, send):
    """Answers slowly."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await asyncio.sleep(2 * BOUND)
        await send({"type": "http.response.body", "body": b"slow"})


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(heads, "HEAD_SECONDS", BOUND)
    monkeypatch.setitem(heads.HTTP_PROTOCOLS, "auto", heads.HTTP_PROTOCOLS["auto"])
    heads.bound_heads()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=20))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


def read(connection: socket.socket) -> bytes:
    """What comes until the other side closes, at most for ten seconds."""
    connection.settimeout(10)
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(4096):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_connection_without_a_complete_head_is_closed(port, begun):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        start = time.monotonic()
        connection.sendall(begun)
        assert read(connection) == b"" and time.monotonic() - start < 5 * BOUND


def test_a_slow_answer_is_not_cut_and_a_second_head_is_bound_too(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(REQUEST)
        connection.settimeout(20)
        answer = b""
        while not answer.endswith(b"slow"):
            answer += connection.recv(4096)
        start = time.monotonic()
        connection.sendall(REQUEST[:10])
        assert read(connection) == b"" and time.monotonic() - start < 5 * BOUND
