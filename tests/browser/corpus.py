"""The header, with its model and its corpus menu, as browser tests use it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

# The query that came with a corpus stands in its box. A busy page shows its hits before that, and then overwrites what is typed.
SETTLED = """() => {
  const hits = document.querySelector('#hits [data-query]'), box = document.querySelector('#query :is(input, textarea)');
  return !hits || !box || box.value === hits.dataset.query;
}"""


def choose_model(page: Any, folder: Path, dim: int = 384) -> None:
    """Choose the model of a folder in the header, whose embeddings have `dim` dimensions."""
    picker = page.get_by_label("Model", exact=True)
    picker.fill(str(folder))
    picker.press("Enter")
    expect(page.locator("#model-note")).to_contain_text(f"{dim} dimensions")


def open_menu(page: Any) -> None:
    """Open the corpus panel, unless it is open."""
    button = page.locator("#corpus-menu button")
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    expect(page.locator("#corpus-panel")).to_be_visible()


def opened(page: Any) -> None:
    """Wait until another corpus is open and Search, if it was ever shown, has answered in it."""
    expect(page.locator("#corpus-panel")).to_be_hidden()
    expect(page.locator("#hits[aria-busy=true]")).to_have_count(0)
    page.wait_for_function(SETTLED)


def open_example(page: Any, title: str) -> None:
    """Open an example, such as "Support tickets", and wait until it is the corpus."""
    choose_example(page, title)
    opened(page)


def choose_example(page: Any, title: str) -> None:
    open_menu(page)
    page.locator("#corpus-choices").get_by_role("button", name=f"Example: {title}", exact=True).click()


def upload(page: Any, path: Path) -> None:
    open_menu(page)
    page.locator("#corpus-file input[type=file]").set_input_files(str(path))


def paste(page: Any, lines: Sequence[str]) -> None:
    open_menu(page)
    page.get_by_role("tab", name="Paste", exact=True).click()
    page.locator("#pasted textarea").fill("\n".join(lines))
    page.locator("#use-pasted").click()


def index(page: Any, name: str) -> None:
    """Index what was uploaded or pasted, and wait until it is the corpus of this name, also in an open Search."""
    page.locator("#index").click()
    expect(page.locator("#corpus-menu")).to_contain_text(name)
    if page.locator("#search-body").is_visible():
        expect(page.locator("#status")).to_contain_text(name)
    opened(page)


def query(page: Any) -> Any:
    """The box of the query."""
    return page.get_by_label("Query", exact=True)


def search(page: Any, wanted: str) -> None:
    query(page).fill(wanted)
    query(page).press("Enter")


def choose(page: Any, menu: str, choice: str) -> None:
    """Choose from a menu, such as "#ranking"."""
    page.locator(f"{menu} input").click()
    page.get_by_role("option", name=choice, exact=True).click()


def choose_filter(page: Any, column: str, value: str, menus: str = "#filters") -> None:
    """Open a column's menu and tick a value."""
    menu = page.locator(f"{menus} details[data-column='{column}']")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    menu.get_by_label(value).check()
