"""The real app in a process of its own, and its endpoints over plain http, as many clients at once as one likes."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.browser.chromium import free_port

ROOT = Path(__file__).parents[2]
CROSS = "cross-MiniLM-L6-stsb"
MODEL = "all-MiniLM-L6-v2"
COMMAND = (sys.executable, "app.py")
START_SECONDS = 240
READY = re.compile(r'(?:workbench: |"message": ")ready after')  # a line of the log, as text or JSON
LIMITED = """
from dataclasses import replace
from sbert_app import settings
from sbert_app.runtime import workbench
settings.HOSTED_LIMITS = replace(settings.HOSTED_LIMITS, **{})
workbench.warm_up = lambda *_: workbench.log.info("ready after 0 s, not warmed up")
import app
app.main()
"""  # for a test about limits, which need not wait for the examples


_endpoints: dict[str, Any] = {}  # by address of the app


class Server:
    """An app in a process: its address, its log so far, and the memory it holds."""

    home: Path  # where `serving` started it

    def __init__(self, port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.url, self.process, self._log = f"http://127.0.0.1:{port}", process, log

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, condition: Callable[[], object], pause: float = 0.1) -> None:
        """Until it is so. Raises RuntimeError when the app has ended, or after minutes."""
        end = time.monotonic() + START_SECONDS
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"the app did not come to that; exit status {self.process.poll()}:\n{self.log()}")
            time.sleep(pause)

    def answers(self, path: str = "") -> bool:
        try:
            return httpx.get(f"{self.url}/{path}", timeout=60).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        """As the system does: no signal that the app could handle."""
        self.process.kill()
        self.process.wait()

    def megabytes(self) -> float:
        return psutil.Process(self.process.pid).memory_info().rss / 2**20


@contextmanager
def starting(log: Path, variables: Mapping[str, str], command: Sequence[str] = COMMAND, **more: Any) -> Iterator[Server]:
    """Start the app with no other variables than these and a port; end it at last. more: other arguments of Popen."""
    port = free_port()
    env = {**variables, "GRADIO_SERVER_PORT": str(port), "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, env=env, stdout=stream, stderr=stream, start_new_session=True, **{"cwd": ROOT} | more
        )  # Ctrl-C ends the attack, with its verdict, not the app under it
    try:
        yield Server(port, process, log)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def serving(
    home: Path, hosted: bool, limits: Mapping[str, int] | None = None, variables: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Start the app, and wait until its examples are ready.

    limits: other than the hosted ones; variables: more of the environment.
    """
    home.parent.mkdir(exist_ok=True)
    own = Path(tempfile.mkdtemp(prefix="app-", dir=home.parent))  # several apps may share a home
    env = {"SBERT_STUDIO_HOME": str(home), "SBERT_STUDIO_HOSTED": "1" if hosted else "0", "GRADIO_TEMP_DIR": str(own / "gradio")}
    command = (sys.executable, "-c", LIMITED.format(limits)) if limits else COMMAND
    with starting(own / "log", os.environ | env | (variables or {}), command) as server:
        server.home = home
        server.wait_for(lambda: READY.search(server.log()))
        yield server


class RefusedError(Exception):
    """An endpoint answered with a sentence instead of a result."""


async def call(client: httpx.AsyncClient, url: str, name: str, visitor: int, **given: Any) -> Any:
    """Call a named endpoint as this visitor, who has an address of its own. Raises RefusedError for a refusal."""
    headers = {"x-forwarded-for": f"10.1.{visitor // 250}.{visitor % 250}"}
    if url not in _endpoints:
        _endpoints[url] = (await client.get(f"{url}/gradio_api/info")).raise_for_status().json()["named_endpoints"]
    parameters = _endpoints[url][f"/{name}"]["parameters"]
    data = [given.pop(each["parameter_name"], each.get("parameter_default")) for each in parameters]
    assert not given, f"{name} has no {', '.join(given)}"
    response = await client.post(f"{url}/gradio_api/call/{name}", json={"data": data}, headers=headers)
    response.raise_for_status()
    event, result = "", None
    async with client.stream("GET", f"{url}/gradio_api/call/{name}/{response.json()['event_id']}", headers=headers) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: ") and event in ("complete", "error", "generating"):
                result = json.loads(line.removeprefix("data: "))
    if event != "complete":
        raise RefusedError(str((result or {}).get("error") if isinstance(result, dict) else result))
    return result[0]


def labelled(rows: int) -> bytes:
    """The first labelled pairs that come with the app, as a csv file."""
    lines = (ROOT / "assets" / "labelled" / "requests_scored.csv").read_bytes().splitlines(keepends=True)
    return b"".join(lines[: rows + 1])


async def upload(client: httpx.AsyncClient, url: str, name: str, content: bytes) -> dict[str, Any]:
    """A file on the server, as endpoints take it."""
    sent = await client.post(f"{url}/gradio_api/upload", files={"files": (name, content)})
    return {"path": sent.raise_for_status().json()[0], "meta": {"_type": "gradio.FileData"}}
