from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.runtime import sessions as module
from sbert_app.runtime.sessions import Sessions
from sbert_app.settings import Limits


@pytest.fixture
def clock(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_ids_cannot_be_guessed_and_lead_to_one_session(clock):
    sessions = Sessions(Limits())
    ids = {sessions.open().id for _ in range(50)}
    assert len(ids) == 50 and all(len(name) >= 20 for name in ids)
    assert all(sessions.get(name).id == name for name in ids)
    with pytest.raises(UserError, match="session has ended"):
        sessions.get("nobody")


def test_idle_sessions_are_forgotten_and_used_ones_are_not(clock):
    sessions = Sessions(replace(Limits(), idle_seconds=100))
    idle, used = sessions.open().id, sessions.open().id
    clock[0] += 60
    sessions.get(used)
    clock[0] += 60
    sessions.get(used)
    with pytest.raises(UserError, match="session has ended"):
        sessions.get(idle)


def test_beyond_the_limit_the_one_idle_longest_goes(clock):
    sessions = Sessions(replace(Limits(), corpora_in_memory=2))
    opened = [sessions.open() for _ in range(3)]
    opened[0].table = opened[1].table = object()
    sessions.get(opened[0].id)
    opened[2].table = object()
    with pytest.raises(UserError):
        sessions.get(opened[1].id)
    assert sessions.get(opened[0].id) and sessions.get(opened[2].id)


def test_a_closed_tab_stops_its_work_and_may_come_back_for_a_while(clock):
    sessions = Sessions(Limits())
    mine, other = sessions.open("tab 1"), sessions.open("tab 2")
    sessions.leave("tab 1")
    assert mine.stop.is_set() and not other.stop.is_set()
    clock[0] += module.LEFT_SECONDS - 1
    assert sessions.get(mine.id)
    sessions.leave("tab 1")
    clock[0] += module.LEFT_SECONDS + 1
    with pytest.raises(UserError):
        sessions.get(mine.id)
    assert sessions.get(other.id)
