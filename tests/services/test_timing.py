"""The race as a service: its line, its stop, its results, and who else gets the device meanwhile."""

import json
import threading
import time
from dataclasses import replace

import pytest
import torch
import transformers

from sbert_app.errors import UserError
from sbert_app.jobs.search.job import search
from sbert_app.jobs.search.ranked_hits import WAITED
from sbert_app.labelled.columns import ColumnRoles
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop
from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.services.labelled import LabelledData
from sbert_app.services.timing import EXAMPLE_NAME, TimingService, Waiting
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.timing import experiment, measurements
from sbert_app.timing.experiment import DONE, STOPPED, Moment
from sbert_app.timing.report import EXTRAPOLATED, MEASURED, PUBLISHED, figures
from sbert_app.timing.result import CROSS, SBERT
from sbert_app.ui.timing import numbers_view, race_view, view


@pytest.fixture
def service(shared_bench, monkeypatch):
    """A service whose checks after the race are short."""
    monkeypatch.setattr(experiment, "CHECK_SECONDS", 0.3)
    monkeypatch.setattr(measurements, "SIZES", (200, 2_000))
    return TimingService(shared_bench)


def last(steps):
    """The last moment of a race that is worked off whole."""
    *_, moment = steps
    return moment


def test_a_race_to_its_end(service):
    steps = list(service.race(service.race_corpus(Session()), seconds=1))
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages[:3] == ["Loading the models", "Warming up, not counted", "Racing"] and stages[-1] == DONE
    result = steps[-1].result
    where = result.conditions
    assert (where.corpus, where.head_trained, where.same_backbone) == (EXAMPLE_NAME, True, True)
    assert where.trained_for == "likeness" and "cross_encoder" not in numbers_view.options(result, 100)
    assert "cross-MiniLM-L6-stsb, trained for likeness</p>" in race_view.progress(steps[-1])
    assert steps[-2].conditions == where  # shown while it runs
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


def test_any_cross_encoder_races_under_its_own_name(service, cross_folder, tmp_path):
    """Here one of three layers against an encoder of six: the ratio is not that of the two methods alone."""
    name = str(cross_folder(tmp_path / "ms-marco-mine", sentence_transformers={"activation_fn": "torch.nn.Identity"}))
    *_, moment = service.race(service.race_corpus(Session()), seconds=1, cross_encoder=name)
    where = moment.result.conditions
    assert (where.cross_encoder, where.trained_for, where.head_trained, where.same_backbone) == (name, "answers", True, False)
    assert where.sizes == ("6 layers of 384", "3 layers of 384") and moment.result.agreement is not None
    assert json.loads(json.dumps(moment.result.summary(100)))["conditions"]["trained_for"] == "answers"
    sentence = "on different backbones: 3 layers of 384 against 6 layers of 384. Their ratio shows the difference in size"
    for markup in (view.in_words(moment.result, 100), numbers_view.numbers(moment.result)):
        assert f"{name} (trained for answers) against all-MiniLM-L6-v2, {sentence}" in markup
    assert "trained for answers, another backbone" in race_view.progress(moment)
    assert view.OF_ANSWERS in view.agreement(moment.result)
    assert numbers_view.options(moment.result, 100)["cross_encoder"] == name


def test_a_cross_encoder_that_cannot_race_is_a_sentence(service, cross_folder, tmp_path, model_folder):
    three, corpus = cross_folder(tmp_path / "three", 3), service.race_corpus(Session())
    for folder, message in [(three, "3 labels, not a score"), (model_folder, "of kind encoder"), (tmp_path, "holds no model")]:
        with pytest.raises(UserError, match=message):
            list(service.race(corpus, seconds=1, cross_encoder=str(folder)))
    with pytest.raises(UserError, match="is of kind poly-encoder; this needs a model of kind cross-encoder"):
        list(service.race(corpus, seconds=1, cross_encoder="new/poly-encoder"))
    assert [info.name for info in service.cross_encoders()] == ["cross-MiniLM-L6-stsb"]


def test_a_stopped_race_keeps_what_was_measured(service):
    steps, stop = [], Stop()
    for step in service.race(service.race_corpus(Session()), seconds=60, stop=stop):
        steps.append(step)
        if step.state and step.state.cross.done and step.state.sbert.done:
            stop.set()
    result = steps[-1].result
    assert steps[-1].stage == STOPPED and result.stopped
    assert result.cross.items > 0 and result.runs == () and result.agreement is None
    assert figures(result)
    assert last(service.race(service.race_corpus(Session()), seconds=1, stop=stop)).result is None


def test_one_race_at_a_time_and_everyone_knows_their_place(service):
    first = service.race(service.race_corpus(Session()), seconds=60)
    while next(first).stage != "Racing":
        pass
    second, third = (service.race(service.race_corpus(Session()), seconds=1) for _ in range(2))
    assert next(second) == Waiting(1) and next(third) == Waiting(2)
    first.close()  # a closed tab
    assert isinstance(next(second), Moment)
    assert next(third) == Waiting(1)
    second.close()
    assert isinstance(next(third), Moment)
    third.close()


def test_who_stops_while_waiting_leaves_the_line(service):
    first = service.race(service.race_corpus(Session()), seconds=60)
    next(first)
    stop = Stop()
    stop.set()
    assert [step.stage for step in service.race(service.race_corpus(Session()), seconds=1, stop=stop)] == ["Stopped"]
    first.close()


def test_quality_is_measured_on_the_columns_that_were_chosen(service, shared_bench, write):
    session, labelled = shared_bench.sessions.open(), LabelledData(shared_bench)
    rows = [f"first {i},second {i},other {i},{i % 5},{4 - i % 5}" for i in range(40)]
    labelled.load(session, read_table(write("own.csv", "\n".join(["sentence1,sentence2,b,score,mine", *rows])), Limits()))
    labelled.remap(session, ColumnRoles("scored", ("sentence1", "b"), "mine"))
    pairs = service.race_corpus(session).labelled
    assert pairs.sentences[1][0] == "other 0" and pairs.targets[0] == 1


def test_a_race_ends_with_its_corpus(service, shared_bench):
    session = shared_bench.sessions.open()
    steps = service.race_session(session, "all-MiniLM-L6-v2", 1)
    next(steps)
    CorpusService(shared_bench).open_example(session, "field_notes.csv")
    assert list(steps) == []
    with pytest.raises(UserError, match="no race"):
        service.result(session)


def test_the_sessions_corpus_is_raced_and_its_labelled_pairs_are_measured(service, shared_bench):
    session = shared_bench.sessions.open()
    CorpusService(shared_bench).open_example(session, "field_notes.csv")
    labelled = LabelledData(shared_bench)
    table = labelled.example("requests_scored.csv")
    labelled.load(session, replace(table, frame=table.frame.head(80), rows=table.rows[:80]))
    corpus = service.race_corpus(session)
    assert corpus.name == "field_notes.csv" and len(corpus.labelled) == 80
    result = last(service.race_session(session, "all-MiniLM-L6-v2", 1)).result
    assert result.quality.examples == len(corpus.labelled)
    assert result.quality.changes[0].metric == "spearman"
    assert service.result(session).conditions.corpus == "field_notes.csv"
    with pytest.raises(UserError, match="no race"):
        service.result(shared_bench.sessions.open())


def test_what_is_raced_is_different_and_enough(service, shared_bench):
    with pytest.raises(UserError, match="at least 20 different sentences, there are 2"):
        service.prepare("few", ["a", "b"] * 30)
    corpus = service.prepare("many", [f"sentence {i % 12_000}" for i in range(13_000)])
    assert len(corpus.sentences) == len(set(corpus.sentences)) == shared_bench.settings.limits.raced_sentences
    assert corpus.notes == ("1,000 repeated sentences left out.", "10,000 of 12,000 sentences, drawn at random.")
    for seconds in (0, 1.5, 10_000, "8", None):
        with pytest.raises(UserError, match="number of seconds"):
            service.race(corpus, seconds=seconds)


def test_another_backbone_races_against_its_like_with_an_untrained_head(service, tmp_path, model_folder):
    config = transformers.BertConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(tmp_path / "small")
    transformers.AutoTokenizer.from_pretrained(model_folder).save_pretrained(tmp_path / "small")
    result = last(service.race(service.race_corpus(Session()), str(tmp_path / "small"), seconds=1)).result
    where = result.conditions
    assert where.same_backbone and not where.head_trained and "untrained head" in where.cross_encoder
    assert result.agreement is None and result.quality is None and len(result.runs) > 1


def test_waiting_for_others_is_told_and_not_counted(shared_bench):
    session = shared_bench.sessions.open()
    CorpusService(shared_bench).open_example(session, "support_tickets.csv")
    assert WAITED not in search(shared_bench, session, "refund").milliseconds
    held, device = threading.Event(), shared_bench.device

    def hold():
        with device.hold():
            held.set()
            while not device._short:  # until the search waits
                time.sleep(0.001)
            time.sleep(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    stages = search(shared_bench, session, "refund").milliseconds
    thread.join()
    assert stages[WAITED] >= 299


def test_table_7_waits_its_turn_and_stops(service, shared_bench):
    session = shared_bench.sessions.open()
    steps = service.table_7_session(session, "all-MiniLM-L6-v2")
    rows = next(steps)
    assert [row.system for row in rows] == ["Average word vectors", "SBERT", "SBERT, smart batching"]
    service.stop(session)
    assert list(steps) == []
