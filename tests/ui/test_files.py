"""Files of visitors: uploads are deleted soon after they are read, downloads are kept for a while."""

import os
import time

import pytest

from sbert_app.errors import UserError
from sbert_app.ui.kit import files
from sbert_app.ui.kit.files import FOLDERS_KEPT, Shelf, delete_later, uploaded
from tests.served import in_the_end


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(files, "KEPT_SECONDS", 0.05)


def test_a_file_is_deleted_after_it_was_read_or_refused(write):
    read, refused = write("a.csv", "text\na\n"), write("b.csv", "")
    with uploaded(str(read), "") as given:
        assert given.read_text() == "text\na\n"
    with pytest.raises(UserError, match="empty"), uploaded(str(refused), ""):
        raise UserError("empty")
    assert in_the_end(lambda: not read.exists() and not refused.exists())


def test_a_file_uploaded_again_meanwhile_is_kept_as_long_as_the_first_time(write):
    path, start = write("a.csv", "text\na\n"), time.time()
    os.utime(path, (start + 0.3, start + 0.3))  # when it is looked at, it is younger than that
    delete_later(path, 0.05)
    assert in_the_end(lambda: not path.exists()) and time.time() - start > 0.34


def test_no_file_and_a_file_that_is_gone_are_told(tmp_path):
    for nothing in (None, ""):
        with pytest.raises(UserError, match="Send a file"), uploaded(nothing, "Send a file."):
            pass
    with pytest.raises(UserError, match="The uploaded file was already read"), uploaded(str(tmp_path / "gone.csv"), ""):
        pass


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
