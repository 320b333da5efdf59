"""What a run keeps beside its weights: events, a lock, a clock."""

import pytest

from sbert_app.errors import UserError
from sbert_app.runs import execution
from sbert_app.runs.execution import Clock
from sbert_app.runs.records import Kept
from sbert_app.runs.sealed_files import RunFiles


def test_events_come_back_without_those_that_were_damaged(tmp_path):
    run, path = RunFiles(tmp_path), tmp_path / "events.jsonl"
    assert run.events() == []
    written = [Kept(step, 1 / step) for step in range(1, 6)]
    for event in written:
        run.add_event(event)
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"0.5", b"0.6")  # a flipped bit
    path.write_bytes(b"\n".join(lines[:4]) + b'\n{"type": "st')  # and a process that was killed while it wrote
    assert run.events() == [written[0], written[2], written[3]]
    run.forget_events_after(3)
    assert run.events() == [written[0], written[2]]


def test_a_folder_in_the_place_of_the_events_is_replaced(tmp_path):
    run, path = RunFiles(tmp_path), tmp_path / "events.jsonl"
    path.mkdir()
    assert run.events() == []
    run.forget_events_after(3)
    run.add_event(Kept(4, 0.5))
    assert len(run.events()) == 1


def test_one_holds_a_run_at_a_time(tmp_path):
    run = RunFiles(tmp_path)
    assert not run.locked()
    lock = run.hold()
    assert run.locked()
    with pytest.raises(UserError, match="already being worked on"):
        run.hold()
    lock.release()
    assert not run.locked()


def test_the_clock_counts_computing_and_not_waiting(hand_clock, monkeypatch):
    def slow():
        for item in range(3):
            hand_clock.sleep(0.25)
            yield item

    monkeypatch.setattr(execution, "time", hand_clock)
    clock = Clock()
    for _ in clock.each(slow()):
        hand_clock.sleep(5)
    assert clock.seconds == 0.75
