"""Who may ask the app for anything, and what a browser may do with its answers: one middleware before every route.

At home the app has no login: what keeps a web page elsewhere out are the name it was asked under (DNS rebinding brings a foreign
name to this machine) and the page that asks. Hosted, a proxy chooses the names, and the visitor's browser tells who asks.
"""

from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from sbert_app.settings import Settings

HUB = ("huggingface.co", "hf.co")  # the page around a Space
FRAMES = "https://huggingface.co https://*.hf.space"
CLOSED = (  # Gradio's routes that nothing here needs
    "/monitoring", "/openapi.json", "/login", "/logout", "/svelte", "/gradio_api/deep_link", "/gradio_api/dev", "/gradio_api/proxy",
    "/gradio_api/profiling", "/gradio_api/runs", "/gradio_api/run-history", "/gradio_api/process_recording", "/gradio_api/stream",
    "/gradio_api/custom_component", "/gradio_api/vibe", "/gradio_api/undo-vibe", "/gradio_api/token",
)  # fmt: skip
FILES = "/gradio_api/file"

# Gradio's page holds inline scripts and styles, and its gr.HTML and plotly make functions from text.
CONTENT = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


class Doors:
    """Lets a request through to the app, or answers 403 (a stranger) or 404 (a closed route) with one sentence."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._hosted = settings.hosted
        self._names = {host_name(name) for name in (settings.address, *settings.hosts)}
        self._any_address = settings.address in ("0.0.0.0", "::", "[::]")  # noqa: S104 - compared, not bound
        self._headers = HEADERS | {"Content-Security-Policy": content_policy(settings)}
        if not settings.hosted:
            self._headers["Cross-Origin-Resource-Policy"] = "same-origin"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif refusal := self._refusal(scope):
            status, text = refusal
            answer: ASGIApp = PlainTextResponse(text, status) if scope["type"] == "http" else WebSocketClose(1008, text)
            await answer(scope, receive, self._marked(scope, send))
        else:
            await self._app(scope, receive, self._marked(scope, send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        if not self._hosted and not all(map(self._is_own, headers.getlist("host") or [""])):
            return 403, "The app does not answer to this name. Open it as http://127.0.0.1, or add the name to SBERT_STUDIO_HOSTS."
        if self._foreign(scope, headers):
            return 403, "A page of another site may not use this app. Open the app itself."
        if scope["path"].startswith(CLOSED):
            return 404, "There is no such page in this app."
        return None

    def _is_own(self, host: str) -> bool:
        """Whether a `Host` names this machine. Where every address was opened, any number does: rebinding needs a name."""
        name = host_name(host)
        return name in self._names or is_loopback(name) or (self._any_address and is_address(name))

    def _foreign(self, scope: Scope, headers: Headers) -> bool:
        """Whether a page of another site asks. Programs send no `Origin`; a link that a person followed to the page is no page."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None:
            linked = headers.get("sec-fetch-mode") == "navigate" and scope.get("method") == "GET"
            return site == "cross-site" and not self._hosted and not (linked and not scope["path"].startswith("/gradio_api"))
        name = host_name(origin.partition("://")[2])
        if self._hosted:  # behind a proxy the names may differ, but browsers tell
            return site == "cross-site" and name not in {*HUB, *self._names}
        return not (name in self._names or is_loopback(name) or name == host_name(headers.get("host", "")))

    def _marked(self, scope: Scope, send: Send) -> Send:
        """`send`, with the headers for browsers added to the answer."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                if scope["path"].startswith(FILES):  # people's files: should one open as a page, it can do nothing
                    headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
            await send(message)

        return marked


def content_policy(settings: Settings) -> str:
    """What a page of the app may load: nothing of other hosts. Hosted, it may stand in a frame of the Hub."""
    frames = f"'self' {FRAMES}" if settings.hosted else "'self'"
    return "; ".join(f"{name} {sources}" for name, sources in (CONTENT | {"frame-ancestors": frames}).items())


def host_name(host: str) -> str:
    """The name in "name:port", "[::1]:port" or "name", lower case and without a dot at its end."""
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
