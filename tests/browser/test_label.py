"""Labels made on the page: by keys and by touch, through a reload, into training."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from sbert_app.jobs.duplicates import job
from sbert_app.ui.duplicates import tab
from tests.browser.chromium import go_to, put_on
from tests.browser.conftest import arrive
from tests.browser.corpus import choose_model, index, upload
from tests.browser.downloads import saved_rows

SUBJECTS = ("parcel", "invoice", "password", "printer", "holiday", "coffee machine")
FORMS = ("The {0} is lost, number {1}.", "I cannot find the {0} number {1}.", "Please send a new {0}, it was {1}.")


@pytest.fixture
def labelling(page, write, request) -> Page:
    """A page on which pairs of an uploaded file are being labelled, of another one in each test: answers stay with the texts."""
    texts = [form.format(subject, n) for subject in SUBJECTS for n in range(7) for form in FORMS]
    upload(page, write("requests.csv", "\n".join(["text", *(f'"{text} {request.node.name[5:11]}"' for text in texts)])))
    index(page, "requests.csv")
    go_to(page, "Fine-tune")
    page.locator("#label-pairs").click()
    expect(page.locator(".label-asked")).to_have_text("Do these two mean the same?")
    return page


def press(page: Page, count: int) -> None:
    """Answer so many questions by keys: about the same subject is the same."""
    for _ in range(count):
        card = page.locator(".label-card")
        before = card.get_attribute("data-count")
        one, two = page.locator(".label-pair p").all_inner_texts()
        same = any(subject in one and subject in two for subject in SUBJECTS)
        page.keyboard.press("y" if same else "n")
        expect(card).not_to_have_attribute("data-count", before)


def counted(page: Page) -> list[int]:
    return [int(number) for number in re.findall(r"(\d+) (?:the same|different)", page.locator(".label-counts").inner_text())]


def test_forty_pairs_by_keys_with_a_reload_become_training_data(labelling, monkeypatch):
    page = labelling
    for module, name, seconds in ((tab, "best_threshold", 0.5), (job, "mine", 3)):  # told while duplicates are being found
        work = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *values, work=work, seconds=seconds: (time.sleep(seconds), work(*values))[1])
    press(page, 20)
    page.reload()
    arrive(page)
    go_to(page, "Fine-tune")
    expect(page.locator(".label-card")).to_have_attribute("data-count", "20")  # it is open, as it was
    press(page, 26)
    assert 40 < sum(counted(page)) <= 46 and min(counted(page)) > 0
    page.locator("[data-act=adapt]").click()
    expect(page.locator("#adapted")).to_contain_text("Cross-validated on the labels to learn from")
    expect(page.locator(".label-so-far")).to_contain_text(re.compile(r"cosine 0\.\d\d, precision [01]\.\d\d \("))
    page.locator("[data-act=handed]").click()
    page.locator("#find-duplicates").click()
    threshold = re.search(r"Best threshold: cosine (0\.\d\d)", page.locator("#label").text_content())[1]
    expect(page.locator("#duplicates-headline")).to_contain_text(f"(cosine ≥ {max(0.5, float(threshold)):g})")
    go_to(page, "Fine-tune")
    lines = saved_rows(page.locator("#labels-csv"))
    assert len(lines) == 46 and {line["label"] for line in lines} == {"yes", "no"}
    page.locator("#use-labels").click()
    expect(page.locator("#data-fold")).to_contain_text(re.compile(r"labels of requests\.csv · \d\d labelled pairs"))
    expect(page.locator("#start")).to_be_visible()


def test_from_borderline_duplicates_to_labels_that_can_be_changed_until_another_corpus_is_opened(labelling, other_model, write):
    page = labelling
    press(page, 4)
    page.locator("#label-all > button").click()
    lists = page.locator("#label-list select")
    expect(lists).to_have_count(4)
    for number, label in enumerate(("yes", "yes", "no", "cannot say")):
        lists.nth(number).select_option(label)
        expect(lists.nth(number)).to_have_value(label)
    expect(page.locator(".label-counts")).to_contain_text("2 the same, 1 different, 1 cannot say")
    lists.nth(3).focus()
    page.keyboard.press("y")  # in a list: it chooses there, and answers no question
    expect(lists.nth(3)).to_have_value("yes")
    expect(page.locator(".label-counts")).to_contain_text("3 the same, 1 different, saved")
    expect(page.locator(".label-card")).to_have_attribute("data-count", "4")
    page.locator(".label-no").click()
    expect(lists).to_have_count(5)
    page.locator("[data-act=undone]").click()
    expect(lists).to_have_count(4)
    choose_model(page, other_model)
    page.locator("#index-again").click()
    expect(page.locator("#label-panel")).to_be_hidden()
    page.locator("#label-pairs").click()
    for number, label in enumerate(("yes", "yes", "no", "yes")):
        expect(lists.nth(number)).to_have_value(label)
    lines = (f"Another {subject} in line {n}" for n in range(10) for subject in SUBJECTS)
    upload(page, write("other.csv", "\n".join(["text", *lines])))
    index(page, "other.csv")
    expect(page.locator("#label-panel")).to_be_hidden()
    page.reload()
    arrive(page)
    go_to(page, "Duplicates")
    page.locator("#find-duplicates").click()
    page.locator("#duplicates-check > button").click()
    page.locator("#duplicates-borderline [data-press]").click()
    expect(page.locator(".label-asked")).to_be_visible()
    expect(page.locator(".label-card")).to_have_attribute("data-count", "0")


def test_buttons_are_for_thumbs_keys_are_dead_in_fields_and_undo_has_no_end(labelling):
    """On a phone; what the model thinks of a pair comes after the answer."""
    page = labelling
    put_on(page, "light", 390)
    assert "cosine" not in page.locator("#label").inner_text()
    boxes = [button.bounding_box() for button in page.locator(".label-buttons button").all()]
    assert len(boxes) == 3 and all(box["height"] >= 48 and box["width"] >= 48 for box in boxes)
    page.locator(".label-buttons button").first.click()
    expect(page.locator("#label .hint").first).to_contain_text(re.compile(r"Before: yes, to .*cosine -?\d"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    press(page, 2)
    page.keyboard.press("Backspace")
    page.locator("#label-pairs").press("x")
    page.get_by_label("Model", exact=True).press("n")  # a field
    page.keyboard.press("Escape")
    with page.expect_download():
        page.locator("#labels-csv").press(" ")  # which a button takes
    expect(page.locator(".label-card")).to_have_attribute("data-count", "3")
    page.locator(".label-counts").click()
    for left in ("2", "1", "0"):
        page.keyboard.press("Control+z" if left == "1" else "u")
        expect(page.locator(".label-card")).to_have_attribute("data-count", left)
    expect(page.locator(".label-acts")).not_to_contain_text("Undo")
    page.locator("[data-act=graded]").click()
    expect(page.locator(".label-asked")).to_contain_text("from 0 (not at all) to 5")
    page.keyboard.press("4")
    expect(page.locator(".label-card")).to_have_attribute("data-count", "1")
