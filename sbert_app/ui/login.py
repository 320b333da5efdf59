"""Who sends a request: the door before all routes looks at login and address, and counts the bytes that are uploaded."""

import asyncio
import logging
import os
from importlib.util import find_spec
from typing import Any

from gradio.oauth import _get_valid_oauth_info_from_session
from gradio.utils import get_space
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sbert_app.errors import UserError
from sbert_app.runtime.quota_usage import SpentError
from sbert_app.runtime.visitors import ASKING, Visitor, asking, network_address
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import BASIC, HUGGING_FACE, Settings
from sbert_app.storage import FULL
from sbert_app.users import Users
from sbert_app.watching import OK, REFUSED, watched

log = logging.getLogger(__name__)

UPLOAD, TOOLS = "/gradio_api/upload", "/gradio_api/mcp"
OF_A_SPACE = "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL"
NO_SPACE = "The disk that takes uploads is full. Whoever runs this app must free some space."
MESSAGE = "After five wrong passwords, wait five minutes: until then the right one is refused too."


def check_login(settings: Settings) -> None:
    """Raise UserError where nobody could log in as it is set, or where Gradio would let in everybody as one invented user."""
    if settings.login == HUGGING_FACE and (get_space() is None or not all(map(os.environ.get, OF_A_SPACE))):
        text = "needs a Space of Hugging Face with `hf_oauth: true` in the first lines of its README. Elsewhere, use basic."
        raise UserError(f"SBERT_STUDIO_LOGIN=huggingface {text}")
    if settings.login == HUGGING_FACE and not (find_spec("authlib") and find_spec("itsdangerous")):
        raise UserError("SBERT_STUDIO_LOGIN=huggingface needs one more package: pip install 'gradio[oauth]'.")


def login_options(settings: Settings) -> dict[str, Any]:
    """Arguments of `launch`. Raises UserError if the file of users cannot be used."""
    if settings.login != BASIC:
        return {}
    users = Users(settings.users)

    async def check(name: str, password: str) -> bool:
        try:
            with watched("page", "login") as login:
                right = await asyncio.to_thread(users.check, name, password, ASKING.get().address)
                login.outcome = OK if right else REFUSED
                if not right:
                    log.warning("a login was refused, from %s", ASKING.get().address)
                return right
        except UserError as error:
            raise HTTPException(400, str(error)) from None  # the one status at which Gradio's page says something

    return {"auth": check, "auth_message": MESSAGE}


def signed_in(request: Request) -> str:
    """The name of the user who has logged in, ""  for others. A login that Gradio invents outside of a Space counts for nothing."""
    if "session" in request.scope and get_space():
        info = _get_valid_oauth_info_from_session(request.session) or {}
        return str(info.get("userinfo", {}).get("preferred_username", ""))
    app = request.scope["app"]
    cookies = (request.cookies.get(f"access-token-{kind}{app.cookie_id}") for kind in ("", "unsecure-"))
    return next((app.tokens[token] for token in cookies if token in app.tokens), "")


class Door:
    """Notes the visitor of each request. Refuses uploads beyond its quota (429), and agents' tools without a login (401)."""

    def __init__(self, app: ASGIApp, bench: Workbench) -> None:
        self._app, self._settings, self._usage = app, bench.settings, bench.usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, settings = Request(scope), self._settings
        name = signed_in(request) if settings.login in (BASIC, HUGGING_FACE) else ""
        client = request.client.host if request.client else ""
        forwarded = ",".join(request.headers.getlist("x-forwarded-for")) if settings.hosted else ""
        address = network_address(forwarded, client)
        scope["visitor"] = Visitor("", address, name) if settings.hosted else Visitor()
        with asking(Visitor("", address, name)):
            if settings.login == BASIC and not name and scope["path"].startswith(TOOLS):
                await PlainTextResponse("Log in first.", 401)(scope, receive, send)
            elif scope["path"].startswith(UPLOAD) and scope["method"] == "POST":
                await self._upload(scope, receive, send)
            else:
                await self._app(scope, receive, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count the bytes that come, unless the upload is refused."""
        length, received, status = Headers(scope=scope).get("content-length", ""), 0, 200

        async def counting() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return message

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            with self._usage.take(bytes=int(length) if length.isdigit() else self._settings.limits.file_bytes) as used:
                try:
                    await self._app(scope, counting, noting)
                finally:
                    used["bytes"] = received if status < 400 else 0
        except SpentError as error:
            await PlainTextResponse(str(error), 429)(scope, receive, send)
        except ClientDisconnect:
            log.info("an upload was given up")
        except OSError as error:
            if error.errno not in FULL:
                raise
            log.error("uploads: %s", error)
            await PlainTextResponse(NO_SPACE, 507)(scope, receive, send)


def quota_route(bench: Workbench) -> Route:
    """What is left of the visitor's quota, as a line of text for the page's menu."""

    async def left(request: Request) -> PlainTextResponse:
        return PlainTextResponse(bench.usage.left())

    return Route("/quota", left, methods=["GET"])
