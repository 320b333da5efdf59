"""Who may use the running app: by password, by Hugging Face against a stand-in provider, and what needs no login."""

import asyncio
import base64
import errno
import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from urllib.parse import parse_qs, urlparse

import httpx
import pytest
from gradio_client import Client
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from sbert_app.errors import UserError
from sbert_app.quotas import ANONYMOUS, SIGNED_IN, Quota
from sbert_app.settings import BASIC, HUGGING_FACE, Settings
from sbert_app.ui import login as module
from sbert_app.ui.login import check_login
from sbert_app.users import MOST_OF_BOTH, SALT_BYTES, hashed
from sbert_app.watching import JOBS
from tests import served
from tests.attacks.server import starting
from tests.oauth import Browser, Provider, provider
from tests.served import concrete, in_the_end

PASSWORD = "correct horse"  # noqa: S105
QUOTAS = {(ANONYMOUS, "hour"): Quota(rows=10, bytes=400_000), (SIGNED_IN, "hour"): Quota(rows=99, bytes=900_000)}
# Gradio's own, which tell or change nothing without the secret of a session; and those of programs, who have a key.
WITHOUT_LOGIN = {
    "/healthz", "/readyz",
    "/", "/config", "/login", "/logout", "/quota", "/theme.css", "/favicon.ico", "/manifest.json", "/robots.txt", "/pwa_icon",
    "/pwa_icon/{size}", "/static/{path:path}", "/assets/{path:path}", "/v1/embeddings", "/v1/models", "/v1/models/{name:path}",
    *(f"/gradio_api/{path}" for path in ("app_id", "user", "token", "cancel", "reset", "startup-events", "theme.css",
    "heartbeat/{session_hash}")),
}  # fmt: skip


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    home = tmp_path_factory.mktemp("home")
    (home / "users").write_text(f"ann:{hashed(PASSWORD, b'a' * SALT_BYTES)}\n")
    return Settings(home=home, device="cpu", hosted=True, login=BASIC, users=home / "users", quotas=QUOTAS, key="sk-1")


@pytest.fixture(scope="module")
def app(settings: Settings) -> Iterator[served.Served]:
    with closing(served.Served(settings)) as app:
        yield app


def log_in(app: served.Served, name: str, password: str, *forwarded: str) -> httpx.Response:
    """Of a visitor from this address, as the lines of proxies name it."""
    headers = [("x-forwarded-for", line) for line in forwarded]
    return httpx.post(f"{app.url}login", data={"username": name, "password": password}, headers=headers)


def test_the_right_password_lets_in_and_no_other(app):
    assert httpx.post(f"{app.url}gradio_api/queue/join", json={"data": [], "fn_index": 0, "session_hash": "x"}).status_code == 401
    assert "auth_required" in httpx.get(app.url).text and "After five wrong passwords" in httpx.get(app.url).text
    for name, password in (("ann", "wrong"), ("eve", PASSWORD), ("ann", "")):
        answer = log_in(app, name, password, "10.0.0.1")
        assert answer.status_code in (400, 422) and not answer.cookies
    cookies = log_in(app, "ann", PASSWORD, "10.0.0.1").cookies
    assert "auth_required" not in httpx.get(app.url, cookies=cookies).text
    assert httpx.get(f"{app.url}gradio_api/user", cookies=cookies).json() == "ann"
    with closing(Client(app.url, auth=("ann", PASSWORD), verbose=False)) as client:
        assert client.predict(api_name="/models")
    assert httpx.get(f"{app.url}quota", cookies=cookies).text.startswith("Left for you: 99 rows")
    httpx.get(f"{app.url}logout", cookies=cookies)
    assert httpx.get(f"{app.url}gradio_api/user", cookies=cookies).json() is None


def test_each_try_to_log_in_is_a_line_of_the_log_without_the_name(app, caplog):
    caplog.set_level(logging.INFO, JOBS.name)
    for password in ("wrong", PASSWORD):
        log_in(app, "ann", password, "10.0.0.7")
    tried = [record.about for record in caplog.records if record.name == JOBS.name and record.about["job"] == "login"]
    assert [about["outcome"] for about in tried] == ["refused", "ok"] and "ann" not in json.dumps(tried)
    refused = [record.getMessage() for record in caplog.records if record.name == module.__name__]
    assert refused == ["a login was refused, from 10.0.0.7"]


def test_wrong_passwords_are_limited_and_the_sentence_says_so(app):
    for _ in range(MOST_OF_BOTH):
        assert log_in(app, "ann", "wrong", "10.0.0.9").json() == {"detail": "Incorrect credentials."}
    answer = log_in(app, "ann", PASSWORD, "10.0.0.9")
    assert answer.status_code == 400 and answer.json() == {"detail": "Too many wrong passwords. Wait five minutes, then try again."}
    assert "Too many" in log_in(app, "ann", PASSWORD, "1.1.1.1, 10.0.0.9").text  # what a visitor writes itself comes first
    assert "Too many" in log_in(app, "ann", PASSWORD, "1.1.1.2", "10.0.0.9:5001").text  # of a proxy that adds a line of its own
    assert log_in(app, "ann", PASSWORD, "10.0.0.8").status_code == 200


def test_every_other_route_needs_the_login(app):
    asked = [(method, path) for method, path in sorted(app.routes()) if (path.rstrip("/") or "/") not in WITHOUT_LOGIN]
    let_in = []
    for method, path in asked:
        with httpx.stream(method, f"{app.url.rstrip('/')}{concrete(path)}", timeout=30) as answer:
            if answer.status_code not in (401, 404, 405, 422) or (answer.status_code == 422 and "queue" in path):
                let_in.append((method, path, answer.status_code))
    assert let_in == [] and len(asked) > 25


def test_v1_is_by_key_alone(app, settings):
    """And closed where there is a login and no key: nobody left it open by forgetting it."""
    ask = {"json": {"model": "all-MiniLM-L6-v2", "input": "a"}, "timeout": 60}
    assert httpx.post(f"{app.url}v1/embeddings", headers={"Authorization": "Bearer sk-1"}, **ask).status_code == 200
    assert httpx.post(f"{app.url}v1/embeddings", **ask).status_code == 401
    with closing(served.Served(replace(settings, key=""))) as keyless:
        answer = httpx.post(f"{keyless.url}v1/embeddings", **ask)
        assert answer.status_code == 403 and "SBERT_STUDIO_KEY" in answer.text


def upload(app: served.Served, size: int, address: str) -> httpx.Response:
    files, headers = {"files": ("a.txt", b"x" * size)}, {"x-forwarded-for": address}
    return httpx.post(f"{app.url}gradio_api/upload", files=files, headers=headers, timeout=60)


def bytes_used(app: served.Served, address: str) -> float:
    return app.bench.usage._counts["hour"].of(((ANONYMOUS, address), "bytes")).amount


@pytest.fixture(scope="module")
def plain(settings: Settings) -> Iterator[served.Served]:
    """Without a login."""
    limits = replace(settings.limits, file_bytes=350_000)
    with closing(served.Served(replace(settings, login="off", limits=limits, key=""))) as app:
        yield app


def test_uploaded_bytes_are_counted_and_refused_uploads_are_not(plain):
    first = upload(plain, 200_000, "10.1.0.1")
    sent = int(first.request.headers["content-length"])
    assert first.status_code == 200 and bytes_used(plain, "10.1.0.1") == sent
    refused = upload(plain, 200_000, "10.1.0.1")
    assert refused.status_code == 429 and "again from" in refused.text
    assert "0.2 MB of uploads are left of your 0.4 MB" in refused.text
    assert bytes_used(plain, "10.1.0.1") == sent
    assert upload(plain, 360_000, "10.1.0.2").status_code == 413
    assert in_the_end(lambda: bytes_used(plain, "10.1.0.2") == 0)  # an answer arrives before what it did not use is given back
    part = b'Content-Disposition: form-data; name="files"; filename="a.txt"'
    body = (chunk for chunk in [b"--b\r\n", part, b"\r\n\r\nabc\r\n--b--\r\n"])  # sent without a length
    headers = {"content-type": "multipart/form-data; boundary=b", "x-forwarded-for": "10.1.0.3"}
    assert httpx.post(f"{plain.url}gradio_api/upload", content=body, headers=headers).status_code == 200
    assert in_the_end(lambda: 80 < bytes_used(plain, "10.1.0.3") < 120)


@pytest.mark.parametrize(
    ("error", "answered", "line"),
    [(ClientDisconnect(), [], "an upload was given up"), (OSError(errno.ENOSPC, "No space left"), [507], "uploads: ")],
)
def test_an_upload_that_is_given_up_or_finds_the_disk_full_is_no_fault_of_the_app(plain, caplog, error, answered, line):
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise error

    async def send(message: Message) -> None:
        sent.append(message)

    sent = list[Message]()
    caplog.set_level(logging.INFO, module.__name__)
    scope = {"type": "http", "method": "POST", "path": "/gradio_api/upload", "headers": [(b"x-forwarded-for", b"10.3.0.1")]}
    asyncio.run(module.Door(failing, plain.bench)(scope, None, send))
    assert [message["status"] for message in sent if "status" in message] == answered
    assert line in caplog.text


def test_an_endpoint_counts_for_the_visitor_who_calls_it(plain):
    asked = ((6, "10.2.0.1", "complete"), (5, "10.2.0.1", "error"), (4, "10.2.0.1", "complete"), (10, "10.2.0.2", "complete"))
    for rows, address, answer in asked:
        data, headers = [None, "\n".join(map(str, range(rows))), [], "all-MiniLM-L6-v2", []], {"x-forwarded-for": address}
        event = plain.http.post("gradio_api/call/index_corpus", json={"data": data}, headers=headers).json()["event_id"]
        assert f"event: {answer}" in plain.http.get(f"gradio_api/call/index_corpus/{event}", headers=headers).text


# Hugging Face ---------------------------------------------------------------------------------------------------------------------


def test_outside_of_a_space_huggingface_is_refused(monkeypatch, tmp_path):
    """There Gradio would let in everyone as one user that it makes up."""
    settings = Settings(home=tmp_path, hosted=True, login=HUGGING_FACE)
    no_space = "needs a Space of Hugging Face with `hf_oauth: true`"

    def refused(why: str) -> None:
        with pytest.raises(UserError, match=why):
            check_login(settings)

    refused(no_space)
    monkeypatch.setenv("SPACE_ID", "me/studio")  # anyone may set this: only on a Space is the other set too
    refused(no_space)
    for name in ("SYSTEM", *module.OF_A_SPACE):
        monkeypatch.setenv(name, "spaces")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    refused(r"needs one more package: pip install 'gradio\[oauth\]'")
    monkeypatch.setattr(module, "find_spec", lambda name: name)
    check_login(settings)
    monkeypatch.setenv("OAUTH_CLIENT_SECRET", "")  # Gradio would sign its cookies with a key that anyone knows
    refused(no_space)


def test_a_login_that_gradio_made_up_counts_for_nothing(app):
    """Though a mocked session were there: the app, not only its start, knows that this is no Space."""
    info = {"userinfo": {"preferred_username": "eve"}, "expires_at": time.time() + 60}
    scope = {"type": "http", "headers": [], "app": app.app, "session": {"oauth_info": info}}
    assert module.signed_in(module.Request(scope)) == ""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app in a process of its own, which believes that it is a Space."""
    home = tmp_path_factory.mktemp("space")
    (home / "quotas.toml").write_text("[anonymous.hour]\nrows = 10\n[signed_in.hour]\nrows = 99\n")
    with provider() as variables:
        own = {"SBERT_STUDIO_HOME": str(home), "SBERT_STUDIO_QUOTAS": str(home / "quotas.toml")}
        with starting(home / "log", os.environ | variables | own) as server:
            server.wait_for(lambda: server.answers("quota"))
            yield server.url


def rest(space: str, browser: Browser) -> str:
    return browser.get(f"{space}/quota").text


def test_hugging_face_signs_in_by_its_redirects(space):
    browser = Browser()
    assert "auth_required" not in browser.get(space).text and rest(space, browser) == "Left for you: 10 rows."
    assert browser.get(f"{space}/login/huggingface").status_code == 200
    assert rest(space, browser) == "Left for you: 99 rows."
    assert rest(space, Browser()) == "Left for you: 10 rows."
    browser.get(f"{space}/logout")
    assert rest(space, browser) == "Left for you: 10 rows."


def test_a_wrong_state_signs_nobody_in(space):
    """As when a page elsewhere sends a visitor's browser to the callback with the code of another account."""
    browser = Browser()
    begun = browser.get(f"{space}/login/huggingface", follow=False)
    back = parse_qs(urlparse(begun.headers["location"]).query)
    answer = browser.get(f"{space}/login/callback?code=code&state=x{back['state'][0]}", follow=False)
    assert answer.is_redirect and answer.headers["location"].startswith("/login/huggingface?")
    assert rest(space, browser) == "Left for you: 10 rows."
    stranger = Browser()  # who never asked for a login
    assert stranger.get(f"{space}/login/callback?code=code&state={back['state'][0]}", follow=False).status_code >= 300
    assert rest(space, stranger) == "Left for you: 10 rows."


def test_a_token_that_has_expired_is_nobodys(space, monkeypatch):
    monkeypatch.setattr(Provider, "lasts", -1)
    browser = Browser()
    browser.get(f"{space}/login/huggingface")
    assert "session" in browser.cookies and rest(space, browser) == "Left for you: 10 rows."


def test_a_cookie_that_was_made_elsewhere_is_nobodys(space):
    signed = Browser()
    signed.get(f"{space}/login/huggingface")
    payload, time_and_signature = signed.cookies["session"].split(".", 1)
    session = json.loads(base64.b64decode(payload))
    session["oauth_info"]["userinfo"]["preferred_username"] = "another"
    forged = Browser()
    forged.cookies["session"] = f"{base64.b64encode(json.dumps(session).encode()).decode()}.{time_and_signature}"
    assert rest(space, signed) == "Left for you: 99 rows." and rest(space, forged) == "Left for you: 10 rows."
