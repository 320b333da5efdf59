"""What the tests of Milvus share."""

import pytest

from tests.scale.milvus_server import Server


@pytest.fixture
def server(tmp_path):
    running = Server(tmp_path / "served.db")
    yield running
    running.kill()
