"""What a visitor saves: its bytes, its rows, and a kept page as it opens from disk."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page


def saved(button: Locator) -> tuple[str, bytes]:
    """The name and content of the file that a button saves."""
    with button.page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def saved_rows(button: Locator) -> list[dict[str, str]]:
    """The rows of the csv file that a button saves."""
    return list(csv.DictReader(io.StringIO(saved(button)[1].decode("utf-8-sig"), newline="")))


@contextmanager
def opened_from_disk(browser: Browser, kept: tuple[str, bytes], folder: Path, **options: Any) -> Iterator[Page]:
    """A saved page on a browser without network: it has no error and asks nobody."""
    path, wrong = folder / kept[0], []
    path.write_bytes(kept[1])
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else wrong.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert wrong == []
