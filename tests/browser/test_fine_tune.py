"""Fine-tuning as a person does it: data, settings, live, verdict; and what survives a reload."""

import csv
import re
import zipfile

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from sbert_app.services.labelled import EXAMPLES
from tests.browser.chromium import go_to

TRAINED = 400_000  # milliseconds a run may take beside other work
pytestmark = pytest.mark.usefixtures("no_training_left")


def open_tab(page: Page) -> None:
    go_to(page, "Fine-tune")


def settings(page: Page, curve: bool = False, **values: float) -> None:
    """Set numbers under "All settings"; the learning curve costs half a training more."""
    page.get_by_role("button", name=re.compile("All settings")).click()
    for name, value in values.items():
        page.locator(f"#{name} input").fill(str(value))
        page.locator(f"#{name} input").press("Tab")
    page.locator("#learning-curve input").set_checked(curve)


def upload(page: Page, path) -> None:
    page.locator("#labelled-file input[type=file]").set_input_files(str(path))


@pytest.mark.parametrize(("name", "epochs"), [("requests_scored", 2), ("instructions_labelled", 3), ("messages_triplets", 2)])
def test_each_example_gets_better(page, name, epochs):
    """Shorter than the settings they come with; the last one with its learning curve."""
    curve = name == "messages_triplets"
    open_tab(page)
    page.locator(f"#example-{name}").click()
    expect(page.locator("#labelled")).to_contain_text("held out for the verdict")
    expect(page.locator("#estimate")).to_contain_text("Extrapolated from 4 batches timed just now")
    settings(page, curve, epochs=epochs)
    page.locator("#start").click()
    expect(page.locator("#run-progress")).to_contain_text(re.compile(r"step [\d,]+ of [\d,]+ · loss"), timeout=90_000)
    expect(page.locator("#verdict-word")).to_have_text("Better", timeout=TRAINED)
    expect(page.locator("#verdict")).to_contain_text("95 % interval +")
    if curve:
        expect(page.locator("#verdict")).to_contain_text("training examples, the measure changed from")
    expect(page.locator("#movers")).to_contain_text("Improved most")
    expect(page.locator("#run-curve .js-plotly-plot")).to_be_visible()
    expect(page.locator("#distributions .js-plotly-plot")).to_be_visible()


def test_a_trained_model_is_saved_used_everywhere_and_taken_away(page, tmp_path):
    open_tab(page)
    page.locator("#example-requests_scored").click()
    expect(page.locator("#estimate")).to_contain_text("Extrapolated")
    settings(page, epochs=1)
    page.locator("#start").click()
    expect(page.locator("#verdict-word")).to_be_visible(timeout=TRAINED)
    page.locator("#model-name input").fill("wishes")
    page.locator("#use-model").click()
    expect(page.locator("#kept")).to_contain_text("Saved as wishes and in use in all tabs.")
    expect(page.locator("#model input")).to_have_value("wishes")
    page.locator("#pack-model").click()
    with page.expect_download() as download:
        page.locator("#download-model").click(timeout=90_000)
    path = tmp_path / "model.zip"
    download.value.save_as(path)
    assert "requests_scored/model.safetensors" in zipfile.ZipFile(path).namelist()
    # Before and after, side by side on the same input.
    page.get_by_role("tab", name="Similarity", exact=True).click()
    page.locator("#sentence1 textarea").fill("Please block my card")
    page.locator("#sentence2 textarea").fill("Please unblock my card")
    page.get_by_role("button", name=re.compile("^Compare with another model")).click()
    page.locator("#other-model input").click()
    page.get_by_role("option", name="all-MiniLM-L6-v2").click()
    expect(page.locator("#other-score")).to_have_text(re.compile(r"0\.\d{3}"))
    expect(page.locator("#comparison")).to_contain_text("wishes")
    assert page.locator("#score").inner_text() < page.locator("#other-score").inner_text()  # opposites moved apart
    page.get_by_role("tab", name="Search", exact=True).click()
    page.locator("#example-support_tickets").click()
    expect(page.locator("#corpus-status")).to_contain_text("wishes", timeout=90_000)


def test_a_reload_finds_the_run_again_and_stop_keeps_the_best(visit):
    first = visit()
    open_tab(first)
    first.locator("#example-messages_triplets").click()
    expect(first.locator("#estimate")).to_contain_text("Extrapolated")
    settings(first, epochs=10)
    first.locator("#start").click()
    expect(first.locator("#run-progress")).to_contain_text("best on dev", timeout=120_000)
    first.context.close()
    second = visit(390, "dark")  # another device
    open_tab(second)
    expect(second.locator("#run-progress")).to_contain_text("step", timeout=120_000)
    second.locator("#run-stop").click()
    expect(second.locator("#run-progress")).to_contain_text("Stopped")
    expect(second.locator("#verdict-word")).to_be_visible(timeout=120_000)
    assert second.evaluate("document.documentElement.scrollWidth") <= 390
    second.get_by_role("button", name=re.compile("Earlier runs")).click()
    expect(second.locator("#run-choice input")).to_have_value(re.compile("messages_triplets · stopped"))


def test_a_hosted_visitor_finds_its_run_after_a_reload_and_nobody_else_does(visit, hosted_url):
    owner, other = visit(url=hosted_url), visit(url=hosted_url)
    open_tab(owner)
    owner.locator("#example-messages_triplets").click()
    expect(owner.locator("#estimate")).to_contain_text("Extrapolated")
    settings(owner, epochs=10)
    owner.locator("#start").click()
    expect(owner.locator("#run-progress")).to_contain_text("best on dev", timeout=120_000)
    owner.reload()
    open_tab(owner)
    expect(owner.locator("#run-progress")).to_contain_text("step", timeout=120_000)
    other.reload()
    open_tab(other)
    other.get_by_role("button", name=re.compile("Earlier runs")).click()
    expect(other.locator("#run-choice input")).to_be_visible()
    assert other.locator("#run-choice input").input_value() == "" and not other.locator("#run-progress").is_visible()
    owner.locator("#run-stop").click()
    expect(owner.locator("#verdict-word")).to_be_visible(timeout=120_000)
    owner.locator("#use-model").click()
    expect(owner.locator("#kept")).to_contain_text("only for you")
    expect(owner.locator("#model input")).to_have_value(re.compile("^runs/"))
    assert "runs/" not in other.locator("#model input").input_value()


def test_shuffled_labels_are_not_called_better(page, tmp_path):
    with (EXAMPLES / "instructions_labelled.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    labels = np.random.default_rng(1).permutation([row["label"] for row in rows])
    path = tmp_path / "shuffled.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sentence1", "sentence2", "label"])
        writer.writerows((row["sentence1"], row["sentence2"], label) for row, label in zip(rows, labels, strict=True))
    open_tab(page)
    upload(page, path)
    expect(page.locator("#estimate")).to_contain_text("Extrapolated", timeout=90_000)
    settings(page, epochs=2)
    page.locator("#start").click()
    expect(page.locator("#verdict-word")).to_have_text(re.compile("No clear change|Worse: do not use it"), timeout=TRAINED)


def test_what_cannot_be_learnt_from_gets_a_message_and_the_data_before_stays(page, tmp_path):
    open_tab(page)
    page.locator("#example-requests_scored").click()
    expect(page.locator("#labelled")).to_contain_text("400 examples")
    path = tmp_path / "same.csv"
    path.write_text("sentence1,sentence2,score\n" + "".join(f"sentence number {i},another one {i},3\n" for i in range(30)))
    upload(page, path)
    expect(page.get_by_test_id("toast-body")).to_contain_text("Every score in 'same.csv' is 3")
    expect(page.locator("#refused")).to_contain_text("same.csv was not loaded")
    expect(page.locator("#labelled")).to_contain_text("requests_scored.csv")
    page.locator("#preset").get_by_label("thorough").check()
    expect(page.locator("#estimate")).to_contain_text("Extrapolated", timeout=90_000)


def test_columns_can_be_chosen_again(page, tmp_path):
    path = tmp_path / "odd.csv"
    rows = (f"the first sentence is {i},the second sentence is {i},{['a', 'b'][i % 2]},{i % 7}\n" for i in range(60))
    path.write_text("left,right,label,strength\n" + "".join(rows))
    open_tab(page)
    upload(page, path)
    expect(page.locator("#labelled")).to_contain_text("labelled pairs")
    page.get_by_role("button", name=re.compile("^Columns")).click()
    page.locator("#target-column input").click()
    page.get_by_role("option", name="strength", exact=True).click()
    page.locator("#kind").get_by_label("Scored pairs").check()
    expect(page.locator("#labelled")).to_contain_text("scores 0 to 6, rescaled to 0 to 1")
    expect(page.locator("#objective input")).to_have_value(re.compile("Cosine regression"))
