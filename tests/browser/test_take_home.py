"""What a visitor takes home from a result: pictures of charts, commands to copy, the full screen."""

import io
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.test_map import draw

SVG = "{http://www.w3.org/2000/svg}"


def saved(page: Page, button: str) -> tuple[str, bytes]:
    """The name and content of the file that a button saves."""
    with page.expect_download() as download:
        page.locator(button).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def parsed(picture: bytes) -> ElementTree.Element:
    root = ElementTree.fromstring(picture)  # noqa: S314 - this page made it
    assert root.tag == f"{SVG}svg"
    return root


def svg_size(picture: bytes) -> tuple[float, float]:
    root = parsed(picture)
    return float(root.attrib["width"]), float(root.attrib["height"])


def words(picture: bytes) -> str:
    return " ".join("".join(element.itertext()) for element in parsed(picture).iter(f"{SVG}text"))


def shown(page: Page, plot: str) -> str:
    """What a picture changes in its copy of a chart."""
    parts = "{title, margin, font, paper_bgcolor, annotations, width}"
    return page.evaluate(
        f"() => {{ const {parts} = document.querySelector('{plot} .js-plotly-plot').layout; return JSON.stringify({parts}); }}"
    )


def test_a_heat_map_is_saved_as_a_picture_and_stays_as_it_is(page):
    page.get_by_role("tab", name="Two lists").click()
    page.locator("#compare-lists").click()
    page.locator("#heat-map .js-plotly-plot").wait_for()
    before = shown(page, "#heat-map")
    name, vector = saved(page, "#lists-summary [data-picture=svg]")
    assert name == "sbert-studio-heat-map.svg"
    assert "one list" in words(vector) and "all-MiniLM-L6-v2" in words(vector) and "SBERT Studio" in words(vector)
    name, png = saved(page, "#lists-summary [data-picture=png]")
    assert name == "sbert-studio-heat-map.png"
    image, (width, height) = Image.open(io.BytesIO(png)), svg_size(vector)
    assert image.size == (2 * width, 2 * height)
    assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    assert shown(page, "#heat-map") == before
    expect(page.locator("#heat-map .gtitle")).to_have_count(0)


def test_a_map_is_saved_as_a_picture_with_its_names(page):
    draw(page)
    visible = page.locator("#map-plot .annotation").evaluate_all("all => all.filter(n => n.style.visibility != 'hidden').length")
    name, vector = saved(page, "#map-take-home [data-picture=svg]")
    assert name == "sbert-studio-map.svg"
    assert "Map of support_tickets.csv" in words(vector)
    names = [g for g in parsed(vector).iter(f"{SVG}g") if g.attrib.get("class") == "annotation"]
    assert len(names) == visible > 1
    _, png = saved(page, "#map-take-home [data-picture=png]")
    image, (width, height) = Image.open(io.BytesIO(png)).convert("RGB"), svg_size(vector)
    assert image.size == (2 * width, 2 * height)
    assert len(image.getcolors(maxcolors=1 << 24)) > 200  # the points are drawn
