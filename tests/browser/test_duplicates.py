"""Duplicates as a person finds them: one click, a threshold, files, a second opinion, another file beside the corpus."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import go_to, put_on
from tests.browser.corpus import index, open_example, paste, upload
from tests.browser.downloads import saved_rows

# The mark of what unfolds, of an accordion or of a <details>: what it is, its size and which way it points; and that it is first.
MARK = """name => {
  const fold = document.querySelector(name), icon = fold.querySelector('.icon');
  const style = icon ? getComputedStyle(icon) : getComputedStyle(fold, '::before');
  const first = !icon || icon.getBoundingClientRect().left < fold.querySelector('span').getBoundingClientRect().left;
  return [icon?.textContent ?? JSON.parse(style.content), style.fontSize, style.transform, style.color, first];
}"""
BUTTON = """name => {
  const style = getComputedStyle(document.querySelector(name));
  return ['borderTopWidth', 'borderTopColor', 'borderRadius', 'fontSize', 'fontWeight', 'color', 'padding']
    .map(each => style[each]);
}"""


@pytest.fixture
def page(shared_page) -> Page:
    go_to(shared_page, "Duplicates")
    return shared_page


def open_tickets(page: Page) -> None:
    open_example(page, "Support tickets")
    expect(page.locator("#duplicates-headline")).to_contain_text("Not searched yet")


def find(page: Page) -> None:
    page.locator("#find-duplicates").click()
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥ 0.85")
    expect(page.locator("#find-duplicates")).to_be_enabled()  # its last result would take a threshold's place


def threshold(page: Page, slider: str, value: str) -> None:
    box = page.locator(f"{slider} input[type=number]")
    box.fill(value)
    box.press("Tab")


def remove_similar_too(page: Page) -> None:
    page.locator("#duplicates-remove").get_by_text("Exact copies and similar rows").click()


def test_duplicates_from_click_to_cleaned_corpus(page, write, sentences):
    expect(page.locator(".start:visible")).to_contain_text("Drop a file here")
    expect(page.locator("#find-duplicates")).to_be_hidden()
    open_tickets(page)
    find(page)
    expect(page.locator("#duplicates-headline")).to_contain_text("No exact copies of earlier rows.26 rows are similar to another")
    expect(page.locator("#duplicates-staying")).to_contain_text("926 of 926 rows stay in cleaned.csv, 0 are removed.")
    expect(page.locator(".dup-group")).to_have_count(26)
    expect(page.locator(".dup-group").first.locator(".verdict")).to_have_text(["keep", "keep"])
    expect(page.locator(".dup-group").first.locator(".reason")).to_have_text(["", re.compile(r"0\.\d\d similar")])
    expect(page.locator(".dup-group .differing mark").first).to_have_attribute("title", re.compile(r"Not as in row \d+: "))
    in_order = ["#duplicates-threshold", "#duplicates-groups", "#duplicates-check", "#overlap-box"]
    places = [page.locator(name).bounding_box()["y"] for name in in_order]
    assert places == sorted(places)
    page.evaluate("scrollTo(0, 0)")
    foot = page.locator("#duplicates-foot").bounding_box()
    assert places[2] > 900 and 899 <= foot["y"] + foot["height"] <= 901  # in sight, though the groups fill more than the window
    marks = [page.evaluate(MARK, each) for each in ("#duplicates-check .label-wrap", ".dup-more summary")]
    assert marks[0] == marks[1]
    assert [page.evaluate(BUTTON, f"#duplicates-foot {each}") for each in ("#duplicates-cleaned", ".take-home button")] == [
        page.evaluate(BUTTON, "#duplicates-pairs")
    ] * 2
    expect(page.locator(".dup-group").nth(9)).to_be_visible()
    expect(page.locator(".dup-group").nth(10)).to_be_hidden()
    remove_similar_too(page)
    expect(page.locator(".dup-group").first.locator(".verdict")).to_have_text(["keep", "drop"])
    threshold(page, "#duplicates-threshold", "0.95")
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥ 0.95")
    left = page.locator(".dup-group").count()
    assert 0 < left < 26
    expect(page.locator("#duplicates-staying")).to_contain_text(f"{926 - left} of 926 rows stay")
    cleaned = saved_rows(page.locator("#duplicates-cleaned"))
    assert len(cleaned) == 926 - left and set(cleaned[0]) == {"text", "team", "product", "priority", "date"}
    verdicts = saved_rows(page.locator("#duplicates-keep-or-drop"))
    assert sum(row["verdict"] == "drop" for row in verdicts) == left and len(verdicts) == 926
    page.get_by_text("Borderline pairs").click()
    page.locator("#duplicates-ask").click()
    scored = "The cross-encoder cross-MiniLM-L6-stsb, trained for likeness, scored them in"
    expect(page.locator("#duplicates-borderline")).to_contain_text(scored)
    expect(page.locator("#duplicates-borderline .cross").first).to_have_text(re.compile(r"0\.\d{3}"))
    threshold(page, "#duplicates-threshold", "1")
    expect(page.locator("#duplicates-headline")).to_contain_text("The closest pair has 0.99")
    other = write("other.csv", f'text\n"{sentences[0]}"\na train to the moon\n')
    page.get_by_text("Compare with another file").click()
    page.locator("#overlap-file input[type=file]").set_input_files(str(other))
    expect(page.locator("#overlap")).to_contain_text("1 of 2 rows of other.csv has a match in support_tickets.csv")
    assert [row["corpus_row"] for row in saved_rows(page.locator("#overlap-export"))] == ["1"]


def test_the_visitor_decides_what_goes_and_the_files_follow(page, write):
    """Seven exact copies, and four rows that are only similar; the groups beyond the tenth are folded."""
    things = "printer laptop router camera kettle violin bicycle tractor candle carpet ladder parrot".split()
    texts = [f"Where is the invoice for my {thing}?" for thing in things]
    similar = [f"Where is the invoice for my {thing}" for thing in things[:4]]
    rows = [f'{i},"{text}",{i % 3}' for i, text in enumerate([*texts, *similar, *texts[5:]], 1)]
    upload(page, write("own.csv", "\n".join(["id,question,team", *rows]) + "\n"))
    index(page, "own.csv")
    find(page)
    threshold(page, "#duplicates-threshold", "0.97")
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥ 0.97")
    copies = "7 exact copies of earlier rows' text: 7 differ in id or team: look before you remove.4 more rows are similar"
    expect(page.locator("#duplicates-headline")).to_contain_text(copies)
    expect(page.locator("#duplicates-staying")).to_contain_text("16 of 23 rows stay in cleaned.csv, 7 are removed.")
    cleaned = saved_rows(page.locator("#duplicates-cleaned"))
    assert [row["id"] for row in cleaned] == [str(i) for i in range(1, 17)] and list(cleaned[0]) == ["id", "question", "team"]
    remove_similar_too(page)
    expect(page.locator("#duplicates-staying")).to_contain_text("12 of 23 rows stay")
    page.locator(".dup-more summary").click()
    last = page.locator(".dup-group").nth(10).get_by_role("button", name="Keep all of this group")
    last.press("Enter")
    expect(last).to_have_attribute("aria-pressed", "true")
    expect(last).to_be_focused()
    expect(page.locator(".dup-group").nth(10).locator(".verdict")).to_have_text(["keep", "keep"])
    expect(page.locator("#duplicates-staying")).to_contain_text("13 of 23 rows stay in cleaned.csv, 10 are removed. 1 row stays")
    kept = [row["id"] for row in saved_rows(page.locator("#duplicates-cleaned"))]
    verdicts = saved_rows(page.locator("#duplicates-keep-or-drop"))
    assert [row["id"] for row in verdicts if row["verdict"] == "keep"] == kept and len(kept) == 13
    page.reload()
    expect(page.locator("#duplicates-staying")).to_contain_text("13 of 23 rows stay in cleaned.csv, 10 are removed. 1 row stays")
    expect(page.locator("#duplicates-threshold input[type=number]")).to_have_value("0.97")
    page.locator(".dup-more summary").click()
    last.press("Enter")
    expect(last).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#duplicates-staying")).to_contain_text("12 of 23 rows stay")


def test_another_corpus_starts_afresh_and_markup_stays_text(page):
    put_on(page, "light", 390)
    open_tickets(page)
    find(page)
    threshold(page, "#duplicates-threshold", "0.95")
    expect(page.locator("#duplicates-headline")).to_contain_text("cosine ≥ 0.95")
    attack = "<img src=x onerror=alert(1)> {{7*7}}"
    paste(page, [attack, attack, f"{attack} again", "a plain line"])
    index(page, "pasted: ")
    expect(page.locator("#duplicates-headline")).to_contain_text("Not searched yet")
    expect(page.locator(".dup-group")).to_have_count(0)
    find(page)
    copies = "1 exact copy of earlier rows' text: 1 is the same in every column, safe to remove."
    expect(page.locator("#duplicates-headline")).to_contain_text(copies)
    expect(page.locator(".dup-group p").first).to_contain_text(attack)
    assert page.locator("img[src=x]").count() == page.get_by_test_id("toast-body").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
