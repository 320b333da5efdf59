"""Under the hits: why a row was not found; judge the hits, download the judgements, measure the ways to rank by them."""

from playwright.sync_api import Page, expect

from sbert_app.ui.search.below_hits import LEAST
from tests.browser.chromium import go_to, put_on
from tests.browser.corpus import open_example
from tests.browser.downloads import saved, saved_rows
from tests.browser.test_accessibility import faults
from tests.browser.test_evaluation import measure

QUERY = "how do I stop snails from eating my salad"
URN = "Descale the tea urn or boiler with diluted citric acid once mineral deposits crust its element."


def searched(page: Page) -> None:
    open_example(page, "Household advice")
    go_to(page, "Search")
    ask(page)


def ask(page: Page, query: str = QUERY) -> None:
    page.get_by_label("Query", exact=True).fill(query)
    page.get_by_label("Query", exact=True).press("Enter")
    expect(page.locator(f"#hits [data-query='{query}']")).to_be_attached()


def judge(page: Page, hit: int, name: str) -> None:
    button = page.locator("#hits .hit").nth(hit).get_by_role("button", name=name, exact=True)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")


def test_all_rows_above_a_score_are_counted_and_saved(page):
    open_example(page, "Household advice")
    go_to(page, "Search")
    page.get_by_role("button", name="All rows above a score").click()
    expect(page.locator("#least input")).not_to_have_value(f"{LEAST}")  # but the corpus's own
    ask(page)  # meanwhile the fold is open: Gradio writes a value once more some milliseconds after
    page.locator("#least input").fill("0.25")
    page.locator("#count-above").click()
    answer = page.locator("#above-answer")
    expect(answer).to_contain_text("a cosine of at least 0.25")
    count = int(answer.locator(".hits-head").inner_text().split()[0])
    rows = saved_rows(answer.get_by_role("link", name="csv"))
    assert len(rows) == count > 10 and min(float(row["score"]) for row in rows) >= 0.25
    assert rows[-1]["sentence"] == answer.locator("tbody tr").last.locator("td").last.inner_text()


def test_why_a_row_was_not_found(shared_page):
    page = shared_page
    searched(page)
    page.get_by_role("button", name="Expected another row?").click()
    page.locator("#expected input, #expected textarea").fill(URN)
    page.locator("#why-not").click()
    answer = page.locator("#standing-answer")
    expect(answer.locator(".standing-reason")).to_contain_text("Row 1 has no word of the query")
    expect(answer.locator("tbody tr")).to_have_count(4)
    expect(answer).to_contain_text("no word in common")
    for width, theme in ((390, "dark"), (1280, "light")):
        put_on(page, theme, width)
        assert faults(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#expected input, #expected textarea").fill("9999")
    page.locator("#why-not").click()
    expect(page.get_by_test_id("toast-body")).to_contain_text("There is no row 9,999")
    ask(page, "limescale in the kettle")
    expect(answer.locator(".standing")).to_have_count(0)  # it was about other hits


def test_judged_hits_are_a_file_that_evaluation_reads(shared_page, write):
    page = shared_page
    searched(page)
    expect(page.locator("#hits .judge").first).to_be_hidden()
    page.get_by_label("Judge these hits").check()
    assert page.locator("#judge").bounding_box()["width"] > 120
    for hit, name in enumerate(("yes", "partly", "no")):
        judge(page, hit, name)
    expect(page.locator("#judged")).to_contain_text("3 hits of 1 query judged")
    page.locator("#hits .hit").nth(1).get_by_role("button", name="partly", exact=True).click()
    expect(page.locator("#judged")).to_contain_text("2 hits of 1 query judged")
    assert faults(page) == []
    ask(page, "loud bang when I close the faucet")
    expect(page.locator("#hits")).to_contain_text("water hammer")
    judge(page, 0, "yes")
    expect(page.locator("#judged")).to_contain_text("3 hits of 2 queries judged")
    download = page.get_by_role("button", name="Download judgements.csv (3)")
    judged = [(row["query"] == QUERY, row["relevance"]) for row in saved_rows(download)]
    assert judged == [(True, "2"), (True, "0"), (False, "2")]
    path = write("judgements.csv", saved(download)[1])
    page.reload()
    expect(page.locator("#judged")).to_contain_text("3 hits of 2 queries judged")
    go_to(page, "Evaluation")
    page.locator("#eval-file input[type=file]").set_input_files(path)
    expect(page.locator("#eval-sets")).to_contain_text("judgements")
    expect(page.locator("#eval-systems").get_by_label("Hybrid, word by word")).to_be_checked()
    measure(page)
    grid = page.locator("#eval-grid")
    expect(grid.locator("tbody tr")).to_have_count(4)
    expect(grid).to_contain_text("nDCG@10, 2 queries")
    grid.locator("button[data-system=maxsim]").click()
    expect(page.locator("#eval-errors")).to_contain_text("judgements: all measures × 100")
    assert faults(page) == []
