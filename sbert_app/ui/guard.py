"""Middleware for all routes: refuses requests from other sites, adds security headers for browsers, and packs the page.

A local app has no login. It keeps pages of other sites out by checking `Host` (DNS rebinding maps a foreign name to this machine)
and the requesting page. Hosted, a proxy sets `Host`, so only the browser's `Origin` and `Sec-Fetch-Site` are checked.
"""

from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from sbert_app.settings import ANY_ADDRESS, OFF, Settings

HUB = ("huggingface.co", "hf.co")  # sites that embed a Space
FRAMES = "https://huggingface.co https://*.hf.space"
CLOSED = (  # routes of Gradio that this app does not need
    "/monitoring", "/openapi.json", "/login", "/logout", "/svelte", "/gradio_api/deep_link", "/gradio_api/dev", "/gradio_api/proxy",
    "/gradio_api/profiling", "/gradio_api/runs", "/gradio_api/run-history", "/gradio_api/process_recording", "/gradio_api/stream",
    "/gradio_api/custom_component", "/gradio_api/vibe", "/gradio_api/undo-vibe", "/gradio_api/token",
)  # fmt: skip
FILES = "/gradio_api/file"
ENDPOINTS = ("/gradio_api", "/v1")  # for programs and for the page itself: no other site may link to them

# Nothing from other hosts. Gradio's page has inline scripts and styles; gr.HTML and plotly evaluate strings as functions.
CONTENT = {
    "default-src": "'none'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self' data:",
    **dict.fromkeys(("font-src", "manifest-src", "base-uri", "form-action"), "'self'"),
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


class Guard:
    """Passes a request to the app, or answers with one sentence and 403 (foreign host or site) or 404 (closed route)."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._page = app, GZipMiddleware(app, compresslevel=5)  # the page is a megabyte of text
        self._hosted, self._open = settings.hosted, () if settings.login == OFF else ("/login", "/logout")
        self._hub = HUB if settings.space else ()
        self._names = {host_name(name) for name in (settings.address, *settings.hosts)}
        self._any_address = settings.address in ANY_ADDRESS
        frames = f"'self' {FRAMES}" if settings.space else "'self'"  # the Hub may show a Space in a frame, nobody else
        policy = "; ".join(f"{name} {sources}" for name, sources in (CONTENT | {"frame-ancestors": frames}).items())
        self._headers = HEADERS | {"Content-Security-Policy": policy}
        if not settings.hosted:
            self._headers["Cross-Origin-Resource-Policy"] = "same-origin"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif refusal := self._refusal(scope):
            status, text = refusal
            answer: ASGIApp = PlainTextResponse(text, status) if scope["type"] == "http" else WebSocketClose(1008, text)
            await answer(scope, receive, self._with_headers(scope, send))
        else:
            await (self._page if scope["path"] == "/" else self._app)(scope, receive, self._with_headers(scope, send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        if not self._hosted and not all(map(self._is_this_machine, headers.getlist("host") or [""])):
            return 403, "This host name is not allowed. Open the app as http://127.0.0.1, or add the name to SBERT_STUDIO_HOSTS."
        if self._is_foreign(scope, headers):
            return 403, "Pages of other sites may not use this app. Open the app itself."
        if scope["path"].startswith(CLOSED) and not scope["path"].startswith(self._open):
            return 404, "There is no such page in this app."
        return None

    def _is_this_machine(self, host: str) -> bool:
        """Whether a `Host` is this machine. If all addresses are served, any IP address is accepted: rebinding needs a name."""
        name = host_name(host)
        return name in self._names or is_loopback(name) or (self._any_address and is_address(name))

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        """Whether a page of another site sent the request. Programs send no `Origin`; following a link to the app is allowed."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None:
            linked = headers.get("sec-fetch-mode") == "navigate" and scope.get("method") == "GET"
            if self._hosted:  # an image on a foreign page may not log anybody out
                return site == "cross-site" and not linked and scope["path"].startswith("/logout")
            return site == "cross-site" and not (linked and not scope["path"].startswith(ENDPOINTS))
        name = host_name(origin.partition("://")[2])
        if self._hosted:  # behind a proxy the names may differ, but browsers send Sec-Fetch-Site
            return site == "cross-site" and name not in {*self._hub, *self._names}
        return not (name in self._names or is_loopback(name) or name == host_name(headers.get("host", "")))

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        """Wrap `send` to add the security headers to the response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                if scope["path"].startswith(FILES):  # users' files: opened as a page, they can run nothing
                    headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
            await send(message)

        return send_with_headers


def host_name(host: str) -> str:
    """The name in "name:port", "[::1]:port" or "name", in lower case and without a final dot."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return (host.partition(":")[0] if host.count(":") < 2 else host).lower().rstrip(".")


def is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    return name == "localhost" or (is_address(name) and ip_address(name).is_loopback)
