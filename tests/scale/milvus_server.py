"""A server of milvus-lite in a process of its own, for tests."""

import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.browser.chromium import free_port


class Server:
    """Runs on a free port of 127.0.0.1; can be killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self.start()

    def start(self) -> None:
        where = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen([sys.executable, "-m", "milvus_lite", "server", *where], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not self._answers():
            assert self._process.poll() is None and time.monotonic() < deadline, "the server of milvus-lite does not start"
            time.sleep(0.05)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)

    def _answers(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0
