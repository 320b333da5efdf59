"""Visitors take turns: however many jobs one of them sends, another's single job waits for one of them at most."""

import random
from contextlib import ExitStack

import pytest

from sbert_app.runtime import line as module
from sbert_app.runtime.line import ActiveJobs, Line, Stop
from sbert_app.runtime.visitors import Turns, Visitor, network_address
from sbert_app.settings import Limits

ANN, BOB = Visitor("tab", "10.0.0.1"), Visitor("tab", "10.0.0.2")
MANY = 200


def served(turns: Turns[str], count: int) -> list[str]:
    """Serve the next items."""
    items = []
    for _ in range(count):
        items.append(turns.order()[0])
        turns.serve(items[-1])
    return items


@pytest.fixture
def turns():
    """Many of one visitor wait."""
    turns: Turns[str] = Turns()
    for number in range(MANY):
        turns.add(f"ann {number}", "ann")
    return turns


@pytest.mark.parametrize("before", [0, 1, 7, MANY - 1])
def test_one_item_waits_for_one_of_two_hundred_at_most(turns, before):
    last = served(turns, before)
    turns.add("bob", "bob")
    order = last + served(turns, MANY + 1 - before)
    assert order.index("bob") - before <= 1
    assert [item for item in order if item != "bob"] == [f"ann {number}" for number in range(MANY)]  # own items in order


def test_who_comes_late_has_nothing_to_catch_up(turns):
    served(turns, 50)
    for number in range(40):
        turns.add(f"bob {number}", "bob")
    assert [item.split()[0] for item in served(turns, 20)] == ["bob", "ann"] * 10


def test_nobody_starves_however_others_come(turns):
    """Two who send the next as soon as the last was served do not keep a third one out, nor the one with many."""
    for name in ("a", "b"):
        turns.add(name, name)
    order = []
    for _ in range(90):
        order += served(turns, 1)
        if order[-1] in ("a", "b"):
            turns.add(order[-1], order[-1])
    for place in range(0, 90, 3):
        assert {item.split()[0] for item in order[place : place + 3]} == {"ann", "a", "b"}


def test_who_takes_back_what_waits_loses_no_turn():
    turns: Turns[str] = Turns()
    turns.add("bob 0", "bob")
    for number in range(MANY):
        turns.add(f"ann {number}", "ann")
    for number in range(MANY):
        turns.discard(f"ann {number}")
    for number in range(5):
        turns.add(f"bob {number + 1}", "bob")
    turns.add("ann", "ann")
    assert turns.order()[:2] == ["bob 0", "ann"] and len(turns) == 7


def test_what_is_remembered_of_visitors_is_bounded():
    turns: Turns[str] = Turns()
    chance = random.Random(0)
    for number in range(1_000):
        turns.add(str(number), f"visitor {number}")
        if chance.random() < 0.99 and len(turns) > 10:
            served(turns, 1)
    served(turns, len(turns))
    turns.add("x", "a")
    turns.add("y", "a")
    served(turns, 2)
    assert len(turns._served) <= 1


@pytest.mark.parametrize("places", [1, 4])
def test_a_heavy_job_waits_for_one_end_however_many_are_before_it(places, monkeypatch):
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    line = Line(places, ActiveJobs(Limits(jobs=MANY + 1, jobs_a_visitor=MANY + 1, jobs_an_address=MANY + 1)), 60)
    with ExitStack() as others:
        jobs = [ExitStack() for _ in range(MANY)]
        waiting = [others.enter_context(job).enter_context(line.join(Stop(ANN))) for job in jobs]
        for place in waiting[:places]:
            assert list(place) == []
        bob = others.enter_context(line.join(Stop(BOB)))
        assert next(bob) == 1 and next(waiting[places]) == 2
        jobs[0].close()
        assert next(waiting[places]) == 2 - 1  # asked first, and yet it is not its turn
        assert list(bob) == []


@pytest.mark.parametrize(("forwarded", "address"), [
    ("", "client"), ("5.6.7.8, 1.2.3.4", "1.2.3.4"), ("::ffff:1.2.3.4", "1.2.3.4"), ("1.2.3.4:5001", "1.2.3.4"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8:1:2::1", "2001:db8:1:2::/64"), ("no address", "no address"),
    ("2001:db8:1:3::1", "2001:db8:1:3::/64"), ("[2001:db8:1:2::1]:5001", "2001:db8:1:2::/64"),
])  # fmt: skip
def test_a_line_is_one_visitor_however_many_addresses_it_has(forwarded, address):
    assert network_address(forwarded, "client") == address
