"""A stand-in for the login of huggingface.co, and the variables with which the app believes that it is a Space."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, urlencode, urlparse

import httpx
from joserfc import jwk, jwt  # comes with authlib


class Provider(BaseHTTPRequestHandler):
    """What huggingface.co does: sends the browser back with a code, and changes the code to the signed id of a new user.

    The code is the nonce of the request, which the signed id has to repeat.
    """

    lasts = 3600  # seconds
    users = count()
    key = jwk.RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})

    def do_GET(self) -> None:
        url = f"http://{self.headers['host']}"
        if self.path == "/.well-known/openid-configuration":
            places = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
            self.send({"issuer": url, **{name: url + path for name, path in places.items()}})
        elif self.path == "/keys":
            self.send({"keys": [self.key.as_dict(private=False)]})
        elif self.path.startswith("/authorize"):
            asked = {name: values[0] for name, values in parse_qs(urlparse(self.path).query).items()}
            answer = urlencode({"code": asked["nonce"], "state": asked["state"]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}{'&' if '?' in asked['redirect_uri'] else '?'}{answer}")
            self.end_headers()

    def do_POST(self) -> None:
        sent = {name: values[0] for name, values in parse_qs(self.rfile.read(int(self.headers["content-length"])).decode()).items()}
        name, now = f"user{next(self.users)}", int(time.time())
        claims = {"iss": f"http://{self.headers['host']}", "aud": "id", "iat": now, "exp": now + 3600, "nonce": sent["code"]}
        about = {"sub": name, "preferred_username": name, "name": name, "profile": "", "picture": ""}
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims | about, self.key)
        self.send({"access_token": "token", "token_type": "bearer", "expires_in": self.lasts, "id_token": signed})

    def send(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def provider() -> Iterator[dict[str, str]]:
    """What a Space's variables are while the stand-in serves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {
        "SYSTEM": "spaces",
        "SPACE_ID": "me/studio",
        "OAUTH_CLIENT_ID": "id",
        "OAUTH_CLIENT_SECRET": "a secret",
        "OAUTH_SCOPES": "openid profile",
        "OPENID_PROVIDER_URL": f"http://127.0.0.1:{server.server_port}",
        "SBERT_STUDIO_LOGIN": "huggingface",
        "GRADIO_SERVER_NAME": "127.0.0.1",
    }
    server.shutdown()


class Browser:
    """Keeps cookies, the secure ones of http too, as Chromium does for this machine; follows redirects if told."""

    def __init__(self) -> None:
        self.cookies: dict[str, str] = {}

    @property
    def headers(self) -> dict[str, str]:
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    def get(self, url: str, follow: bool = True) -> httpx.Response:
        while True:
            answer = httpx.get(url, headers=self.headers)
            for cookie in answer.headers.get_list("set-cookie"):
                name, _, value = cookie.split(";")[0].partition("=")
                self.cookies[name] = value
            if not (follow and answer.is_redirect):
                return answer
            url = str(answer.next_request.url)
