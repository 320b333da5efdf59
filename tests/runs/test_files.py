"""What a run keeps beside its weights: events, a lock, a clock."""

import pytest

from sbert_app.errors import UserError
from sbert_app.runs import execution, files
from sbert_app.runs.execution import Clock


def test_events_come_back_without_those_that_were_damaged(tmp_path):
    path = tmp_path / "events.jsonl"
    assert files.read_events(path) == []
    written = [{"type": "step", "step": step, "loss": 1 / step} for step in range(1, 6)]
    for event in written:
        files.append_event(path, event)
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"0.5", b"0.6")  # a flipped bit
    path.write_bytes(b"\n".join(lines[:4]) + b'\n{"type": "st')  # and a process that was killed while it wrote
    assert files.read_events(path) == [written[0], written[2], written[3]]
    files.forget_events_after(path, 3)
    assert files.read_events(path) == [written[0], written[2]]


def test_a_folder_in_the_place_of_the_events_is_replaced(tmp_path):
    path = tmp_path / "events.jsonl"
    path.mkdir()
    assert files.read_events(path) == []
    files.forget_events_after(path, 3)
    files.append_event(path, {"type": "step", "step": 4})
    assert len(files.read_events(path)) == 1


def test_one_holds_a_run_at_a_time(tmp_path):
    path = tmp_path / "lock"
    assert not files.held(path)
    lock = files.hold(path)
    assert files.held(path)
    with pytest.raises(UserError, match="already being worked on"):
        files.hold(path)
    lock.release()
    assert not files.held(path)


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
