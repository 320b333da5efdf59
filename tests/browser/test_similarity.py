"""The Similarity tab in a real browser: words, cautions, marks, matched words, details, and a file of pairs."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import go_to, put_on
from tests.browser.corpus import choose_model
from tests.browser.downloads import saved


def upload_pairs(page: Page, path: Path) -> None:
    clear = page.locator("#pair-file-upload").get_by_label("Clear")
    if clear.is_visible():
        clear.click()
    page.locator("#pair-file-upload input[type=file]").set_input_files(str(path))


@pytest.fixture
def page(shared_page) -> Page:
    go_to(shared_page, "Similarity")
    return shared_page


def test_the_page_opens_with_an_answer_in_words_and_follows_the_typing(page):
    score = page.locator("#score")
    expect(score).to_have_text(re.compile(r"0\.\d{3}"))
    expect(page.locator("#score-words")).to_have_text(re.compile(r"^Close in \w+: higher than 9[\d.]+ % of random pairs\.$"))
    source = page.get_by_text("random pairs of the example support_tickets.csv")
    expect(source).to_have_count(1)
    expect(source).to_be_hidden()
    page.locator(".score-line summary").click()
    expect(source).to_be_visible()
    expect(page.locator(".cautions")).to_have_count(0)
    expect(page.locator(".matched mark.pair-1")).to_have_count(2)
    expect(page.locator(".matched")).to_contain_text("The cat")
    page.get_by_role("button", name=re.compile("^Details")).click()
    expect(page.locator("table.matrix")).to_contain_text("keyboard")
    special = page.locator("table.matrix th", has_text="[CLS]").first
    expect(special).to_be_hidden()
    page.locator("#all-words input").check()
    expect(special).to_be_visible()
    page.locator("#sentence2 textarea").fill("")
    expect(page.locator("#comparison")).to_contain_text("The score updates as you type")
    page.locator("#sentence2 textarea").press_sequentially("The cat fell asleep on the warm keyboard.", delay=5)
    expect(score).to_have_text("1.000")
    expect(page.locator("#comparison")).to_contain_text("random pairs of the example support_tickets.csv")
    expect(page.locator(".matched")).to_contain_text("keyboard")
    page.locator("#sentence1 textarea").fill("The dog is on the keyboard.")
    expect(page.locator("table.matrix")).to_contain_text("dog")
    expect(special).to_be_visible()  # fold and box stay as they are while one types
    expect(page.locator("#why")).to_contain_text(re.compile(r"SBERT, all-MiniLM-L6-v2\s*[\d.]+ ms\s*cross-encoder, .*?[\d.]+ ms"))


def test_a_score_that_was_not_there_yet_is_asked_for_again(page):
    expect(page.locator("#cross-score")).to_be_visible()
    with page.expect_request("**/queue/join*"):
        page.locator("#comparison .second").evaluate("element => element.classList.add('late')")
    page.locator("#comparison .second").evaluate("element => element.classList.remove('late')")


def test_an_example_is_one_click_away_and_comes_with_a_caution_and_marks(page):
    page.get_by_role("button", name="Negation", exact=True).click()
    expect(page.locator("#sentence1 textarea")).to_have_value("I love this phone.")
    expect(page.locator(".matched mark").first).to_contain_text("love")
    expect(page.locator(".cautions li")).to_have_text(re.compile("The second sentence has “not”, the first has not"))
    expect(page.locator("#score-words")).to_contain_text("Close in topic:")
    marks, medians = page.locator(".scale .mark"), r"medians: random pairs 0\.\d\d, related pairs 0\.\d\d, paraphrases 0\.\d\d"
    expect(marks).to_have_text([re.compile(r"random 0\.\d\d"), re.compile("related 0"), re.compile("paraphrase 0")])
    places = [mark.bounding_box()["x"] for mark in marks.all()]
    assert places == sorted(set(places))
    expect(page.locator("#comparison .bar").first).to_have_attribute("aria-label", re.compile(medians))


def test_an_unknown_model_is_told_and_not_taken(page):
    picker = page.get_by_label("Model", exact=True)
    picker.fill("no/such-model")
    picker.press("Enter")
    expect(page.get_by_test_id("toast-body")).to_contain_text("'no/such-model' is not on this machine")
    expect(picker).to_have_value("all-MiniLM-L6-v2")
    page.locator("#sentence2 textarea").fill("Still working.")
    expect(page.locator(".matched")).to_contain_text("Still")


def test_lists_give_a_heat_map_a_table_and_a_file_which_do_not_stay_below_an_error(page):
    go_to(page, "Two lists")
    page.locator("#compare-lists").click()
    expect(page.locator("#heat-map .js-plotly-plot .heatmaplayer .hm")).to_have_count(1)
    expect(page.locator("#heat-map .modebar")).to_be_hidden()  # it would lie over the cells
    expect(page.locator("#pairs")).to_contain_text("It keeps crashing on start.")
    name, text = saved(page.locator("#lists-summary").get_by_role("link", name="csv", exact=True))
    assert name == "pairs.csv" and len(text.splitlines()) == 13
    page.locator("#lines2 textarea").fill(" ")
    page.locator("#compare-lists").click()
    expect(page.get_by_test_id("toast-body")).to_contain_text("The second list is blank")
    expect(page.locator("#heat-map")).to_be_hidden()
    expect(page.locator("#pairs")).to_be_hidden()


def test_a_file_of_pairs_comes_back_with_a_score_column(page, write):
    go_to(page, "A file of pairs")
    upload_pairs(page, write("mine.csv", "id,left,right\n1,A red car,A crimson automobile\n2,A dog,\n3,A dog,The moon\n"))
    expect(page.locator("#pair-result")).to_contain_text("2 rows of mine.csv scored in")
    expect(page.locator("#pair-result")).to_contain_text("1 row skipped, blank sentence: row 2")
    expect(page.locator("#pair-first input")).to_have_value("left")
    name, content = saved(page.locator("#pair-download"))
    rows = list(csv.DictReader(content.decode("utf-8-sig").splitlines()))
    assert name == "mine_scored.csv"
    assert [row["id"] for row in rows] == ["1", "2", "3"] and rows[1]["score"] == ""
    assert float(rows[0]["score"]) > 0.5 > float(rows[2]["score"])
    upload_pairs(page, write("one.csv", "text\nonly one column\n"))
    expect(page.get_by_test_id("toast-body")).to_contain_text("needs two columns of text")
    expect(page.locator("#pair-result")).to_be_hidden()
    page.locator("#pair-example").click()
    expect(page.locator("#pair-result")).to_contain_text("420 rows of instructions_labelled.csv")


def test_scores_are_compared_with_a_column_of_labels(page, write):
    rows = [f"{i % 2},The cat sat on mat {i},{f'A cat is on mat {i}' if i % 2 else f'Taxes rose in year {i}'}" for i in range(30)]
    go_to(page, "A file of pairs")
    upload_pairs(page, write("labels.csv", "\n".join(["label,left,right", *rows]) + "\n"))
    result, labels = page.locator("#pair-result"), page.locator("#pair-labels input")
    expect(result).to_contain_text(re.compile(r"Calling a pair “1” at 0\.\d+ or higher is right for 100 % of 30 labelled pairs\."))
    expect(labels).to_have_value("label")
    expect(result.get_by_text("Average precision")).to_be_hidden()
    result.locator(".pair-agreement summary").click()
    expect(result.get_by_text("Average precision ×100: 100.0")).to_be_visible()
    expect(page.get_by_role("region", name="Highest scores not labelled “1”")).to_contain_text("Taxes rose")
    labels.click()
    page.get_by_role("option", name="none", exact=True).click()
    expect(page.get_by_role("region", name="Lowest scores", exact=True)).to_contain_text("Taxes rose")
    expect(result).not_to_contain_text("Calling a pair")


def test_another_model_clears_the_scores_and_offers_to_score_again(page, other_model):
    go_to(page, "A file of pairs")
    page.locator("#pair-example").click()
    result, again = page.locator("#pair-result"), page.locator("#pair-score")
    expect(result).to_contain_text("No threshold of the score beats calling every pair “opposite” or “other”")
    expect(again).to_be_hidden()
    choose_model(page, other_model)
    expect(again).to_have_text(re.compile("Score with .*first-token"))
    expect(result).to_be_hidden()
    expect(page.locator("#pair-download")).to_be_hidden()
    again.click()
    expect(result).to_contain_text(re.compile("with .*first-token; the download has one more column"))
    expect(again).to_be_hidden()


def test_the_drawer_explains_in_one_picture(page):
    drawer = page.locator("#help")
    expect(drawer.locator("svg").first).to_be_hidden()
    drawer.locator("summary").press("Enter")
    expect(drawer.get_by_role("img")).to_have_count(3)
    expect(drawer).to_contain_text("10,000 sentences make 49,995,000 pairs")
    for width, theme in ((1280, "light"), (390, "dark")):
        put_on(page, theme, width)
        assert page.evaluate("document.documentElement.scrollWidth") == width
