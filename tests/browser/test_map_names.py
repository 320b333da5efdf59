"""The names of clusters on a map: near their groups, never over one another, on the screen and in whatever is taken home."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.chromium import until
from tests.browser.test_map import PLOT, box_of, draw, group_into, show

# Of each name that is shown: its box, whether it is within NEAR pixels of its group's hull, whether a line leads to it from there.
NAMES = """selector => {
  const NEAR = 12, gd = document.querySelector(selector), origin = gd.querySelector('.main-svg').getBoundingClientRect();
  const {xaxis, yaxis, annotations} = gd._fullLayout, groups = gd._fullData.slice(0, -2);
  const at = (x, y) => [xaxis._offset + xaxis.d2p(x), yaxis._offset + yaxis.d2p(y)];
  const turn = ([ax, ay], [bx, by], [cx, cy]) => (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
  const chain = points => points.reduce((hull, p) => {
    while (hull.length > 1 && turn(hull.at(-2), hull.at(-1), p) <= 0) hull.pop();
    return [...hull, p];
  }, []);
  const hullOf = points => {
    const sorted = points.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
    return [...chain(sorted).slice(0, -1), ...chain(sorted.toReversed()).slice(0, -1)];
  };
  const toEdge = ([px, py], [ax, ay], [bx, by]) => {
    const length = (bx - ax) ** 2 + (by - ay) ** 2 || 1, along = ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / length;
    const share = Math.max(0, Math.min(1, along));
    return Math.hypot(px - ax - share * (bx - ax), py - ay - share * (by - ay));
  };
  const distance = (p, hull) => {
    const edges = hull.map((a, i) => [a, hull[(i + 1) % hull.length]]);
    if (hull.length > 2 && edges.every(([a, b]) => turn(a, b, p) >= 0)) return 0;
    return Math.min(...edges.map(([a, b]) => toEdge(p, a, b)));
  };
  const lines = (gd.querySelector('.leaders')?.getAttribute('d') ?? '').split('M').map(part => part.split('L'));
  const ends = lines.filter(line => line[1]).map(([start]) => start.split(',').map(Number));
  return [...gd.querySelectorAll('.annotation')].filter(name => name.style.visibility !== 'hidden').map(name => {
    const {left, top, right, bottom} = name.getBoundingClientRect(), index = Number(name.dataset.index);
    const centre = at(annotations[index].x, annotations[index].y), group = groups[index + groups.length - annotations.length];
    const hull = hullOf(Array.from(group.x, (x, i) => at(x, group.y[i])));
    const spot = (a, b) => [left + a * (right - left) - origin.left, top + b * (bottom - top) - origin.top];
    const spots = [0, 0.25, 0.5, 0.75, 1].flatMap(a => [0, 0.5, 1].map(b => spot(a, b)));
    return {
      text: name.textContent, box: [left, top, right, bottom], near: Math.min(...spots.map(p => distance(p, hull))) <= NEAR,
      led: ends.some(end => Math.hypot(end[0] - centre[0], end[1] - centre[1]) < 2) && distance(centre, hull) <= NEAR,
    };
  });
}"""
IN_PICTURE = """svg => {
  const box = document.createElement('div');
  box.innerHTML = svg;
  document.body.append(box);
  const boxes = [...box.querySelectorAll('.annotation')].map(name => name.getBoundingClientRect())
    .map(({left, top, right, bottom}) => [left, top, right, bottom]);
  box.remove();
  return boxes;
}"""
MOST = 25


def apart(boxes: list[list[float]]) -> bool:
    """Whether no two boxes overlap."""
    return all(a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for i, a in enumerate(boxes) for b in boxes[:i])


def check(page: Page, selector: str = PLOT, least: int = 15) -> None:
    """Names are there, apart, and at their groups."""
    shown = page.evaluate(NAMES, selector)
    assert least <= len(shown) <= MOST
    assert apart([name["box"] for name in shown])
    assert [name["text"] for name in shown if not name["near"] and not name["led"]] == []


def at_rest(page: Page, selector: str = PLOT) -> None:
    """Wait until the names have been in their places for half a second: a figure gets its size and they follow."""
    seen = [page.evaluate(NAMES, selector)]
    until(page, lambda: seen.append(page.evaluate(NAMES, selector)) or (seen[-1] and seen[-8:] == [seen[-1]] * 8))


def clusters(page: Page, count: int) -> None:
    """Cluster the map again."""
    page.locator("#map-options button").first.click()
    group_into(page, count)
    page.keyboard.press("Escape")
    expect(page.locator(f"{PLOT} .annotation")).to_have_count(count)
    at_rest(page)


def slide(page: Page, share: float) -> None:
    """Move the slider in some steps, and wait until the names are at rest."""
    to = "(s, to) => { s.value = to; s.dispatchEvent(new Event('input', {bubbles: true})); }"
    for step in (share - 0.02, share):
        page.locator("#map-share input[type=range]").evaluate(to, step)
        page.wait_for_timeout(100)  # a person slides
    at_rest(page)


def picture(page: Page, kind: str) -> bytes:
    page.locator("#map-export button").first.click()  # the menu closes after a choice
    with page.expect_download() as download:
        page.locator(f"#map-take-home [data-picture={kind}]").click()
    return Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("count", [35, 80])
def test_names_lie_apart_and_at_their_groups_on_the_screen_and_in_whatever_is_taken_home(page, browser, tmp_path, count):
    draw(page)
    clusters(page, count)
    check(page)
    vector, png = picture(page, "svg").decode(), picture(page, "png")
    boxes = page.evaluate(IN_PICTURE, vector)
    assert 15 <= len(boxes) <= MOST and apart(boxes) and 'class="leaders"' in vector
    width, height = (float(re.search(rf'<svg[^>]* {side}="([\d.]+)"', vector)[1]) for side in ("width", "height"))
    image = Image.open(io.BytesIO(png)).convert("RGB")
    assert image.size == (2 * width, 2 * height) and len(image.getcolors(maxcolors=1 << 24)) > 200  # the points are drawn
    page.locator("#map-export button").first.click()
    with page.expect_download() as download:
        page.locator("#map-page").click()
    download.value.save_as(tmp_path / "map.html")
    kept = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    kept.goto((tmp_path / "map.html").as_uri())
    expect(kept.locator(".annotation").first).to_be_visible()
    at_rest(kept, ".js-plotly-plot")
    check(kept, ".js-plotly-plot")
    kept.context.close()
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.locator("#map-export button").first.click()
    page.locator("#map-take-home [data-present]").click()
    page.locator(".present-chart .annotation").first.wait_for()
    at_rest(page, ".present-chart")
    check(page, ".present-chart", least=10)
    page.keyboard.press("Escape")


def test_few_clusters_all_have_names_on_any_width_and_zooming_in_shows_those_of_smaller_ones(page):
    draw(page)
    clusters(page, 20)
    check(page, least=20)
    widths = "gd => Array.from(gd.querySelectorAll('.annotation text'), text => text.getBoundingClientRect().width)"
    assert max(page.locator(PLOT).evaluate(widths)) < 220 and "…" not in page.locator(f"{PLOT} .infolayer").text_content()
    page.set_viewport_size({"width": 420, "height": 900})  # less room: some names move away from their clusters
    page.wait_for_function(f"() => document.querySelector('{PLOT}')._fullLayout.width < 430")
    at_rest(page)
    check(page, least=2)
    page.evaluate(f"() => Plotly.relayout(document.querySelector('{PLOT}'), {{'xaxis.range': [2, 3], 'yaxis.range': [2, 3]}})")
    expect(page.locator(f"{PLOT} .leaders")).to_have_count(1)
    check(page, least=0)
    page.set_viewport_size({"width": 1280, "height": 900})
    clusters(page, 80)
    before = {name["text"] for name in page.evaluate(NAMES, PLOT)}
    page.evaluate(f"""() => {{
      const gd = document.querySelector('{PLOT}'), {{x, y}} = gd.layout.annotations.at(-1);
      return Plotly.relayout(gd, {{'xaxis.range': [x - 1, x + 1], 'yaxis.range': [y - 1, y + 1]}});
    }}""")
    at_rest(page)
    assert {name["text"] for name in page.evaluate(NAMES, PLOT)} - before


def test_on_a_phone_names_do_not_overlap_and_the_list_below_stands_for_the_lasso(visit):
    page = visit(390, "dark")
    draw(page)
    at_rest(page)
    shown = page.evaluate(NAMES, PLOT)
    assert shown and apart([name["box"] for name in shown])
    plot, panel = box_of(page, "#map-plot"), box_of(page, "#map-panel")
    assert plot["y"] + plot["height"] <= panel["y"] and plot["width"] > 350
    page.locator("#map-clusters [data-group]").first.click()
    expect(page.locator("#map-selection .hits-head")).to_have_text(re.compile(r"\d+ sentences in “"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_names_follow_the_slider_between_two_models(page, other_model):
    draw(page)
    clusters(page, 35)
    show(page, "Compare")
    page.locator("#map-other input").click()
    page.locator("#map-other input").fill(str(other_model))
    page.keyboard.press("Enter")
    expect(page.locator("#map-other input")).to_have_value(str(other_model))
    page.locator("#map-compare-start").click()
    expect(page.locator("#map-moved")).to_contain_text("nearest rows stay the same", timeout=180_000)
    page.locator("#map-share input[type=range]").wait_for()
    for share in (1, 0.5, 0):
        slide(page, share)
        check(page, least=10)
    slide(page, 1)
    clusters(page, 20)  # the new clusters' names have moved as well
    check(page, least=10)
