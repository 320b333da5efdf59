"""The race as a job: its line, its stop, its results, and who else gets the device meanwhile."""

import json
from dataclasses import replace

import pytest

from sbert_app.jobs import timing
from sbert_app.jobs.corpus.opening import open_example
from sbert_app.jobs.fine_tune import preparing
from sbert_app.jobs.fine_tune.preparing import example_table
from sbert_app.jobs.timing import EXAMPLE_NAME, TIMING, labelled_pairs, race, race_corpus, race_session, table_7
from sbert_app.labelled.columns import ColumnRoles
from sbert_app.labelled.example_set import digests
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime.line import Stop
from sbert_app.runtime.session import Session
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.timing.race import DONE, STOPPED, RaceCorpus
from sbert_app.timing.report import EXTRAPOLATED, MEASURED, PUBLISHED, figures
from sbert_app.timing.result import CROSS, SBERT, TimingResult
from sbert_app.ui.timing import race_view, view
from tests.jobs.refusals import refused
from tests.searching import indexed

pytestmark = pytest.mark.usefixtures("short_checks")


@pytest.fixture
def racing(shared_bench):
    """Begin a race on a hundred of the example's sentences."""

    def begin(model=DEFAULT_ENCODER, seconds=1, stop=None, cross_encoder=""):
        corpus = replace(race_corpus(shared_bench, Session()), most=100)
        return race(shared_bench, corpus, model, seconds, stop or Stop(), cross_encoder)

    return begin


def result_of(steps):
    """The result of a race that is worked off whole."""
    *_, last = steps
    return last.result and last.result.timing


def test_a_race_to_its_end(racing):
    steps = list(racing())
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages[:3] == ["Loading the models", "Warming up, not counted", "Racing"] and stages[-1] == DONE
    result = steps[-1].result.timing
    where = result.conditions
    assert (where.corpus, where.head_trained, where.same_backbone) == (EXAMPLE_NAME, True, True)
    assert where.trained_for == "likeness" and "cross_encoder" not in race_view.options(result, 100)
    assert "cross-MiniLM-L6-stsb, trained for likeness</p>" in race_view.progress(steps[-1].result)
    assert steps[-2].result.conditions == where  # shown while it runs
    assert result.cross_seconds(10_000).seconds > 100 * result.sbert_seconds(10_000).seconds
    assert result.cross_seconds(10_000).seconds == pytest.approx(49_995_000 / result.cross.rate)
    assert [n for n, _ in result.measured(CROSS)] == [run.sentences for run in result.runs]
    assert result.measured(SBERT)[-1] == (where.sentences, result.answer.seconds)
    assert result.agreement.pairs == len(result.runs[-1].cross_scores)
    assert result.agreement.spearman > 0.2
    assert min(result.query_seconds(kind, 1_000_000) for kind in ("exact index", "approximate index")) > 0
    summary = json.loads(json.dumps(result.summary(5_000)))
    assert summary["pairs"] == 12_497_500 and summary[CROSS]["extrapolated_seconds"] > 0
    kinds = [figure.kind for figure in figures(result)]
    assert kinds == sorted(kinds, key=[MEASURED, EXTRAPOLATED, PUBLISHED].index) and len(set(kinds)) == 3
    assert all(figure.how and figure.value >= 0 for figure in figures(result))


def test_any_cross_encoder_races_under_its_own_name(racing, cross_folder, tmp_path):
    """Here one of three layers against an encoder of six: the ratio is not that of the two methods alone."""
    name = str(cross_folder(tmp_path / "ms-marco-mine", sentence_transformers={"activation_fn": "torch.nn.Identity"}))
    *_, last = racing(cross_encoder=name)
    where = last.result.conditions
    assert (where.cross_encoder, where.trained_for, where.head_trained, where.same_backbone) == (name, "answers", True, False)
    assert where.sizes == ("6 layers of 384", "3 layers of 384") and last.result.timing.agreement is not None
    assert json.loads(json.dumps(last.result.timing.summary(100)))["conditions"]["trained_for"] == "answers"
    sentence = "on different backbones: 3 layers of 384 against 6 layers of 384. Their ratio shows the difference in size"
    for markup in (view.in_words(last.result.timing, 100), view.numbers(last.result.timing)):
        assert f"{name} (trained for answers) against all-MiniLM-L6-v2, {sentence}" in markup
    assert "trained for answers, another backbone" in race_view.progress(last.result)
    assert view.OF_ANSWERS in view.agreement(last.result.timing)
    assert race_view.options(last.result.timing, 100)["cross_encoder"] == name


def test_a_cross_encoder_that_cannot_race_is_a_sentence(racing, cross_folder, tmp_path):
    refused("3 labels, not a score", racing, cross_encoder=str(cross_folder(tmp_path / "three", 3)))
    refused("is of kind poly-encoder; this needs a model of kind cross-encoder", racing, cross_encoder="new/poly-encoder")


def test_a_stopped_race_keeps_what_was_measured(racing):
    steps, stop = [], Stop()
    for step in racing(seconds=60, stop=stop):
        steps.append(step)
        if step.result and step.result.cross.done and step.result.sbert.done:
            stop.set()
    result = steps[-1].result.timing
    assert steps[-1].stage == STOPPED and result.stopped
    assert result.cross.items > 0 and result.runs == () and result.agreement is None
    assert figures(result)
    assert [step.stage for step in racing(stop=stop)] == [STOPPED]  # one that is stopped while it waits


def test_one_race_at_a_time_and_everyone_knows_their_place(racing, tiny):
    first = racing(str(tiny), seconds=60)
    while next(first).stage != "Racing":
        pass
    second, third = (racing() for _ in range(2))
    assert next(second).details["before"] == 1 and next(third).details["before"] == 2
    first.close()  # a closed tab
    assert next(second).stage == "Loading the models"
    assert next(third).details["before"] == 1
    second.close()
    assert next(third).stage == "Loading the models"
    third.close()


def test_quality_is_measured_on_the_columns_that_were_chosen(shared_bench, write):
    session = shared_bench.sessions.open()
    rows = [f"first {i},second {i},other {i},{i % 5},{4 - i % 5}" for i in range(40)]
    table = read_table(write("own.csv", "\n".join(["sentence1,sentence2,b,score,mine", *rows])), Limits())
    preparing.load(shared_bench, session, table)
    preparing.remap(shared_bench, session, ColumnRoles("scored", ("sentence1", "b"), "mine"))
    pairs = labelled_pairs(shared_bench, session)
    assert pairs.sentences[1][0] == "other 0" and pairs.targets[0] == 1


def test_a_race_ends_with_its_corpus(shared_bench):
    session = shared_bench.sessions.open()
    steps = race_session(shared_bench, session, "all-MiniLM-L6-v2", 1)
    next(steps)
    open_example(shared_bench, session, "field_notes.csv")
    assert list(steps) == []
    assert session.get(TimingResult) is None


def test_the_sessions_corpus_is_raced_and_its_labelled_pairs_are_measured(shared_bench, sentences, monkeypatch):
    session = indexed(shared_bench, sentences[:60])
    table = example_table("requests_scored.csv", Limits())
    preparing.load(shared_bench, session, replace(table, frame=table.frame.head(80), rows=table.rows[:80]))
    corpus = race_corpus(shared_bench, session)
    assert corpus.name.startswith("pasted: ") and len(labelled_pairs(shared_bench, session)) == 80
    assert not corpus.problem and "sentences" not in vars(corpus)  # whether it can race is answered without drawing them
    assert "distinct" in vars(session.corpus().corpus)  # counted once
    trained_on, of_encoder = digests(labelled_pairs(shared_bench, session))[:50], timing.of_encoder
    monkeypatch.setattr(timing, "of_encoder", lambda *given: replace(of_encoder(*given), trained_on=trained_on))
    result = result_of(race_session(shared_bench, session, "all-MiniLM-L6-v2", 1))
    assert result.quality.examples == 30  # those that the encoder was trained on do not count
    assert result.quality.changes[0].metric == "spearman"
    assert session.get(TimingResult).conditions.corpus == corpus.name


def test_what_is_raced_is_different_and_enough(shared_bench):
    few = RaceCorpus("few", ["a", "b"] * 30, 2, 10_000)
    assert few.problem.startswith("A race needs at least 20 different sentences, there are 2.")
    refused("there are 2", race, shared_bench, few, DEFAULT_ENCODER, 1, Stop(), "")
    corpus = RaceCorpus("many", [f"sentence {i % 12_000}" for i in range(13_000)], 12_000, 10_000)
    assert len(corpus.sentences) == len(set(corpus.sentences)) == corpus.count == 10_000 and not corpus.problem
    assert corpus.notes == ("1,000 repeated sentences left out.", "10,000 of 12,000 sentences, drawn at random.")


def test_another_backbone_races_against_its_like_with_an_untrained_head(racing, tiny):
    result = result_of(racing(str(tiny)))
    where = result.conditions
    assert where.same_backbone and not where.head_trained and "untrained head" in where.cross_encoder
    assert result.agreement is None and result.quality is None and len(result.runs) > 1


def test_table_7_waits_its_turn_and_stops(shared_bench):
    session = shared_bench.sessions.open()
    steps = table_7(shared_bench, race_corpus(shared_bench, session), "all-MiniLM-L6-v2", session.begin(TIMING.name))
    rows = next(steps).result
    assert [row.system for row in rows] == ["Average word vectors", "SBERT", "SBERT, smart batching"]
    assert rows[0].throughput.rate > rows[2].throughput.rate > 0 and {len(row.throughput.turns) for row in rows} == {1}
    session.stop(TIMING.name)
    assert list(steps) == []
