"""The real app in a process of its own, and its endpoints over plain http, as many clients at once as one likes."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.browser.chromium import free_port

ROOT = Path(__file__).parents[2]
CROSS = "cross-MiniLM-L6-stsb"
MODEL = "all-MiniLM-L6-v2"
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
    """`url`, the log so far, and the memory of the process and its children in MB."""

    def __init__(self, url: str, process: "subprocess.Popen[bytes]", home: Path, log: Path) -> None:
        self.url, self._process, self.home, self._log = url, process, home, log

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def process_id(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """As the system does: no signal that the app could handle."""
        self._process.kill()
        self._process.wait()

    def megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


@contextmanager
def serving(
    home: Path, hosted: bool, limits: Mapping[str, int] | None = None, variables: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Start `python app.py` over a home; wait until its examples are ready; end it at last.

    limits: other than the hosted ones; variables: more of the environment.
    """
    port = free_port()
    log = home.parent / f"app-{port}.log"
    env = os.environ | {
        "SBERT_STUDIO_HOME": str(home),
        "SBERT_STUDIO_HOSTED": "1" if hosted else "0",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(home.parent / f"gradio-{port}"),
        "HF_HUB_OFFLINE": "1",
        **(variables or {}),
    }
    with log.open("wb") as stream:
        command = [sys.executable, "-c", LIMITED.format(limits)] if limits else [sys.executable, "app.py"]
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )  # Ctrl-C ends the attack, with its verdict, not the app under it
    server = Server(f"http://127.0.0.1:{port}", process, home, log)
    try:
        end = time.monotonic() + START_SECONDS
        while not READY.search(server.log()):
            if time.monotonic() > end or process.poll() is not None:
                raise RuntimeError(f"the app did not start:\n{server.log()}")
            time.sleep(0.5)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


class RefusedError(Exception):
    """An endpoint answered with a sentence instead of a result."""


async def parameters(client: httpx.AsyncClient, url: str, name: str) -> list[tuple[str, Any]]:
    """The names and defaults of an endpoint's parameters."""
    if url not in _endpoints:
        _endpoints[url] = (await client.get(f"{url}/gradio_api/info")).raise_for_status().json()["named_endpoints"]
    return [(each["parameter_name"], each.get("parameter_default")) for each in _endpoints[url][f"/{name}"]["parameters"]]


async def call(client: httpx.AsyncClient, url: str, name: str, visitor: int, **given: Any) -> Any:
    """Call a named endpoint as this visitor, who has an address of its own. Raises RefusedError for a refusal."""
    headers = {"x-forwarded-for": f"10.1.{visitor // 250}.{visitor % 250}"}
    data = [given.pop(each, default) for each, default in await parameters(client, url, name)]
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
