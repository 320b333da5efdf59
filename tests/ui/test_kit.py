"""Small parts that all tabs share: files for download, and who sends a request."""

from types import SimpleNamespace

import pytest

from sbert_app.runtime.line import Visitor
from sbert_app.ui.kit.events import visitor_of
from sbert_app.ui.kit.files import FOLDERS_KEPT, Shelf


def test_a_shelf_keeps_the_newest_folders():
    shelf = Shelf()
    first = shelf.put("a.csv", "text\r\nfünf\r\n")
    assert first.read_bytes() == "text\r\nfünf\r\n".encode()
    for _ in range(FOLDERS_KEPT - 1):
        shelf.folder()
    assert first.exists()
    newest = shelf.folder()
    assert not first.parent.exists() and newest.is_dir()
    del shelf
    assert not newest.exists()


@pytest.mark.parametrize(
    ("hosted", "headers", "expected"),
    [
        (False, {"x-forwarded-for": "1.2.3.4"}, Visitor("tab")),
        (True, {}, Visitor("tab", "10.0.0.1")),
        (True, {"x-forwarded-for": "6.6.6.6, 1.2.3.4"}, Visitor("tab", "1.2.3.4")),  # what a visitor writes itself comes first
        (True, {"x-forwarded-for": " "}, Visitor("tab", "10.0.0.1")),
    ],
)
def test_a_visitor_is_a_connection_and_when_hosted_an_address(hosted, headers, expected):
    request = SimpleNamespace(session_hash="tab", headers=headers, client=SimpleNamespace(host="10.0.0.1"))
    assert visitor_of(request, hosted) == expected
    assert visitor_of(None, hosted) == Visitor()
