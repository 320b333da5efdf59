"""What the tests of tables share."""

from collections.abc import Callable

import pytest

from sbert_app.settings import Limits
from sbert_app.tables import Table, read_table
from sbert_app.tables.reading import read_content
from tests.tables.files import LIMITS


@pytest.fixture
def read(write) -> Callable[..., Table]:
    """Write a file and read it as a table."""

    def read(name: str, content: str | bytes, limits: Limits = LIMITS) -> Table:
        return read_table(write(name, content), limits)

    return read


@pytest.fixture
def read_here(write) -> Callable[..., Table]:
    """The same in this process, as the child does: starting one takes half a second."""

    def read_here(name: str, content: str | bytes, limits: Limits = LIMITS) -> Table:
        return Table.of(read_content(write(name, content), name, limits))

    return read_here
