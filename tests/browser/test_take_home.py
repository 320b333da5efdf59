"""What a visitor takes home from a result: pictures of charts, commands to copy, the full screen."""

import ast
import contextlib
import io
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.chromium import go_to
from tests.browser.corpus import index, open_example, upload
from tests.browser.downloads import opened_from_disk, saved
from tests.browser.present import smallest_letters, smallest_presented
from tests.browser.test_map import draw

SVG = "{http://www.w3.org/2000/svg}"


def pictures(page: Page, links: str, menu: str = "") -> tuple[list[str], ElementTree.Element, str, Image.Image]:
    """The pictures that links save: names, lines, the words among them, points; twice as many as the lines are wide and high."""
    files = []
    for kind in ("svg", "png"):
        if menu:  # it closes after a choice
            page.locator(menu).click()
        files.append(saved(page.locator(f"{links} [data-picture={kind}]")))
    root = ElementTree.fromstring(files[0][1])  # noqa: S314 - this page made it
    image = Image.open(io.BytesIO(files[1][1])).convert("RGB")
    assert root.tag == f"{SVG}svg" and image.size == tuple(2 * float(root.attrib[side]) for side in ("width", "height"))
    words = " ".join("".join(element.itertext()) for element in root.iter(f"{SVG}text"))
    return [name for name, _ in files], root, words, image


def shown(page: Page, plot: str) -> str:
    """What a picture changes in its copy of a chart."""
    parts = "{title, margin, font, paper_bgcolor, annotations, width}"
    return page.evaluate(
        f"() => {{ const {parts} = document.querySelector('{plot} .js-plotly-plot').layout; return JSON.stringify({parts}); }}"
    )


def test_a_heat_map_is_saved_as_a_picture_and_stays_as_it_is(shared_page):
    page = shared_page
    page.get_by_role("tab", name="Two lists").click()
    page.locator("#compare-lists").click()
    page.locator("#heat-map .js-plotly-plot").wait_for()
    before = shown(page, "#heat-map")
    names, _, words, image = pictures(page, "#lists-summary")
    assert names == ["sbert-studio-heat-map.svg", "sbert-studio-heat-map.png"]
    assert "one list" in words and "all-MiniLM-L6-v2" in words and "SBERT Studio" in words
    assert image.getpixel((2, 2)) == (255, 255, 255)
    assert shown(page, "#heat-map") == before
    expect(page.locator("#heat-map .gtitle")).to_have_count(0)


def test_a_map_is_saved_as_a_picture_with_its_names_and_presented(shared_page):
    page = shared_page
    draw(page)
    visible = page.locator("#map-plot .annotation").evaluate_all("all => all.filter(n => n.style.visibility != 'hidden').length")
    names, root, words, image = pictures(page, "#map-take-home", menu="#map-export button >> nth=0")
    assert names[0] == "sbert-studio-map.svg" and "Map of support_tickets.csv" in words
    assert sum(g.attrib.get("class") == "annotation" for g in root.iter(f"{SVG}g")) == visible > 1
    assert len(image.getcolors(maxcolors=1 << 24)) > 200  # the points are drawn
    page.locator("#map-export button").first.click()
    assert smallest_presented(page, "#map-take-home [data-present]") >= 20
    go_to(page, "Similarity")
    page.get_by_role("tab", name="Two sentences", exact=True).click()
    assert smallest_presented(page, "#comparison [data-present]") >= 20


def copied(page: Page, button: str) -> str:
    """What a button copies; it says so, and then has its own name again."""
    link = page.locator(button)
    label = link.get_attribute("data-label")
    link.click()
    expect(link).to_have_text("Copied")
    expect(link).to_have_text(label)
    return page.evaluate("() => navigator.clipboard.readText()")


@pytest.fixture
def tickets(shared_page, monkeypatch) -> Page:
    """What is found in the example tickets; commands are run where their file is."""
    monkeypatch.chdir(Path(__file__).parents[2])
    open_example(shared_page, "Support tickets")
    go_to(shared_page, "Search")
    expect(shared_page.locator("#hits .hit").first).to_be_visible()
    return shared_page


def test_a_copied_script_runs_against_this_app(tickets):
    page, best = tickets, tickets.locator("#hits .hit").first
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    script = copied(page, "#hits [data-label=Python]")
    assert page.evaluate("() => location.origin") in script and "127.0.0.1:7860" not in script
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(script, {})  # noqa: S102 - what a visitor does with it
    sentence = ast.literal_eval(printed.getvalue().splitlines()[-1])["hits"][0]["sentence"]
    assert " ".join(sentence.split()) in " ".join(best.inner_text().split())
    assert copied(page, "#hits [data-label=shell]").startswith("python -m sbert_app search assets/examples/support_tickets.csv")


def commands(section: Locator, kind: str) -> str:
    """A command of a kept result, "shell" or "Python"."""
    section.get_by_text("Make it again", exact=True).click()
    return section.locator(f".hint:text-is('{kind}') + pre").inner_text()


def test_a_kept_session_opens_without_network_and_its_commands_make_the_same_results(tickets, browser, tmp_path, shell):
    page = tickets
    go_to(page, "Map")  # draws so small a corpus
    expect(page.locator("#map-draw")).to_have_text("Draw again")
    expect(page.locator("#map-draw")).to_be_enabled()
    score = page.locator("#hits .hit-score b").first.inner_text()
    page.get_by_label("More", exact=True).click()
    content, phone = saved(page.locator("[data-keep-session]")), {"width": 390, "height": 900}
    with opened_from_disk(browser, content, tmp_path, viewport=phone, color_scheme="dark") as kept:
        similarity, search, drawn = (
            kept.locator("section").filter(has=kept.locator(f"h2:has-text('{title}')"))
            for title in ("How similar", "Search: charged two times", "Map of support_tickets.csv")
        )
        expect(similarity.locator(".score")).to_have_text(page.locator("#score").text_content())
        expect(search.locator(".hit")).to_have_count(10)
        assert drawn.locator("img").evaluate("image => [image.naturalWidth > 1000, image.alt]")[0]
        assert kept.evaluate("document.documentElement.scrollWidth") == 390 and kept.locator("button").count() == 0
        command = shlex.split(commands(search, "shell"))
        assert command[:3] == ["python", "-m", "sbert_app"]
        assert score in shell(*command[3:])[0].splitlines()[0]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(commands(similarity, "Python"), {})  # noqa: S102 - what a visitor does with it
        assert f"{ast.literal_eval(printed.getvalue().splitlines()[-1])['score']:.3f}" == page.locator("#score").text_content()
        assert "map assets/examples/support_tickets.csv" in commands(drawn, "shell")


def test_what_to_mind_in_a_corpus_is_presented_with_its_hits_and_back_leaves_the_full_screen_and_not_the_tab(shared_page, write):
    page = shared_page
    go_to(page, "Search")
    upload(page, write("german.csv", "text\nDie Heizung ist kalt\nSchimmel im Bad\nThe lift is out of order\n"))
    index(page, "german.csv")
    page.get_by_label("Query", exact=True).fill("cold radiator")
    page.get_by_label("Query", exact=True).press("Enter")
    expect(page.locator("#hits [data-query='cold radiator']")).to_be_attached()
    page.locator("#hits [data-present]").first.click()
    expect(page.locator(".present header")).to_contain_text(
        "At least 2 of 3 rows are in a language or script that all-MiniLM-L6-v2 hardly"
    )
    page.go_back()
    expect(page.locator(".present")).to_have_count(0)
    expect(page.get_by_role("tab", name="Search", exact=True)).to_have_attribute("aria-selected", "true")


def test_a_chart_that_comes_late_is_presented_all_the_same(page):
    late, released = [], []
    page.route(re.compile("plotly", re.IGNORECASE), lambda route: route.continue_() if released else late.append(route))
    go_to(page, "Timing")
    page.locator("#race-take-home [data-present]").click()
    expect(page.locator(".present-text")).to_contain_text("10,000 sentences are 49,995,000 pairs")
    assert page.locator("#race-chart .js-plotly-plot").count() == 0  # still on its way
    assert page.locator("#race-chart").bounding_box()["height"] == 0  # and without a frame
    released.append(True)
    for route in late:
        route.continue_()
    expect(page.locator(".present-chart .main-svg").first).to_be_visible()
    assert smallest_letters(page) >= 12


def test_a_result_is_presented_large_and_escape_brings_the_page_back(shared_page):
    page = shared_page
    page.set_viewport_size({"width": 1920, "height": 1080})
    go_to(page, "Timing")
    page.locator("#race-chart .js-plotly-plot").wait_for()
    before, button = shown(page, "#race-chart"), page.locator("#race-take-home [data-present]")
    button.click()
    screen = page.get_by_role("dialog", name="Time to find the most similar pair")
    expect(screen.locator(".present-chart .legend")).to_be_visible()
    assert screen.bounding_box() == {"x": 0, "y": 0, "width": 1920, "height": 1080}
    expect(screen).to_contain_text("Reimers & Gurevych 2019")
    expect(screen.locator(".present-text")).to_contain_text("10,000 sentences are 49,995,000 pairs")
    box, chart = (screen.locator(part).first.bounding_box() for part in (".present-chart", ".present-chart .main-svg"))
    assert box["height"] > 700 and abs(box["width"] - chart["width"]) < 2 and abs(box["height"] - chart["height"]) < 2
    assert smallest_letters(page) >= 20
    page.keyboard.press("Escape")
    expect(page.locator(".present")).to_have_count(0)
    expect(button).to_be_focused()
    assert page.evaluate("() => [document.querySelectorAll('[inert]').length, document.fullscreenElement]") == [0, None]
    assert shown(page, "#race-chart") == before


def test_copying_works_without_the_clipboard_of_secure_pages(shared_page):
    page = shared_page
    go_to(page, "Similarity")
    page.get_by_role("tab", name="Two sentences", exact=True).click()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("() => Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
    link = page.locator("#comparison [data-label=shell]")
    link.click()
    expect(link).to_have_text("Copied")
    page.locator("#sentence1 textarea").fill("")
    page.locator("#sentence1 textarea").press("Control+v")
    expect(page.locator("#sentence1 textarea")).to_have_value(re.compile("^python -m sbert_app similarity .*warm keyboard"))
