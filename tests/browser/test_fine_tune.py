"""Fine-tuning as a person does it: data, settings, live, verdict; and what survives a reload."""

import re
import shutil
import zipfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.jobs.fine_tune.preparing import EXAMPLES, example_table
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runs.run import Run
from tests.attacks.small_home import planned
from tests.browser.chromium import go_to, put_on, until
from tests.browser.conftest import SERVED, arrive
from tests.browser.corpus import choose, choose_model, open_example
from tests.browser.present import smallest_presented
from tests.browser.test_corpus import DROP

TRAINED = 900_000  # milliseconds for a training and its verdict: some processors learn 4 examples a second beside a page

pytestmark = pytest.mark.usefixtures("no_training_left", "quick_estimates")


@pytest.fixture
def shared_tab(shared_page, tiny) -> Page:
    """With a model whose training is estimated in a moment."""
    choose_model(shared_page, tiny, dim=32)
    go_to(shared_page, "Fine-tune")
    return shared_page


def settings(page: Page, curve: bool = False, **values: float) -> None:
    """Set numbers under "All settings"; the learning curve costs half a training more."""
    if not page.locator("#preset").is_visible():
        page.locator("#plan-fold > .label-wrap").click()
    if not page.locator("#epochs").is_visible():
        page.get_by_role("button", name=re.compile("All settings")).click()
    for name, value in values.items():
        page.locator(f"#{name} input").fill(str(value))
        page.locator(f"#{name} input").press("Tab")
    page.locator("#learning-curve input").set_checked(curve)


def upload(page: Page, path) -> None:
    page.locator("#labelled-file input[type=file]").set_input_files(str(path))


def start(page: Page, curve: bool = False, **values: float) -> None:
    """Start a training, once its duration is estimated."""
    expect(page.locator("#estimate")).to_contain_text(re.compile(r"Extrapolated from \d batches timed just now"))
    settings(page, curve, **values)
    page.locator("#start").click()


def open_curve(page: Page) -> None:
    """The curve of a finished run, which is folded above its verdict; drawn there, it has the width that it needs."""
    page.locator("#curve-fold > .label-wrap").click()
    expect(page.locator("#run-curve .js-plotly-plot")).to_be_visible()
    page.wait_for_function(
        "document.querySelector('#run-curve .main-svg').clientWidth > 0.8 * document.querySelector('#curve-fold').clientWidth"
    )


def change(page: Page) -> None:
    """Open step 1, which is one line once data is read."""
    expect(page.locator("#data-fold > .label-wrap")).to_have_text(re.compile("Change"))
    if not page.locator("#labelled").is_visible():
        page.locator("#data-fold > .label-wrap").click()


def choose_example(page: Page, name: str) -> None:
    if page.locator("#step-settings").is_visible():
        change(page)
    page.locator(f"#example-{name}").click()


def open_columns(page: Page) -> None:
    """A fold of step 1, which a test before may have opened on the same page."""
    fold = page.get_by_role("button", name=re.compile("Columns"))
    if fold.get_attribute("aria-expanded") != "true":
        fold.click()


def run_row(page: Page, name: str) -> Locator:
    return page.locator("#run-table tbody tr").filter(has_text=name)


def head(name: str, rows: int, folder: Path) -> Path:
    """The first rows of an example, as a file of its name: a training takes seconds."""
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / name).write_text("".join(lines[: rows + 1]), encoding="utf-8")
    return folder / name


def connected(path, count=60, own=""):
    """A file in which each first sentence occurs in two pairs, with a topic for each ten rows."""
    rows = (f"{own}the letter of {i // 2} is late,where is letter {own}{i},{i % 6},topic {i // 10}\n" for i in range(count))
    path.write_text("sentence1,sentence2,score,topic\n" + "".join(rows))
    return path


def small_run(base: Path, steps: int | None = None) -> Run:
    """A run of the local app, on the first rows of an example and made without the page; ended, or left after some steps."""
    table = example_table("requests_scored.csv", SERVED[0].settings.limits)
    table = replace(table, name="shop wishes.csv", frame=table.frame.head(60), rows=table.rows[:60])
    data = preparing.load(SERVED[0], SERVED[0].sessions.open(), table)
    name = f"small run {np.random.default_rng().integers(10**9)}"
    run = running.create(SERVED[0], data, planned(data, str(base), epochs=1, learning_curve=False), name=name)
    with run.lock():
        list(islice(running.train_here(SERVED[0], run), steps))
    return run


def test_a_warning_of_step_1_stays_in_the_verdict(page, tmp_path, tiny):
    """One short run: what it was trained on, its one number, the rest folded, and what the message claims."""
    choose_model(page, tiny, dim=32)
    go_to(page, "Fine-tune")
    upload(page, connected(tmp_path / "letters.csv", 120))
    change(page)
    page.locator("#split-by").get_by_label(re.compile("By pairs only")).check()
    warning = re.compile(r"\d+ held-out sentences occur also in training, in other pairs: on new sentences the result may be lower")
    expect(page.locator("#data-notes")).to_contain_text(warning)
    settings(page, epochs=1)
    page.locator("#start").click()
    expect(page.locator("#run-title")).to_contain_text("Run letters, from letters.csv, 20")
    expect(page.locator("#step-live h2")).to_be_focused()
    expect(page.locator("#verdict-word")).to_be_visible(timeout=TRAINED)
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text(warning)
    expect(verdict).to_contain_text("Run letters, from letters.csv, 20")
    expect(verdict.locator(".headline")).to_have_text(re.compile(r"^\S+ → \S+ Spearman ×100$"))
    expect(verdict.locator("table")).not_to_be_visible()
    verdict.get_by_text("Details", exact=True).press("Enter")
    expect(verdict.locator("table")).to_contain_text("Pearson")
    drawn = "document.querySelector('#run-curve .js-plotly-plot').data.map(line => [line.name, line.line.dash ?? 'solid'])"
    open_curve(page)
    assert ["dev score before training", "dash"] in page.evaluate(drawn)
    groups = "document.querySelector('#distributions .js-plotly-plot')"
    assert page.evaluate(f"{groups}.data.map(line => line.name)")[:1] == ["target below 1/3"]
    ranges = page.evaluate(f"[{groups}.layout.yaxis.range, {groups}.layout.yaxis2.range]")
    assert ranges[0] == ranges[1]
    assert smallest_presented(page, "#spread-take-home [data-present]") >= 20
    page.locator("#use-model").click()
    expect(page.locator("#kept")).to_have_text(
        "Saved as letters and chosen in the header. An open corpus keeps the model it was indexed with until you index it again."
    )
    page.locator("#example-messages_triplets").click()  # the verdict stays, and says whose it is
    other = "This run was trained on letters.csv, not on messages_triplets.csv, which is loaded in step 1."
    for line in ("#run-other-data", "#verdict-other-data"):
        expect(page.locator(line)).to_have_text(other)
    page.reload()  # the run is shown again, though it is over
    arrive(page)
    expect(verdict.locator(".headline")).to_have_text(re.compile(r"^\S+ → \S+ Spearman ×100$"))
    expect(page.locator("#verdict-other-data")).to_have_text(other)
    expect(page.locator("#step-settings")).to_be_visible()
    open_curve(page)
    for width, beside, letters in ((1920, True, "17px"), (1280, False, "16px")):  # in a large window it is beside its steps
        put_on(page, "light", width)
        left, right = (page.locator(part).bounding_box() for part in ("#step-settings", "#step-live"))
        assert (left["x"] + left["width"] <= right["x"] and right["y"] < left["y"] + left["height"]) == beside
        assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == letters
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_step_1_folds_to_one_line_once_data_is_read(page, tmp_path):
    go_to(page, "Fine-tune")
    line, file = page.locator("#data-fold > .label-wrap"), page.locator("#labelled-file")
    parts = file, page.locator("#split-by"), page.locator("#mapping")
    expect(line).to_be_hidden()
    expect(file).to_be_visible()
    page.locator("#example-instructions_labelled").click()
    expect(line).to_contain_text(
        "instructions_labelled.csv · 420 labelled pairs · label: opposite, other, same; same means the same"
    )
    for part in parts:
        expect(part).to_be_hidden()
    line.click()
    for part in parts:
        expect(part).to_be_visible()
    page.locator("#split-by").get_by_label(re.compile("By pairs only")).check()
    expect(page.locator("#labelled")).to_contain_text("sentence")
    expect(file).to_be_visible()  # while something is changed
    upload(page, connected(tmp_path / "letters.csv", 60))
    expect(line).to_contain_text("letters.csv · 60 scored pairs · score: 0 to 5 · Change")
    expect(file).to_be_hidden()
    expect(page.locator("#data-notes")).to_contain_text("Only 12 held-out examples")
    page.evaluate(DROP, ["dropped.csv", (tmp_path / "letters.csv").read_text()])  # on the folded step
    expect(line).to_contain_text("dropped.csv")


def test_the_split_is_by_sentences_by_pairs_or_by_a_column(shared_tab, tmp_path):
    page = shared_tab
    upload(page, connected(tmp_path / "letters.csv", 120))
    read = page.locator("#labelled")
    expect(read).to_contain_text("so no held-out sentence occurs in training.")
    expect(page.locator("#data-notes")).not_to_contain_text("on new sentences")
    expect(read.locator(".split-legend")).to_contain_text("24 held out for the verdict")
    change(page)
    choose(page, "#split-column", "topic")
    expect(read).to_contain_text("Each value of the column 'topic' is in one part only")
    expect(read.locator(".split-legend")).to_contain_text(re.compile("[23]0 held out for the verdict"))
    choose(page, "#split-column", "sentence1")
    expect(read).to_contain_text("Each value of the column 'sentence1' is in one part only")
    column = page.locator("#split-column input")
    column.click()
    column.select_text()
    column.press_sequentially("nowhere")
    expect(page.get_by_role("option")).to_have_count(0)  # the list follows what is typed: Enter would choose its first
    column.press("Enter")
    expect(page.get_by_test_id("toast-body").first).to_contain_text("'letters.csv' has no column 'nowhere'")
    expect(column).to_have_value("sentence1")


def test_a_test_file_of_ones_own_is_held_out(shared_tab, tmp_path, write):
    page = shared_tab
    upload(page, connected(tmp_path / "letters.csv", 60))
    legend = page.locator("#labelled .split-legend")
    expect(legend).to_contain_text("12 held out for the verdict")
    change(page)
    page.get_by_role("button", name=re.compile("Own test or dev file")).click()
    for name, size in (("test", 40), ("dev", 30)):
        path = connected(tmp_path / f"own {name}.csv", size, own=name)
        page.locator(f"#{name}-file input[type=file]").set_input_files(str(path))
        expect(legend).to_contain_text(f"from own {name}.csv")
    expect(legend).to_have_text(
        "60 for training30 for choosing the checkpoint, from own dev.csv40 held out for the verdict, from own test.csv"
    )
    page.locator("#dev-file").get_by_label("Clear").click()
    expect(legend).not_to_contain_text("own dev.csv")
    page.locator("#dev-file input[type=file]").set_input_files(write("wrong.csv", "sentence1,sentence2\n" + "a b,c d\n" * 30))
    expect(page.locator("#refused")).to_contain_text("wrong.csv was not loaded. 'wrong.csv' has no column 'score'.")
    expect(legend).to_contain_text("from own test.csv")
    page.locator("#example-requests_scored").click()
    expect(legend).to_contain_text("80 held out for the verdict")
    expect(legend).not_to_contain_text("own test.csv")
    expect(page.locator("#test-file")).not_to_contain_text("own test.csv")


def delete(page: Page, row: Locator) -> None:
    """Delete what is chosen, by keyboard; a moment after a question was answered, the focus is in the table."""
    page.locator("#run-delete").press("Enter")
    expect(page.locator("#run-delete-no")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(row).to_have_count(0)
    expect(page.locator("#run-table input:focus")).to_have_count(1)


def test_runs_are_a_table_and_delete_asks_first(shared_tab, tiny):
    """On a phone, by keyboard alone: choose, open, rename, be asked, keep, delete; a damaged run can only be deleted."""
    page, finished, damaged = shared_tab, small_run(tiny), "damaged-copy"
    name, interrupted = (run.info().name for run in (finished, small_run(tiny, steps=3)))
    shutil.copytree(finished.folder, folder := finished.folder.with_name(damaged))
    (folder / "plan.json").write_text("null")
    put_on(page, "light", 390)
    page.get_by_role("button", name=re.compile("All runs")).press("Enter")
    row = run_row(page, name)
    expect(row).to_contain_text(re.compile(r"Finished.*Too few examples|Finished.*No clear|Finished.*Better|Finished.*Worse", re.S))
    expect(row).to_contain_text(re.compile(r"→.*Spearman ×100, change .* \(95 % interval .*tiny.*MB", re.S))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("#run-delete")).to_be_disabled()
    run_row(page, interrupted).locator("input").press("Space")
    expect(page.locator("#run-resume")).to_be_enabled()
    run_row(page, damaged).locator("input").press("Space")
    expect(page.locator("#run-open")).to_be_disabled()
    expect(run_row(page, damaged)).to_contain_text("Damaged: delete it")
    delete(page, run_row(page, damaged))
    row.locator("input").press("Space")
    expect(page.locator("#run-open")).to_be_enabled()
    page.locator("#run-open").press("Enter")
    expect(page.locator("#run-title")).to_contain_text(f"Run {name}, from shop wishes.csv, 20")
    expect(row.locator("input")).to_be_checked()
    page.locator("#run-new-name input").fill("kept run")
    page.locator("#run-new-name input").press("Enter")
    row = run_row(page, "kept run")
    expect(page.locator("#run-title")).to_contain_text("Run kept run")
    page.locator("#run-delete").press("Enter")
    expect(page.locator("#run-question")).to_contain_text("Delete the run kept run of 20")
    page.locator("#run-delete-no").press("Enter")
    expect(page.locator("#run-question")).not_to_be_visible()
    expect(row).to_be_visible()
    expect(page.locator("#run-table input:focus")).to_have_count(1)
    delete(page, row)
    expect(page.locator("#run-message")).to_contain_text("The run kept run is deleted.")
    expect(page.locator("#step-verdict")).not_to_be_visible()


def test_saved_models_are_listed_used_and_deleted(shared_tab, tiny):
    """By keyboard; the model in use is followed by the bundled one."""
    page, name = shared_tab, "one of mine"
    shutil.copytree(tiny, folder := SERVED[0].settings.models / name)
    put_on(page, "light", 390)
    page.get_by_role("button", name="Saved models").press("Enter")
    card = page.locator("#saved-model-list .card", has_text=name)
    card.get_by_label(f"Use {name}").press("Enter")
    expect(page.locator("#model input")).to_have_value(name)
    card.get_by_label(f"Delete {name}").press("Enter")
    card.get_by_role("button", name="Keep").press("Enter")
    expect(card.get_by_text("from this machine")).not_to_be_visible()
    card.get_by_label(f"Delete {name}").press("Enter")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    card.locator("[data-model=delete]").press("Enter")
    expect(card).to_have_count(0)
    expect(page.locator("#model input")).to_have_value(DEFAULT_ENCODER)
    assert not folder.exists()


def test_settings_leave_the_main_button_where_it_is_and_stay_when_a_menu_is_only_left(shared_tab):
    """Gradio's menu tells that it was left by the Tab key as it tells a choice, and lets its list stay open."""
    page, sent = shared_tab, []
    choose_example(page, "requests_scored")
    expect(page.locator("#labelled")).to_contain_text("400 examples")
    estimated = expect(page.locator("#estimate"))
    estimated.to_contain_text("Extrapolated")

    def place():
        return page.locator("#start").bounding_box()["y"] - page.locator("#preset").bounding_box()["y"]

    before = place()
    expect(page.locator("#epochs")).to_be_hidden()
    settings(page, epochs=7)
    assert place() == pytest.approx(before, abs=2)
    change(page)
    open_columns(page)
    page.on("request", lambda request: sent.append(request) if "/queue/join" in request.url else None)
    for menu in ("#trained", "#first-column"):
        estimated.to_contain_text("Extrapolated")
        page.locator(f"{menu} input").focus()
        sent.clear()
        page.keyboard.press("Tab")
        until(page, lambda: len(sent) >= 2)  # the answer is on the page: the second asks for an estimate
        expect(page.locator("#epochs input")).to_have_value("7")
        expect(page.locator(f"{menu} input")).to_have_attribute("aria-expanded", "false")


def train(page: Page, epochs: int, curve: bool = False) -> None:
    """Train on the data that were chosen, for few epochs: live at work, better in the end."""
    expect(page.locator("#labelled")).to_contain_text("held out for the verdict")
    start(page, curve, epochs=epochs)
    expect(page.locator("#run-progress")).to_contain_text(re.compile(r"step [\d,]+ of [\d,]+ · loss"))
    expect(page.locator("#run-curve .js-plotly-plot")).to_be_visible()
    expect(page.locator("#preset")).to_be_hidden()  # the steps before are a line each
    expect(page.locator("#verdict-word")).to_have_text("Better", timeout=TRAINED)
    assert page.locator("#verdict-word").bounding_box()["y"] < 900  # on the first screen
    expect(page.locator("#verdict")).to_contain_text("95 % interval +")
    expect(page.locator("#movers")).to_contain_text("Improved most")
    expect(page.locator("#run-curve")).to_be_hidden()
    expect(page.locator("#distributions .js-plotly-plot")).to_be_visible()


def test_labelled_pairs_make_it_better(page, shallow_folder):
    choose_model(page, shallow_folder)
    go_to(page, "Fine-tune")
    page.locator("#example-instructions_labelled").click()
    train(page, 2)


def test_triplets_make_it_better_and_the_learning_curve_shows_it(page, tmp_path):
    go_to(page, "Fine-tune")
    upload(page, head("messages_triplets.csv", 160, tmp_path))
    train(page, 2, curve=True)
    expect(page.locator("#verdict")).to_contain_text("training examples, the measure changed from")


def test_an_untrained_network_is_chosen_in_the_header_gets_its_own_settings_and_learns(page, tmp_path):
    go_to(page, "Fine-tune")
    upload(page, head("messages_triplets.csv", 100, tmp_path))
    expect(page.locator("#estimate")).to_contain_text("Extrapolated")
    page.get_by_role("button", name=re.compile("All settings")).click()
    expect(page.locator("#rate input")).to_have_value("0.00005")
    page.locator("#model input").click()
    page.get_by_role("option", name="new/dan").click()
    expect(page.locator("#model-note")).to_contain_text("Not trained yet: a deep averaging network")
    expect(page.locator("#rate input")).to_have_value("0.001")
    expect(page.locator("#batch-size input")).to_have_value("64")
    settings(page, epochs=2)  # the duration of the other model's plan is gone until something is set
    start(page)
    expect(page.locator("#verdict-word")).to_be_visible(timeout=TRAINED)


def test_a_cross_encoder_is_chosen_trained_compared_with_the_cosine_and_saved_for_second_opinions(page, tmp_path):
    go_to(page, "Fine-tune")
    upload(page, head("messages_triplets.csv", 60, tmp_path))
    expect(page.locator("#objective")).to_be_visible()
    expect(page.locator("#trained")).not_to_be_visible()  # it learns from pairs
    change(page)
    upload(page, head("requests_scored.csv", 60, tmp_path))
    expect(page.locator("#labelled")).to_contain_text("scores 0 to 5")
    page.locator("#trained input").click()
    page.get_by_role("option", name=re.compile("cross-MiniLM-L6-stsb")).click()
    expect(page.locator("#objective input")).to_have_value("Binary cross-entropy of the pair")
    start(page, epochs=1)
    expect(page.locator("#verdict")).to_contain_text("The cosine of all-MiniLM-L6-v2 has")
    expect(page.locator("#keep-previous")).not_to_be_visible()
    page.locator("#model-name input").fill("my-cross")
    page.locator("#use-model").click()
    expect(page.locator("#kept")).to_contain_text("Choose my-cross as the cross-encoder in Similarity, Duplicates")
    expect(page.locator("#model input")).to_have_value("all-MiniLM-L6-v2")


def test_a_model_trained_on_scored_pairs_is_better_saved_used_everywhere_and_taken_away(page, tmp_path):
    go_to(page, "Fine-tune")
    page.locator("#example-requests_scored").click()
    train(page, 1)
    page.locator("#model-name input").fill("wishes")
    page.locator("#use-model").click()
    expect(page.locator("#kept")).to_contain_text("Saved as wishes and chosen in the header. An open corpus keeps")
    expect(page.locator("#model input")).to_have_value("wishes")
    page.locator("#pack-model").click()
    with page.expect_download() as download:
        page.locator("#download-model").click()
    path = tmp_path / "model.zip"
    download.value.save_as(path)
    assert "requests_scored/model.safetensors" in zipfile.ZipFile(path).namelist()
    # Before and after, side by side on the same input.
    page.get_by_role("tab", name="Similarity", exact=True).click()
    page.locator("#sentence1 textarea").fill("Please activate my card")
    page.locator("#sentence2 textarea").fill("Please do not activate my card")
    page.get_by_role("button", name=re.compile("^Compare with another model")).click()
    page.locator("#other-model input").click()
    page.get_by_role("option", name="all-MiniLM-L6-v2").click()
    expect(page.locator("#other-score")).to_have_text(re.compile(r"0\.\d{3}"))
    expect(page.locator("#comparison")).to_contain_text("wishes")
    assert page.locator("#score").inner_text() < page.locator("#other-score").inner_text()  # opposites moved apart
    open_example(page, "Support tickets")
    go_to(page, "Search")
    expect(page.locator("#corpus-status")).to_contain_text("wishes")


def test_a_reload_finds_the_run_again_and_stop_keeps_the_best(visit, tmp_path, tiny):
    first = visit()
    choose_model(first, tiny, dim=32)
    go_to(first, "Fine-tune")
    first.locator("#example-messages_triplets").click()
    start(first, epochs=100)  # only stopped is it over
    expect(first.locator("#run-progress")).to_contain_text("best on dev", timeout=TRAINED)
    first.close()
    second = visit(390, "dark")  # another device
    go_to(second, "Fine-tune")
    expect(second.locator("#run-progress")).to_contain_text("step")
    second.locator("#run-stop").click()
    expect(second.locator("#run-progress")).to_contain_text("Stopped")
    expect(second.locator("#verdict-word")).to_be_visible(timeout=TRAINED)
    assert second.evaluate("document.documentElement.scrollWidth") <= 390
    second.get_by_role("button", name=re.compile("All runs")).click()
    expect(run_row(second, "messages_triplets").filter(has_text="Stopped").first).to_be_visible()
    assert second.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_hosted_visitor_finds_its_run_after_a_reload_and_nobody_else_does(visit, hosted_url, tmp_path):
    owner = visit(url=hosted_url)
    go_to(owner, "Fine-tune")
    upload(owner, head("messages_triplets.csv", 40, tmp_path))
    start(owner, epochs=100)  # only stopped is it over
    expect(owner.locator("#run-progress")).to_contain_text("best on dev", timeout=TRAINED)
    owner.reload()
    go_to(owner, "Fine-tune")
    expect(owner.locator("#run-progress")).to_contain_text("step")
    other = visit(url=hosted_url)
    go_to(other, "Fine-tune")
    other.get_by_role("button", name=re.compile("All runs")).click()
    expect(other.locator("#run-table")).to_contain_text("No runs yet.")
    assert not other.locator("#run-progress").is_visible()
    owner.locator("#run-stop").click()
    expect(owner.locator("#verdict-word")).to_be_visible(timeout=TRAINED)
    owner.locator("#use-model").click()
    expect(owner.locator("#kept")).to_contain_text("only for you")
    expect(owner.locator("#model input")).to_have_value(re.compile("^runs/"))
    assert "runs/" not in other.locator("#model input").input_value()


def test_shuffled_labels_are_not_called_better(page, tmp_path, other_model):
    frame = pd.read_csv(EXAMPLES / "instructions_labelled.csv", nrows=150)
    frame["label"] = np.random.default_rng(1).permutation(frame["label"])
    frame.to_csv(path := tmp_path / "shuffled.csv", index=False)
    choose_model(page, other_model)
    go_to(page, "Fine-tune")
    upload(page, path)
    start(page, epochs=2)
    expect(page.locator("#verdict-word")).to_have_text(re.compile("No clear change|Worse: do not use it"), timeout=TRAINED)


def test_what_cannot_be_learnt_from_gets_a_message_and_the_data_before_stays(shared_tab, write):
    page = shared_tab
    choose_example(page, "messages_triplets")  # else the next line might be that of a test before
    expect(page.locator("#labelled")).to_contain_text("triplets")
    choose_example(page, "requests_scored")
    expect(page.locator("#labelled")).to_contain_text("400 examples")
    rows = (f"sentence number {i},another one {i},3\n" for i in range(30))
    upload(page, write("same.csv", "sentence1,sentence2,score\n" + "".join(rows)))
    expect(page.get_by_test_id("toast-body")).to_contain_text("Every score in 'same.csv' is 3")
    expect(page.locator("#refused")).to_contain_text("same.csv was not loaded")
    expect(page.locator("#labelled")).to_contain_text("requests_scored.csv")
    page.locator("#preset").get_by_label("thorough").check()
    expect(page.locator("#estimate")).to_contain_text("Extrapolated")


def test_columns_can_be_chosen_again(shared_tab, write):
    page = shared_tab
    rows = (f"the first sentence is {i},the second sentence is {i},{['a', 'b'][i % 2]},{i % 7}\n" for i in range(60))
    upload(page, write("odd.csv", "left,right,label,strength\n" + "".join(rows)))
    expect(page.locator("#labelled")).to_contain_text("labelled pairs")
    change(page)
    open_columns(page)
    choose(page, "#target-column", "strength")
    page.locator("#kind").get_by_label("Scored pairs").check()
    expect(page.locator("#labelled")).to_contain_text("scores 0 to 6, rescaled to 0 to 1")
    expect(page.locator("#objective input")).to_have_value(re.compile("Cosine regression"))
