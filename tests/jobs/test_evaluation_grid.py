"""Every system on the same pairs; the grid of a visitor: chosen, filled, stopped, gone on with, never another visitor's."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from sbert_app.corpus.ranking.lexical import tf_idf_cosines
from sbert_app.errors import UserError
from sbert_app.grid.cell import Cell
from sbert_app.grid.systems import CROSS, OVERLAP, RANKERS, SBERT, SYSTEMS, TF_IDF, WORD_VECTORS, Choice
from sbert_app.jobs.evaluate.grid import Halted, ShownGrid, Uploaded, choose, data_sets, fill_session, halt, unfinished, upload
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from tests.evaluating import evaluate, evaluate_folder
from tests.jobs.refusals import refused

PAIRS = "sentence1,sentence2,score\na cat sleeps,a cat rests,5\nit rains,the sun shines,1\na dog,a puppy,4\na tree,my debts,0\n"

GLOVE = "hotel 1 0 0\nroom 0.9 0.1 0\nbill 0 1 0\ncharge 0.1 0.9 0\nthe 0.3 0.3 0.3\n"


@pytest.fixture
def own(shared_bench, session, write):
    return upload(shared_bench, session, write("mine.csv", PAIRS), "mine.csv")


def filled(shared_bench, session, systems, names=("mine",)):
    *_, last = fill_session(shared_bench, session, choose(shared_bench, session, systems, list(names)), Choice())
    return last.result


def test_cells_fill_one_by_one_and_stay_in_the_session(shared_bench, session, own):
    grid = choose(shared_bench, session, [SBERT, TF_IDF, WORD_VECTORS], ["mine"])
    counts = [len(step.result.cells) for step in fill_session(shared_bench, session, grid, Choice())]
    assert counts == [0, 1, 2, 3] and session.get(ShownGrid).grid.complete
    assert unfinished(session) is None and all(isinstance(cell, Cell) for cell in session.get(ShownGrid).grid.cells.values())


def test_of_two_uploads_at_once_none_is_lost(shared_bench, session, write, monkeypatch):
    first, second = write("first.csv", PAIRS), write("second.csv", PAIRS)
    get = session.get

    def get_and_be_overtaken(kind):
        value = get(kind)
        if kind is Uploaded:
            monkeypatch.undo()
            upload(shared_bench, session, second, "second.csv")
        return value

    monkeypatch.setattr(session, "get", get_and_be_overtaken)
    upload(shared_bench, session, first, "first.csv")
    assert {"first", "second"} <= data_sets(shared_bench, session).keys()


def test_a_system_that_cannot_be_had_says_so_in_its_cells_and_the_others_go_on(shared_bench, session, own):
    grid = filled(shared_bench, session, ["./nowhere", OVERLAP], ("mine", "Tickets by team"))
    assert "There is no model folder" in grid.cells["./nowhere", 0] and "There is no model folder" in grid.cells["./nowhere", 1]
    assert isinstance(grid.cells[OVERLAP, 0], Cell) and "Scores pairs only" in grid.cells[OVERLAP, 1]


def test_any_model_is_a_row_under_its_own_name(shared_bench, session, own, model_folder):
    grid = filled(shared_bench, session, [SBERT, str(model_folder), "cross-MiniLM-L6-stsb"])
    rows = [grid.cells[name, 0] for name in grid.systems]
    assert [cell.system for cell in rows] == list(grid.systems) and rows[0].value == rows[1].value
    assert rows[2].model == "cross-MiniLM-L6-stsb"


def test_a_grid_that_was_interrupted_goes_on_and_one_that_was_stopped_does_not(shared_bench, session, own):
    grid = choose(shared_bench, session, [SBERT, TF_IDF, OVERLAP], ["mine"])
    steps = fill_session(shared_bench, session, grid, Choice())
    next(step for step in steps if step.result.cells)
    session.stop_all()  # as when the page is closed
    list(steps)
    current = unfinished(session)
    assert current is not None and 1 <= len(current.grid.cells) < 3
    (*_, last) = fill_session(shared_bench, session, current.grid, current.choice)
    assert last.result.complete
    steps = fill_session(shared_bench, session, grid, Choice())
    next(step for step in steps if step.result.cells)
    halt(session)
    list(steps)
    assert unfinished(session) is None and session.get(Halted) is not None


def test_a_second_grid_is_answered_from_the_store(shared_bench, session, own, monkeypatch):
    first = filled(shared_bench, session, [SBERT, WORD_VECTORS])
    monkeypatch.setattr("sbert_app.jobs.evaluate.grid.measure_cell", None)
    again = filled(shared_bench, session, [WORD_VECTORS, SBERT])
    assert again.cells[SBERT, 0] == first.cells[SBERT, 0]


def test_another_visitor_has_neither_data_sets_nor_grid(shared_bench, session, own):
    filled(shared_bench, session, [OVERLAP])
    other = shared_bench.sessions.open()
    assert "mine" not in data_sets(shared_bench, other) and other.get(ShownGrid) is None
    refused("There is no data set 'mine'", choose, shared_bench, other, [OVERLAP], ["mine"])


@pytest.mark.parametrize(
    ("systems", "names", "message"),
    [
        ([], ["mine"], "Choose at least one system"), ([SBERT], [], "Choose at least one system"),
        (["glove"], ["mine"], "Unknown system 'glove'"), ([SBERT] * 21, ["mine"], "21 systems are chosen"),
    ],
)  # fmt: skip
def test_a_choice_that_makes_no_grid_is_a_sentence(shared_bench, session, own, systems, names, message):
    with pytest.raises(UserError, match=message):
        choose(shared_bench, session, systems, names)


@pytest.mark.parametrize(("task", "message"), [("classes", "has no data set to measure"), ("sts", "Unknown task 'sts'")])
def test_a_folder_without_data_for_a_task_is_a_sentence(shared_bench, tmp_path, task, message):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    with pytest.raises(UserError, match=message):
        evaluate_folder(shared_bench, tmp_path, [OVERLAP], tasks=[task])


def test_every_system_gives_its_row_word_vectors_also_of_a_file(shared_bench, scored, model_folder, write):
    systems = [name for name in SYSTEMS if name not in RANKERS]
    results = evaluate(shared_bench, scored, systems, bert=str(model_folder))
    measures = {name: {"spearman": result["spearman"], "pearson": result["pearson"]} for name, result in results.items()}
    assert list(results) == systems
    for result in results.values():
        assert list(result)[:6] == ["model", "spearman", "pearson", "interval", "examples", "sentences"]
        assert list(result)[6:] == ["seconds", "day", "seen", "notes", "subsets"]
        assert result["interval"][0] < result["spearman"] < result["interval"][1]
        assert result["sentences"] == 240 and result["seconds"] > 0
    assert results[CROSS]["spearman"] > results[SBERT]["spearman"]
    assert results[WORD_VECTORS]["model"] == "input vectors of all-MiniLM-L6-v2" and results[OVERLAP]["model"] == "Jaccard"
    assert measures["bert-mean"] == pytest.approx(measures[SBERT]) != measures["bert-cls"]
    expected = spearmanr(tf_idf_cosines(scored.sentences)[0], scored.targets).statistic
    assert results[TF_IDF]["spearman"] == pytest.approx(expected, abs=1e-9)
    glove = evaluate(shared_bench, scored, [WORD_VECTORS], word_vectors=write("glove.txt", GLOVE))[WORD_VECTORS]
    assert glove["model"] == "glove.txt" and -1 <= glove["spearman"] <= 1


def test_any_cross_encoder_is_measured_and_several_labels_are_a_sentence(shared_bench, scored, cross_folder, tmp_path):
    configs = [{"sentence_transformers": {"activation_fn": f"torch.nn.{name}"}} for name in ("Sigmoid", "Identity")]
    names = [str(cross_folder(tmp_path / f"mine-{i}", **config)) for i, config in enumerate(configs)]
    few = scored.take(np.arange(24))
    chosen = evaluate(shared_bench, few, [CROSS], cross_encoder=names[1])[CROSS]
    sigmoid, identity = evaluate(shared_bench, few, names).values()
    assert chosen["model"] == identity["model"] == names[1] and chosen["spearman"] == identity["spearman"]
    assert sigmoid["spearman"] == pytest.approx(identity["spearman"], abs=1e-3)  # the same order
    three = str(cross_folder(tmp_path / "three", 3))
    for systems, options in (([CROSS], {"cross_encoder": three}), ([three], {})):
        refused("gives 3 labels, not a score", evaluate, shared_bench, few, systems, **options)


def test_tf_idf_weighs_a_word_by_how_rare_it_is():
    first, second, third = ["the cat", "the cat", "12 %"], ["the dog", "a cat", "12 €"], ["the cat", "the sky", "!"]
    one, two = tf_idf_cosines([first, second, third])
    assert 0 < one[0] < one[1] < 1 and one[2] == pytest.approx(1)
    assert two[0] == pytest.approx(1) and two[1] < one[1] and two[2] == 0
    assert tf_idf_cosines([["!"], ["?"]])[0].tolist() == [0]


def test_triplets_are_counted_and_pairs_without_scores_need_vectors(shared_bench, write):
    content = "anchor,positive,negative\n" + "late parcel,parcel is late,red apple\n" * 4
    triplets = read_table(write("triplets.csv", content), Limits())
    for result in evaluate(shared_bench, triplets, [SBERT, WORD_VECTORS, TF_IDF, OVERLAP]).values():
        assert result["triplet_accuracy"] == 1.0 and result["examples"] == 4
    content = "sentence1,sentence2\nlate parcel,my parcel is late\nred apple,a ripe apple\n"
    pairs = read_table(write("positives.csv", content), Limits())
    assert [r["accuracy_at_1"] for r in evaluate(shared_bench, pairs, [SBERT, WORD_VECTORS]).values()] == [1, 1]
    refused("Scores pairs only", evaluate, shared_bench, pairs, [TF_IDF])
    assert list(evaluate(shared_bench, triplets, [])) == [SBERT]
