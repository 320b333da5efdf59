"""Who may ask the running app, by name and by origin; which routes are closed; what the browser is told."""

import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from sbert_app.environment import settings_from_environment
from sbert_app.settings import Settings
from tests import served
from tests.served import concrete

# Gradio's routes that the page, its API and gradio_client use, or that tell nothing. A new one must be judged before it is let in.
OPEN = {
    "/", "/assets/{path:path}", "/config", "/favicon.ico", "/manifest.json", "/pwa_icon", "/pwa_icon/{size}", "/robots.txt",
    "/quota", "/static/{path:path}", "/theme.css", "/healthz", "/readyz", "/v1/embeddings", "/v1/models",
    *(f"/gradio_api/{path}" for path in (
        "api/{api_name}", "app_id", "call/v2/{api_name}", "call/{api_name}", "call/v2/{api_name}/{event_id}",
        "call/{api_name}/{event_id}", "cancel", "component_server", "file/{path:path}", "file={path_or_url:path}",
        "heartbeat/{session_hash}", "info", "login_check", "openapi.json", "queue/data", "queue/join", "queue/status", "reset",
        "run/{api_name}", "startup-events", "theme.css", "upload", "upload_progress", "user",
    )),
}  # fmt: skip


class Served(served.Served):
    """A running app, and requests to it with headers of the test's choice."""

    def ask(self, path: str = "/config", method: str = "GET", host: str = "localhost", **headers: str) -> httpx.Response:
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        with self.http.stream(method, path, headers={"Host": host, **own}) as response:
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                return response  # it never ends
            response.read()
        return response


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def serving(**settings: bool) -> Any:
    """A fixture: a running app with these settings."""

    @pytest.fixture(scope="module")
    def app(home: Path) -> Iterator[Served]:
        with closing(Served(Settings(home=home, device="cpu", **settings))) as app:
            yield app

    return app


local, space = serving(), serving(hosted=True, space=True)
hosted = serving(hosted=True)  # on a server that is no Space: the site of Hugging Face is as foreign as any


@pytest.fixture(scope="module")
def opened(home: Path) -> Iterator[Served]:
    """As a person opens it to the network around."""
    env = {"SBERT_STUDIO_HOME": str(home), "GRADIO_SERVER_NAME": "0.0.0.0", "SBERT_STUDIO_HOSTS": "studio.example, lab.example"}  # noqa: S104
    with closing(Served(replace(settings_from_environment(env), device="cpu"))) as app:
        yield app


def test_another_name_is_refused_on_every_route(local: Served) -> None:
    """A web page elsewhere whose name was made to lead to this machine (DNS rebinding)."""
    routes = local.routes()
    assert ("POST", "/gradio_api/upload") in routes and len(routes) > 50
    answers = {(method, path): local.ask(concrete(path), method, "evil.example:7860") for method, path in routes}
    assert {route: answer.status_code for route, answer in answers.items() if answer.status_code != 403} == {}
    assert "SBERT_STUDIO_HOSTS" in local.ask(host="evil.example").text


OURS = "localhost LOCALHOST:1 localhost.:7860 127.0.0.1:7860 127.8.9.1 [::1]:7860 [::1]"
LOOK_ALIKES = "127.0.0.1.evil.example localhost.evil.example 127.0.0.1@evil.example 0.0.0.0 192.168.1.5 2130706433 [::"


@pytest.mark.parametrize(
    ("host", "status"), [*((host, 200) for host in OURS.split()), *((host, 403) for host in [*LOOK_ALIKES.split(), ""])]
)
def test_this_machine_has_several_names_and_what_only_looks_like_it_is_refused(local: Served, host: str, status: int) -> None:
    assert local.ask(host=host).status_code == status


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://192.168.1.5:7860", "file://"]
)
def test_a_page_of_another_site_is_refused(local: Served, origin: str) -> None:
    posts = [("POST", path) for path in ("/gradio_api/upload", "/gradio_api/call/search", "/v1/embeddings")]
    for method, path in (*posts, ("GET", "/config"), ("GET", "/v1/models")):
        assert local.ask(path, method, Origin=origin).status_code == 403
    preflight = local.ask("/gradio_api/upload", "OPTIONS", Origin=origin, Access_Control_Request_Method="POST")
    assert "access-control-allow-origin" not in preflight.headers


def test_other_sites_may_link_to_the_page_and_embed_nothing(local: Served) -> None:
    answers = {("/", "GET"): 200, ("/", "POST"): 403, ("/gradio_api/info", "GET"): 403, ("/v1/models", "GET"): 403}
    for asked, status in answers.items():
        assert local.ask(*asked, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status_code == status
    assert local.ask("/config", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status_code == 403


def test_the_app_itself_and_programs_are_let_in(local: Served) -> None:
    asked = local.ask(Origin="http://localhost:7860", Sec_Fetch_Site="same-origin"), local.ask(Sec_Fetch_Site="none"), local.ask()
    asked += (
        local.ask(Origin="http://127.0.0.1:7860", host="127.0.0.1:7860"),
        local.ask("/v1/models", Origin="http://localhost:3000"),
    )
    assert {answer.status_code for answer in asked} == {200}


def test_opened_to_the_network_numbers_and_own_names_are_accepted(opened: Served) -> None:
    for host in ("192.168.1.5:7860", "0.0.0.0:7860", "[fe80::1]:7860", socket.gethostname(), "studio.example", "lab.example:80"):
        assert opened.ask(host=host, Origin=f"http://{host}").status_code == 200, host
    assert opened.ask(host="evil.example").status_code == 403
    assert opened.ask(host="192.168.1.5", Origin="http://192.168.1.6").status_code == 403
    assert opened.ask(host="127.0.0.1:7860", Origin="https://studio.example").status_code == 200  # a proxy that renames


def test_hosted_the_browser_tells_who_asks(hosted: Served, space: Served) -> None:
    assert space.ask(host="someone-studio.hf.space").status_code == 200
    own = space.ask(host="10.0.0.7:7860", Origin="https://someone-studio.hf.space", Sec_Fetch_Site="same-origin")
    hub = {"Origin": "https://huggingface.co", "Sec_Fetch_Site": "cross-site"}
    assert own.status_code == space.ask(**hub).status_code == 200 and hosted.ask(**hub).status_code == 403
    cross = {"Sec_Fetch_Site": "cross-site"}
    for method, path in (("POST", "/gradio_api/upload"), ("GET", "/config")):
        assert space.ask(path, method, Origin="https://evil.example", **cross).status_code == 403
    assert hosted.ask("/logout", Sec_Fetch_Mode="no-cors", **cross).status_code == 403  # an image
    assert hosted.ask("/logout", Sec_Fetch_Mode="navigate", **cross).status_code != 403
    assert space.ask("/", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe", **cross).status_code == 200


def test_every_route_is_needed_or_closed(local: Served) -> None:
    """Gradio brings routes for monitoring, editing, recording and more."""
    closed = {(method, path) for method, path in local.routes() if path.rstrip("/") not in {route.rstrip("/") for route in OPEN}}
    assert {path for _, path in closed} >= {"/monitoring/summary", "/gradio_api/vibe-code", "/gradio_api/deep_link"}
    assert {route: code for route in closed if (code := local.ask(concrete(route[1]), route[0]).status_code) != 404} == {}


ANSWERS = ("/", "/theme.css", "/config", "/healthz", "/v1/models", "/v1/models/nowhere", "/monitoring", "/nowhere")


def test_the_browser_is_told_what_the_page_may_do(local: Served, hosted: Served, space: Served) -> None:
    """On every answer: page, file, data, endpoint for programs, refusal."""
    hub = " https://huggingface.co https://*.hf.space"
    for app, framing in ((local, ""), (hosted, ""), (space, hub)):
        for answer in (*map(app.ask, ANSWERS), app.ask(Origin="https://evil.example", Sec_Fetch_Site="cross-site")):
            assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "same-origin"
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; ") and policy.endswith(f"; frame-ancestors 'self'{framing}")
            assert "http:" not in policy and "*;" not in policy
    assert local.ask("/").headers["cross-origin-resource-policy"] == "same-origin"


def test_the_page_is_sent_packed_and_nothing_else_is(local: Served) -> None:
    packed, plain, config = local.ask("/"), local.ask("/", **{"Accept-Encoding": "identity"}), local.ask("/config")
    assert packed.headers["content-encoding"] == "gzip" and packed.text[:1000] == plain.text[:1000]
    assert 4 * int(packed.headers["content-length"]) < len(plain.content)
    assert "content-encoding" not in plain.headers and "content-encoding" not in config.headers


def test_an_uploaded_file_opens_as_nothing_that_runs(local: Served) -> None:
    page = ("page.html", b"<script>document.title = 'ran'</script>", "text/html")
    path = httpx.post(f"{local.url}gradio_api/upload", files={"files": page}).json()[0]
    answer = httpx.get(f"{local.url}gradio_api/file={path}")
    assert answer.status_code == 200 and answer.content == page[1]
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["content-disposition"].startswith("attachment")
