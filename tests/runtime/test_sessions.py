import threading
import weakref
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from sbert_app.errors import UserError
from sbert_app.runtime import sessions as module
from sbert_app.runtime.session import Session
from sbert_app.runtime.sessions import SessionKey, Sessions
from sbert_app.runtime.visitors import Visitor
from sbert_app.settings import HOSTED_LIMITS, Limits


@dataclass(frozen=True)
class Held:
    """A value of so many bytes that no feature knows."""

    nbytes: int = 1_000_000


@dataclass
class Counted:
    """A value that knows how often it was asked for its size, and what it does when it is closed."""

    asked: int = 0
    when_closed: list = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        self.asked += 1
        return 1_000_000

    def close(self) -> None:
        for act in self.when_closed:
            act()


@dataclass(frozen=True)
class OfCorpus:
    of_corpus: ClassVar[bool] = True


@pytest.fixture
def clock(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def sessions():
    return Sessions(Limits())


@pytest.fixture
def session(clock, sessions):
    return sessions.open()


def gone(sessions: Sessions, session: Session) -> bool:
    """Whether it has ended; if not, it was used just now."""
    try:
        return sessions.get(session.id) is not session
    except UserError as error:
        return str(error) == module.ENDED


def test_ids_cannot_be_guessed_and_lead_to_one_session(sessions):
    ids = {sessions.open().id for _ in range(50)}
    assert len(ids) == 50 and all(len(name) >= 20 for name in ids)
    assert all(sessions.get(name).id == name for name in ids)
    assert all(gone(sessions, Session(nobody)) for nobody in ("nobody", None, 7, [], {"id": 1}))


def test_idle_sessions_are_forgotten_and_used_ones_are_not(clock):
    sessions = Sessions(replace(Limits(), idle_seconds=100))
    idle, used = sessions.open(), sessions.open()
    for _ in range(2):
        clock[0] += 60
        assert not gone(sessions, used)
    assert gone(sessions, idle)


def test_a_run_that_another_took_the_place_of_stores_nothing_and_a_stopped_one_what_it_reached(session):
    first = session.begin("job")
    second = session.begin("job")
    assert first.revoked and first.is_set() and not second.is_set()
    assert not session.put("late", first) and session.get(str) is None
    session.stop("job")
    assert second.is_set() and session.put("half", second) and session.get(str) == "half"


def test_another_corpus_ends_every_run_and_drops_what_belonged_to_the_one_before(session, shared_bench):
    corpus = shared_bench.examples.indexed("field_notes.csv", shared_bench.registry.encoder())
    indexing, mapping = session.begin("indexing"), session.begin("map")
    session.put(OfCorpus(), mapping)
    session.put(Held(), mapping)
    assert session.open(corpus, indexing)
    assert mapping.revoked and not session.put(OfCorpus(), mapping)
    assert session.get(OfCorpus) is None and session.get(Held) == Held() and session.get(type(corpus)) is corpus
    assert not session.open(replace(corpus, model="older"), indexing) and session.get(type(corpus)) is corpus


def test_a_change_to_a_value_that_was_replaced_meanwhile_is_dropped(session):
    session.put(before := Held(1))
    session.put(Held(2))
    assert not session.swap(before, Held(3)) and session.get(Held) == Held(2)
    assert session.swap(session.get(Held), Held(4)) and session.get(Held) == Held(4)


def test_beyond_the_limit_the_one_idle_longest_goes(clock):
    sessions = Sessions(replace(Limits(), corpora_in_memory=2))
    opened = [sessions.open() for _ in range(3)]
    opened[0].put(Held())
    opened[1].put(Held())
    sessions.get(opened[0].id)
    opened[2].put(Held())
    assert [gone(sessions, session) for session in opened] == [False, True, False]
    pages = [sessions.open() for _ in range(20)]
    for page in pages:
        page.put("map")
    assert not any(gone(sessions, page) for page in pages), "without a corpus they count as none"


def test_66_corpora_of_one_visitor_cost_the_others_nothing(clock):
    sessions = Sessions(HOSTED_LIMITS)
    others = [sessions.open(Visitor(f"tab {i}", f"10.0.0.{i}")) for i in range(20)]
    for other in others:
        other.put(Held(50_000_000))
    for _ in range(66):
        sessions.open(Visitor("greedy", "10.0.1.1")).put(Held())
    sessions.open()
    assert not any(gone(sessions, other) for other in others)
    assert sum(session.visitor.connection == "greedy" for session in sessions._sessions.values() if session.nbytes) == 4


def test_many_connections_of_one_address_evict_each_other(clock):
    sessions = Sessions(replace(HOSTED_LIMITS, corpora_in_memory=10))
    other = sessions.open(Visitor("tab", "10.0.0.1"))
    other.put(Held())
    for number in range(30):
        sessions.open(Visitor(f"made up {number}", "10.0.1.1")).put(Held())
    sessions.open()
    assert not gone(sessions, other) and len([s for s in sessions._sessions.values() if s.nbytes]) == 10


def test_memory_is_bounded_in_bytes_and_a_session_that_was_evicted_takes_nothing_more(clock, shared_bench):
    sessions = Sessions(replace(Limits(), memory_bytes=100_000_000))
    old, new = sessions.open(Visitor("a", "10.0.0.1")), sessions.open(Visitor("b", "10.0.0.2"))
    running = old.begin("job")
    old.put(Held(90_000_000))
    new.put(Held(20_000_000))
    sessions.open()
    assert gone(sessions, old) and running.revoked and not gone(sessions, new)
    assert not old.put("late") and not old.open(shared_bench.examples.indexed("field_notes.csv", shared_bench.registry.encoder()))


def test_a_look_up_counts_no_bytes(sessions):
    session = sessions.open()
    session.put(value := Counted())
    for _ in range(100):
        sessions.get(session.id)
    assert value.asked == 1


def test_what_grew_after_it_was_stored_is_counted_by_the_next_sweep(clock):
    sessions = Sessions(replace(Limits(), memory_bytes=10_000_000))
    session, texts = sessions.open(), []
    session.put(texts)
    texts.extend(f"a text {number}" * 10 for number in range(100_000))
    sessions.sweep()
    assert gone(sessions, session)


def test_nobody_waits_while_an_evicted_session_is_closed(clock):
    sessions = Sessions(replace(Limits(), corpora_in_memory=1))
    evicted, other = sessions.open(), sessions.open()
    looked_up = threading.Event()
    look_up = threading.Thread(target=lambda: (sessions.get(other.id), looked_up.set()), daemon=True)
    in_time = []
    evicted.put(Counted(when_closed=[look_up.start, lambda: in_time.append(looked_up.wait(5))]))
    other.put(Held())
    sessions.get(other.id)
    assert in_time == [True]


def test_a_reloaded_page_resumes_its_session_and_nobody_takes_one_that_is_in_use(sessions):
    session = sessions.open(Visitor("page"))
    session.put("what it holds")
    assert sessions.resume(session.id, Visitor("a copy of the tab"), patience=0) is None
    for nobody in ("guessed", None):
        assert sessions.resume(nobody, Visitor("somebody"), patience=0) is None
    sessions.leave("page")
    resumed = sessions.resume(session.id, Visitor("the page again"), patience=0)
    assert resumed is session and resumed.visitor.connection == "the page again" and resumed.get(str) == "what it holds"
    assert sessions.resume(session.id, Visitor("a second one"), patience=0) is None


def test_a_reload_resumes_at_once_though_the_end_of_its_old_connection_is_seen_late(sessions):
    session = sessions.open(Visitor("page"))
    work = session.begin("job")
    for left in ("", "another page", None, 7):
        assert sessions.resume(session.id, Visitor("a copy of the tab"), left, patience=0) is None
    assert not work.is_set()
    assert sessions.resume(session.id, Visitor("the page again"), "page", patience=0) is session and work.is_set()
    work = session.begin("job")
    sessions.leave("page")  # seen only now
    assert not session.left and not work.is_set()
    assert sessions.resume(session.id, Visitor("a second one"), "page", patience=0) is None


def test_a_closed_tab_stops_its_work_and_may_come_back_for_a_while(sessions, clock):
    mine, other, nameless = (sessions.open(Visitor(tab)) for tab in ("tab 1", "tab 2", ""))
    work, others_work, nameless_work = (each.begin("job") for each in (mine, other, nameless))
    for tab in ("tab 1", ""):
        sessions.leave(tab)
    assert work.is_set() and not others_work.is_set() and not nameless_work.is_set()
    clock[0] += module.GRACE_SECONDS - 1
    sessions.get(mine.id)  # the visitor takes up the phone again
    clock[0] += module.GRACE_SECONDS
    assert not gone(sessions, mine)
    sessions.leave("tab 1")
    clock[0] += 1
    sessions.get(mine.id)  # a request on the way when the page was closed
    clock[0] += module.GRACE_SECONDS
    assert gone(sessions, mine) and not gone(sessions, other)


def test_what_a_closed_page_held_is_freed_though_nobody_else_comes(sessions, clock):
    session = sessions.open(Visitor("page"))
    session.put(held := Held())
    freed = weakref.ref(held)
    del session, held
    sessions.leave("page")
    sessions.sweep()
    assert freed() is not None  # it may come back
    clock[0] += module.GRACE_SECONDS + 1
    sessions.sweep()
    assert freed() is None


def test_a_click_before_the_page_has_its_session_waits_for_it_and_is_told_if_it_does_not_come(monkeypatch):
    sessions = Sessions(Limits())
    others = sessions.open(Visitor("another page"))
    opening = threading.Timer(0.2, lambda: sessions.open(Visitor("page")))
    opening.start()
    found = SessionKey(sessions).session("page")
    assert found.visitor.connection == "page" and found is not others
    monkeypatch.setattr(module, "ARRIVAL_SECONDS", 0.1)
    for connection in ("", "no page"):
        with pytest.raises(UserError, match="still opening: try again"):
            SessionKey(sessions).session(connection)
