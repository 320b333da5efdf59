"""What the tests of tables share."""

from collections.abc import Callable

import pytest

from sbert_app.settings import Limits
from sbert_app.tables import Table, read_table
from tests.tables.files import LIMITS


@pytest.fixture
def read(write) -> Callable[..., Table]:
    """Write a file and read it as a table."""

    def read(name: str, content: str | bytes, limits: Limits = LIMITS) -> Table:
        return read_table(write(name, content), limits)

    return read
