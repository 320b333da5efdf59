"""What a run records is read and written as the versions before it wrote it."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sbert_app.evaluation.verdict import UNCLEAR, Change
from sbert_app.labelled.example_set import SENTENCES
from sbert_app.runs.records import Baseline, CurveBegun, DevScore, HeadAccuracy, Kept, LearningCurve, Loss, RunResult, from_json
from sbert_app.runs.result import summary, warnings
from sbert_app.runs.run import Run
from sbert_app.runs.sealed_files import RunFiles

SAVED = Path(__file__).with_name("saved")  # result.json and events.jsonl of a run, by a version in which both were plain dicts


@pytest.fixture
def run(tmp_path):
    return Run(Path(shutil.copytree(SAVED, tmp_path / "run")))


def test_events_are_read_and_written_as_before(run, tmp_path):
    assert [*map(type, run.events())] == [Baseline, Loss, DevScore, Loss, DevScore, Kept, CurveBegun]
    first, loss, evaluation, *_ = run.events()
    assert (first.step, first.score) == (0, -0.401188709901439)
    assert (loss.step, loss.steps, loss.loss) == (1, 6, 0.043425433337688446) and evaluation.best
    again = RunFiles(tmp_path)
    for event in run.events():
        assert again.add_event(event) == event
    assert (tmp_path / "events.jsonl").read_bytes() == (SAVED / "events.jsonl").read_bytes()


def test_a_result_is_read_and_written_as_before(run):
    result, saved = run.result(), (SAVED / "result.json").read_text()
    assert result.verdict.word == UNCLEAR and result.verdict.changes[1].p == 0.817
    assert result.split.held_out == SENTENCES and result.parts.held_out == len(result.before) == 12
    run.save_result(result)
    written, again = json.loads(saved), json.loads((run.folder / "result.json").read_text())
    later = {"harm": None, "tried": {}, "objective": "", "against": None, "cut": 0.0}
    assert again | {"checksum": written["checksum"]} == written | later
    assert summary(result)["difference"]["pearson"] == written["verdict"]["changes"][1]["difference"] | {"p": 0.817}
    names = {"examples": "parts"} | {name: name for name in ("split", "curve", "head")}
    assert all(summary(result)[name] == written[before] for name, before in names.items())


def test_a_curve_and_a_head_come_back(run):
    result = run.result()
    more = replace(result, curve=LearningCurve(21, 42, result.verdict.changes[0]), head=HeadAccuracy(0.5, 0.75), stopped=True)
    run.save_result(more)
    assert run.result() == more and isinstance(run.result().curve.change, Change)
    assert summary(more)["head"] == {"accuracy": 0.5, "majority": 0.75} and summary(more)["curve"]["half"] == 21


def test_a_result_of_an_older_version_has_fewer_keys_and_others(run):
    older = json.loads((SAVED / "result.json").read_text())
    for key in ("split", "shared", "dev_before", "checksum", "format"):
        del older[key]
    (run.folder / "result.json").write_text(json.dumps(older | {"gains": [0.1] * 12}))
    result = run.result()
    assert (result.split, result.shared, result.dev_before) == (None, 0, None)
    assert summary(result)["split"] == {} and summary(result)["shared_sentences"] == 0 and warnings(result) == []
    with pytest.raises(TypeError, match="missing"):
        from_json(RunResult, {"before": []})
    assert from_json(Kept, asdict(Kept(3, 0.5)) | {"another": 1}) == Kept(3, 0.5)
