"""The names of clusters on a map: near their groups, never over one another, on the screen and in whatever is taken home."""

import re
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sbert_app.corpus_map.result import GROUPS, MANY
from sbert_app.settings import ASSETS
from sbert_app.ui.map.chart import map_figure
from sbert_app.ui.map.view import page as kept_page
from tests.browser.chromium import go_to, put_on, until
from tests.browser.downloads import opened_from_disk, saved
from tests.browser.test_map import PLOT, SLIDE, box_of, bright, draw, group_into, of_figure, wait_for
from tests.corpus_map.maps import grouped_map

# Of each name that is shown: its box, whether it is within NEAR pixels of its group's hull, whether a line leads to it from there,
# and how many points it covers. The hull of a group of clusters is that of the clusters nearest to its centre on the first map.
# How far a point is from a hull: the most by which it is farther than all of its points, among many directions.
NAMES = """selector => {
  const NEAR = 12, gd = document.querySelector(selector), origin = gd.querySelector('.main-svg').getBoundingClientRect();
  const {xaxis, yaxis, annotations, meta} = gd._fullLayout, traces = gd._fullData.slice(0, -2);
  const at = (x, y) => [xaxis._offset + xaxis.d2p(x), yaxis._offset + yaxis.d2p(y)];
  const directions = Array.from({length: 128}, (_, i) => [Math.cos(i * Math.PI / 64), Math.sin(i * Math.PI / 64)]);
  const along = ([x, y]) => directions.map(([dx, dy]) => x * dx + y * dy);
  const hullOf = points => points.map(along).reduce((most, each) => most.map((value, i) => Math.max(value, each[i])));
  const distance = (point, hull) => Math.max(...along(point).map((value, i) => value - hull[i]));
  const lines = (gd.querySelector('.leaders')?.getAttribute('d') ?? '').split('M').map(part => part.split('L'));
  const ends = lines.filter(line => line[1]).map(([start]) => start.split(',').map(Number));
  const spread = trace => Array.from(trace.x, (x, i) => at(x, trace.y[i])), points = traces.flatMap(spread);
  const {centres, clusters} = meta;
  const far = (a, b) => Math.hypot(centres[a][0] - centres[b][0], centres[a][1] - centres[b][1]);
  const numbers = centres.map((_, i) => i);
  const own = i => numbers.slice(clusters).reduce((a, b) => (far(i, b) < far(i, a) ? b : a), clusters);
  const of = index => (index < clusters ? [index] : numbers.slice(0, clusters).filter(i => own(i) === index));
  return [...gd.querySelectorAll('.annotation')].filter(name => name.style.visibility !== 'hidden').map(name => {
    const {left, top, right, bottom} = name.getBoundingClientRect(), index = Number(name.dataset.index);
    const centre = at(annotations[index].x, annotations[index].y);
    const members = of(index).map(i => traces[gd.data.findIndex(trace => trace.legendrank === i)]);
    const hull = hullOf(members.flatMap(spread)), [dx, dy] = [origin.left, origin.top];
    const covered = points.filter(([x, y]) => x >= left - dx && x <= right - dx && y >= top - dy && y <= bottom - dy).length;
    const spot = (a, b) => [left + a * (right - left) - dx, top + b * (bottom - top) - dy];
    const spots = [0, 0.25, 0.5, 0.75, 1].flatMap(a => [0, 0.5, 1].map(b => spot(a, b)));
    return {
      text: name.textContent, box: [left, top, right, bottom], covered, index,
      near: Math.min(...spots.map(p => distance(p, hull))) <= NEAR,
      led: ends.some(end => Math.hypot(end[0] - centre[0], end[1] - centre[1]) < 2) && distance(centre, hull) <= NEAR,
    };
  });
}"""
MOST = 25
CHART = ".js-plotly-plot"  # on a kept page
# The box of each name that is shown, or in a picture, by its text, and the ends of each line, from the left top of the picture.
PLACED = """([selector, svg]) => {
  const box = svg ? document.body.appendChild(document.createElement('div')) : document.querySelector(selector);
  if (svg) box.innerHTML = svg;
  const origin = box.querySelector('.main-svg').getBoundingClientRect(), shown = {};
  for (const name of box.querySelectorAll('.annotation')) {
    const {left, top, right, bottom} = name.getBoundingClientRect(), {left: x, top: y} = origin;
    if (svg || name.style.visibility !== 'hidden') shown[name.textContent] = [left - x, top - y, right - x, bottom - y];
  }
  const path = box.querySelector('.leaders')?.getAttribute('d') ?? '', lines = path.match(/M[^M]*L[^M]*/g) ?? [];
  if (svg) box.remove();
  return [shown, lines.map(line => line.match(/-?[\\d.]+/g).map(Number))];
}"""
TAKEN = """async selector => {
  const address = await studioResults.drawn(studioResults.printed(document.querySelector(selector)), 'svg');
  return decodeURIComponent(address.slice(address.indexOf(',') + 1));
}"""
# Present a chart in a box of its own size, without the full screen; then make its names, which are larger there, as large as on it.
PRESENT = """selector => {
  Element.prototype.requestFullscreen = undefined;
  const chart = document.querySelector(selector), place = chart.parentElement;
  const row = document.body.appendChild(document.createElement('div'));
  place.id = 'map';
  row.className = 'take-home';
  Object.assign(row.dataset, {title: 'A map', source: '', shows: 'map'});
  row.innerHTML = '<button data-present>Present</button><button data-plot="map"></button>';
  const size = document.head.appendChild(document.createElement('style'));
  size.textContent = `.present-chart { width: ${chart.clientWidth}px; height: ${chart.clientHeight}px }`;
  row.firstChild.click();
}"""
AS_LARGE = """([selector, other]) => {
  const [{layout}, presented] = [selector, other].map(chart => document.querySelector(chart));
  const sizes = layout.annotations.map((name, i) => [`annotations[${i}].font.size`, name.font.size]);
  return Plotly.relayout(presented, Object.fromEntries(sizes));
}"""
NEARER = "Plotly.relayout(gd, {'xaxis.range': [0, 8], 'yaxis.range': [0, 8]})"
# Pictures cannot use the font of a page: here it has theirs.
ONE_FONT = "Plotly.relayout(gd, {'font.family': 'Arial, Liberation Sans, Helvetica, sans-serif'})"


def apart(boxes: list[list[float]]) -> bool:
    """Whether no two boxes overlap."""
    return all(a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for i, a in enumerate(boxes) for b in boxes[:i])


def check(page: Page, selector: str = PLOT, least: int = 10) -> None:
    """Names are there, apart, and at their groups, once they have followed the last change of the figure."""
    until(page, lambda: not any(name["covered"] for name in page.evaluate(NAMES, selector)))
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
    groups = GROUPS if count > MANY else 0
    expect(page.locator(f"{PLOT} .annotation")).to_have_count(count + groups)
    at_rest(page)


def slide(page: Page, share: float) -> None:
    """Move the slider in some steps, and wait until the names are at rest."""
    for step in (share - 0.02, share):
        page.locator("#map-share input[type=range]").evaluate(SLIDE, step)
        page.wait_for_timeout(100)  # a person slides
    at_rest(page)


def take_home(page: Page, button: str) -> tuple[str, bytes]:
    page.locator("#map-export button").first.click()  # the menu closes after a choice
    return saved(page.locator(button))


def crossings(lines: list[list[float]]) -> int:
    """How many pairs of lines, each x, y, x, y, cross."""

    def side(line: list[float], x: float, y: float) -> bool:
        return (line[2] - line[0]) * (y - line[1]) > (line[3] - line[1]) * (x - line[0])

    def parts(a: list[float], b: list[float]) -> bool:
        return side(a, *b[:2]) != side(a, *b[2:])

    return sum(parts(a, b) and parts(b, a) for i, a in enumerate(lines) for b in lines[:i])


def middle(box: list[float]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def placed(page: Page, selector: str = "", svg: str = "") -> tuple[dict[str, list[float]], list[list[float]]]:
    return tuple(page.evaluate(PLACED, [selector, svg]))


@pytest.fixture
def page(shared_page) -> Page:
    """The map of the example tickets, drawn with moving points, all of it in view; the first test has its clusters of itself."""
    if not shared_page.locator(PLOT).count():
        shared_page.emulate_media(reduced_motion="no-preference")
        draw(shared_page)
    of_figure(shared_page, "Plotly.relayout(gd, {'xaxis.autorange': true, 'yaxis.autorange': true})")
    return shared_page


@pytest.fixture
def kept_map(browser, tmp_path):
    """Open a kept page with a map made by hand of so many clusters and rows."""
    pages = []

    def kept_map(clusters: int, rows: int = 5_000, given: dict[int, str] | None = None, **options: Any) -> Page:
        made = replace(grouped_map(clusters, rows), given_names=given or {})
        path = tmp_path / "map.html"
        path.write_text(kept_page(made, map_figure(made)), encoding="utf-8")
        pages.append(browser.new_context(**{"viewport": {"width": 1100, "height": 900}} | options).new_page())
        pages[-1].goto(path.as_uri())
        for script in ("take_home.js", "present.js"):
            pages[-1].add_script_tag(path=ASSETS / script)
        of_figure(pages[-1], ONE_FONT, CHART)
        at_rest(pages[-1], CHART)
        return pages[-1]

    yield kept_map
    for page in pages:
        page.context.close()


@pytest.mark.parametrize(("count", "least"), [(6, 6), (150, 10)])
def test_names_cover_no_points_and_have_the_same_places_in_pictures_and_on_the_full_screen(kept_map, count, least):
    page = kept_map(count)
    check(page, CHART, least)
    names, lines = placed(page, CHART)
    assert lines and crossings(lines) == 0
    in_picture, _ = placed(page, svg=page.evaluate(TAKEN, CHART))
    page.evaluate(PRESENT, CHART)
    until(page, lambda: page.locator(".present-chart .annotation").count())
    page.evaluate(AS_LARGE, [CHART, ".present-chart"])
    at_rest(page, ".present-chart")
    for other in (in_picture, placed(page, ".present-chart")[0]):
        assert sorted(other) == sorted(names)
        assert {name: box for name, box in names.items() if middle(other[name]) != pytest.approx(middle(box), abs=1)} == {}
    page.keyboard.press("Escape")
    of_figure(page, NEARER, CHART)
    at_rest(page, CHART)
    check(page, CHART, 1)
    if count > MOST:
        inside = {name["index"] for name in page.evaluate(NAMES, CHART)}
        assert inside and max(inside) < count  # clusters, no longer groups of them


def test_what_a_person_named_has_its_name_at_rest_and_in_pictures(kept_map):
    given = {79: "my smallest group", 40: "another of mine", 1: "a large one"}
    page = kept_map(80, given=given)
    shown = page.evaluate(NAMES, CHART)
    assert {name["index"] for name in shown} >= set(given) and apart([name["box"] for name in shown])
    taken, _ = placed(page, svg=page.evaluate(TAKEN, CHART))
    assert set(taken) >= {name["text"] for name in shown if name["index"] in given}


# A finger on the map, from one place to the next, in pixels from its left top.
TOUCHED = {"touchStart": slice(1), "touchMove": slice(1, None), "touchEnd": slice(0)}


def swipe(page: Page, *places: tuple[float, float]) -> None:
    box, finger = page.locator(f"{CHART} .nsewdrag").first.bounding_box(), page.context.new_cdp_session(page)
    points = [{"x": box["x"] + x, "y": box["y"] + y} for x, y in places]
    for kind, part in TOUCHED.items():
        for point in points[part] or [None]:
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point] if point else []})


def test_a_swipe_over_the_map_scrolls_the_page_and_a_lasso_without_points_keeps_what_is_chosen(kept_map):
    page = kept_map(6, viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True)
    of_figure(page, "studioMap.highlight(gd, [0, 1, 2])", CHART)
    of_figure(page, "gd.scrollIntoView()", CHART)
    before = page.evaluate("scrollY")
    page.evaluate("before => addEventListener('scrollend', () => { window.rests = scrollY > before + 50 })", before)
    swipe(page, (100, 300), *((100, 300 - 20 * step) for step in range(1, 10)))
    page.wait_for_function("window.rests")  # the page scrolls on after the finger has left it, away from the taps that follow
    assert bright(page, CHART) == 3
    of_figure(page, "gd.scrollIntoView()", CHART)
    page.locator(f"{CHART} [data-val=lasso]").tap()
    swipe(page, (4, 4), (9, 5), (14, 9), (9, 14), (4, 18))  # ends so far from its beginning that it is no tap, also in one move
    until(page, lambda: of_figure(page, "!gd.layout.selections?.length", CHART))
    until(page, lambda: bright(page, CHART) == 3)


def test_on_a_phone_names_have_places_and_the_list_below_stands_for_the_lasso(page):
    put_on(page, "dark", 390)
    check(page, least=6)  # all of them, over no point, though the largest took the only free place of another at first
    plot, panel = box_of(page, "#map-plot"), box_of(page, "#map-panel")
    assert plot["y"] + plot["height"] <= panel["y"] and plot["width"] > 350
    page.locator("#map-clusters [data-group]").first.click()
    expect(page.locator("#map-selection .hits-head")).to_have_text(re.compile(r"\d+ sentences in “"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_names_lie_apart_and_at_their_groups_on_the_screen_and_in_whatever_is_taken_home(page, browser, tmp_path):
    clusters(page, 80)
    check(page)
    vector = take_home(page, "#map-take-home [data-picture=svg]")[1].decode()
    boxes, lines = placed(page, svg=vector)
    assert 10 <= len(boxes) <= MOST and apart([*boxes.values()]) and lines
    kept_map, window = take_home(page, "#map-page"), {"width": 1280, "height": 900}
    with opened_from_disk(browser, kept_map, tmp_path, viewport=window) as kept:
        kept.locator(".annotation").filter(visible=True).first.wait_for()
        at_rest(kept, ".js-plotly-plot")
        check(kept, ".js-plotly-plot")
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.locator("#map-export button").first.click()
    page.locator("#map-take-home [data-present]").click()
    page.locator(".present-chart .annotation").filter(visible=True).first.wait_for()
    at_rest(page, ".present-chart")
    check(page, ".present-chart", least=10)
    page.keyboard.press("Escape")


def test_few_clusters_all_have_names_on_any_width_and_zooming_in_shows_those_of_smaller_ones(page):
    clusters(page, 12)
    check(page, least=12)
    widths = "gd => Array.from(gd.querySelectorAll('.annotation text'), text => text.getBoundingClientRect().width)"
    assert max(page.locator(PLOT).evaluate(widths)) < 220 and "…" not in page.locator(f"{PLOT} .infolayer").text_content()
    page.set_viewport_size({"width": 420, "height": 900})  # less room: some names move away from their clusters
    wait_for(page, "gd._fullLayout.width < 430")
    at_rest(page)
    check(page, least=2)
    of_figure(page, "Plotly.relayout(gd, {'xaxis.range': [2, 3], 'yaxis.range': [2, 3]})")
    expect(page.locator(f"{PLOT} .leaders")).to_have_count(1)
    check(page, least=0)
    page.set_viewport_size({"width": 1280, "height": 900})
    clusters(page, 80)
    before = {name["text"] for name in page.evaluate(NAMES, PLOT)}
    x, y = of_figure(page, "(({x, y}) => [x, y])(gd.layout.annotations[gd.layout.meta.clusters - 1])")
    of_figure(page, f"Plotly.relayout(gd, {{'xaxis.range': {[x - 1, x + 1]}, 'yaxis.range': {[y - 1, y + 1]}}})")
    until(page, lambda: {name["text"] for name in page.evaluate(NAMES, PLOT)} - before)


def test_names_follow_the_slider_between_two_models(page, other_model):
    clusters(page, 35)
    go_to(page, "Compare")
    other = page.locator("#map-other input")
    other.click()
    other.fill(str(other_model))
    other.press("Enter")
    expect(other).to_have_value(str(other_model))
    page.locator("#map-compare-start").click()
    expect(page.locator("#map-moved")).to_contain_text("nearest rows stay the same", timeout=180_000)
    page.locator("#map-share input[type=range]").wait_for()
    for share in (1, 0.5, 0):
        slide(page, share)
        check(page, least=8)
    slide(page, 1)
    clusters(page, 20)  # the new clusters' names have moved as well
    check(page, least=8)
