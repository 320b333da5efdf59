"""Quotas are exact: what a refused request would have used is not counted, what a stopped job used is."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from sbert_app.environment import settings_from_environment
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.job import index
from sbert_app.jobs.corpus.opening import read_lines
from sbert_app.quotas import ANONYMOUS, HOSTED_QUOTAS, MOST_COUNTS, SIGNED_IN, Counts, Quota, read_quotas
from sbert_app.runs.records import STOPPED
from sbert_app.runtime.device import Device
from sbert_app.runtime.line import ActiveJobs, Line, Stop
from sbert_app.runtime.quota_usage import DEVICE, TRAINING, SpentError, Usage
from sbert_app.runtime.session import Session
from sbert_app.runtime.visitors import ASKING, Visitor, asking, each_asking
from sbert_app.runtime.worker import Worker

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC).timestamp()
ANN, BOB, EVE = Visitor("tab", "10.0.0.1", "ann"), Visitor("tab", "10.0.0.2"), Visitor("tab", "10.0.0.3")


class Clock:
    """Noon, until it is set forward."""

    now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def usage_of(clock: Clock | None = None, day: Quota | None = None, **hour: float) -> Usage:
    """Quotas of those who are not signed in: for an hour, and for a day."""
    return Usage({(ANONYMOUS, "hour"): Quota(**hour), (ANONYMOUS, "day"): day or Quota()}, clock or Clock())


def index_rows(usage: Usage, rows: int, done: int | None = None, visitor: Visitor = BOB) -> None:
    """A job that does all of its rows, or so many."""
    with asking(visitor), usage.take(rows=rows, indexings=1) as used:
        used |= {"rows": rows if done is None else done, "indexings": 1}


def refused(usage: Usage, rows: int, text: str, visitor: Visitor = BOB) -> None:
    with pytest.raises(SpentError, match=f"^{re.escape(text)}"):
        index_rows(usage, rows, visitor=visitor)


def left(usage: Usage, visitor: Visitor = BOB) -> str:
    with asking(visitor):
        return usage.left()


def test_rows_are_counted_to_the_last_one_and_refusals_count_nothing():
    usage = usage_of(rows=100)
    index_rows(usage, 60)
    refused(usage, 41, "This needs 41 rows, and 40 rows are left of your 100 rows for this hour; again from 13:00 UTC. Everybody")
    index_rows(usage, 40)
    refused(usage, 1, "You have used your 100 rows for this hour; again from 13:00 UTC. Everybody at")
    assert left(usage) == "Left for you: 0 rows."
    index_rows(usage, 100, visitor=EVE)


def test_what_runs_is_reserved_what_a_stopped_job_used_is_counted_and_the_rest_given_back():
    usage = usage_of(rows=100, indexings=2)
    index_rows(usage, 90, done=30)
    assert left(usage) == "Left for you: 70 rows, 1 indexing."
    with pytest.raises(ZeroDivisionError), asking(BOB), usage.take(rows=50, indexings=1):
        1 / 0  # noqa: B018 - before its first row
    assert left(usage) == "Left for you: 70 rows, 1 indexing."
    with asking(BOB), usage.take(rows=50) as used:
        refused(usage, 21, "This needs 21 rows, and 20 rows are left")
        used["rows"] = 10
    index_rows(usage, 60)


def test_one_limit_of_several_refuses_all_and_counts_nothing():
    usage = usage_of(rows=100, indexings=1)
    index_rows(usage, 1)
    refused(usage, 1, "You have used your 1 indexing for this hour")
    assert left(usage) == "Left for you: 99 rows, 0 indexings."
    # More than the quota itself is never let in.
    refused(usage_of(rows=100), 101, "A visitor has 100 rows an hour, and this needs more. Use less at a time.")
    with pytest.raises(SpentError, match="A visitor has 0 minutes of training an hour"), asking(BOB):
        usage_of(training_minutes=0).check(TRAINING)


def test_an_hour_and_a_day_begin_with_the_first_use(clock):
    usage = usage_of(clock, day=Quota(rows=150), rows=100)
    clock.now += 600
    index_rows(usage, 100)
    clock.now = NOON + 600 + 3599
    refused(usage, 1, "You have used your 100 rows for this hour; again from 13:10 UTC.")
    clock.now += 1
    refused(usage, 51, "This needs 51 rows, and 50 rows are left of your 150 rows for today; again from 12:10 UTC tomorrow.")
    index_rows(usage, 50)
    clock.now = NOON + 600 + 86_399
    refused(usage, 1, "You have used your 150 rows for today; again from 12:10 UTC.")
    clock.now += 1
    index_rows(usage, 100)


def test_a_job_that_ends_in_the_next_hour_gives_nothing_back_to_it(clock):
    usage = usage_of(clock, rows=100)
    with asking(BOB), usage.take(rows=100):
        clock.now += 3600
        index_rows(usage, 70)
    assert left(usage) == "Left for you: 30 rows."


def test_many_at_once_share_exactly_the_quota():
    usage, let_in = usage_of(rows=1_000), []

    def one(_: int) -> None:
        try:
            index_rows(usage, 7)
            let_in.append(7)
        except SpentError:
            pass

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(400)))
    assert sum(let_in) == 994 and left(usage) == "Left for you: 6 rows."


def test_kinds_and_names_are_counted_apart():
    usage = Usage({(ANONYMOUS, "hour"): Quota(rows=10), (SIGNED_IN, "hour"): Quota(rows=20)})
    index_rows(usage, 20, visitor=ANN)
    refused(usage, 1, "You have used your 20 rows", visitor=Visitor("another tab", "10.9.9.9", "ann"))  # from elsewhere
    index_rows(usage, 10, visitor=Visitor("tab", ANN.address))  # the same office, not signed in
    index_rows(usage, 10, visitor=Visitor("tab", "ann"))  # an address is no name
    index_rows(usage, 10_000, visitor=Visitor("tab"))  # local


def test_local_apps_have_no_quotas_and_hosted_ones_have_those_of_a_file(tmp_path):
    assert settings_from_environment({}).quotas == {}
    assert settings_from_environment({"SBERT_STUDIO_HOSTED": "1"}).quotas is HOSTED_QUOTAS
    assert left(Usage()) == "" and left(usage_of(rows=5), Visitor("tab")) == ""
    file = tmp_path / "quotas.toml"
    file.write_text("[anonymous.hour]\nrows = 1000\n[signed_in.day]\ntraining_minutes = 90.5\n")
    env = {"SBERT_STUDIO_HOSTED": "1", "SBERT_STUDIO_QUOTAS": str(file)}
    expected = {(ANONYMOUS, "hour"): Quota(rows=1000), (SIGNED_IN, "day"): Quota(training_minutes=90.5)}
    assert settings_from_environment(env).quotas == expected


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[nobody.hour]\nrows = 1", r"tables must be of \[anonymous.hour\], \[anonymous.day\], \[signed_in.hour\]"),
        ("[anonymous.week]\nrows = 1", "tables must be of"),
        ("anonymous = 5", "no table of rows, bytes, indexings"),
        ("[anonymous]\nhour = 5", "no table of rows"),
        ("[anonymous.hour]\nrow = 1", "unexpected keyword argument 'row'"),
        ("[anonymous.hour]\nrows = -1", "rows must be a number from 0 on, got -1"),
        ("[anonymous.hour]\nrows = true", "got True"),
        ("[anonymous.hour]\nrows = nan", "got nan"),
        ("rows = ", "no table of"),
    ],
)
def test_a_mistake_in_the_table_is_a_sentence(tmp_path, text, match):
    file = tmp_path / "quotas.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=match):
        read_quotas(str(file))


def test_what_is_counted_stays_bounded_and_a_clock_that_is_set_back_begins_a_new_period(clock):
    counts = Counts(60, clock)
    for number in range(3 * MOST_COUNTS):
        clock.now += 0.1
        counts.of(number).amount += 1
    assert len(counts._counts) <= MOST_COUNTS
    counts.of("ann").amount = 40
    clock.now -= 3 * 86_400
    assert counts.of("ann").amount == 0


@pytest.fixture
def worked(monkeypatch):
    """Seconds that the device was in use, to be set forward."""
    now = [0.0]
    monkeypatch.setattr("sbert_app.runtime.quota_usage.time", SimpleNamespace(time=Clock(), perf_counter=lambda: now[0]))
    return now


def test_seconds_on_the_device_are_the_visitors_whose_step_it_is(worked):
    usage = usage_of(device_seconds=10)
    device = Device(usage)

    def steps():
        for _ in range(3):
            with device.hold():
                worked[0] += 4
            yield
            with device.hold():  # of whoever asks between two steps
                pass

    with asking(EVE):
        work = each_asking(BOB, steps())
        next(work)
        next(work)
        assert left(usage) == "Left for you: 2 seconds of computing." and usage.left() == "Left for you: 10 seconds of computing."
        assert ASKING.get() == EVE
        next(work)  # has begun with something left: the device is not taken away within a step
        with pytest.raises(SpentError, match="You have used your 10 seconds of computing for this hour"):
            next(work)
    assert not device._held
    with device.hold():  # the app's own work
        pass


def test_a_corpus_is_counted_where_it_is_indexed(shared_bench, monkeypatch):
    usage = usage_of(rows=40, indexings=9)
    monkeypatch.setattr(shared_bench, "usage", usage)
    session = Session(visitor=BOB)

    def rows(count: int) -> None:
        session.put(read_lines("\n".join(f"sentence {i} of {count}" for i in range(count)), shared_bench.settings.limits))

    rows(30)
    with asking(BOB):
        list(index(shared_bench, session, ["text"]))
        assert usage.left() == "Left for you: 10 rows, 8 indexings."
        rows(11)
        with pytest.raises(SpentError, match="This needs 11 rows, and 10 rows are left"):
            list(index(shared_bench, session, ["text"]))
        busy = ActiveJobs(shared_bench.settings.limits)
        monkeypatch.setattr(busy, "_check", lambda job: (_ for _ in ()).throw(UserError("Too busy")))
        monkeypatch.setattr(shared_bench, "lines", SimpleNamespace(corpora=Line(1, busy, 60)))
        rows(10)
        with pytest.raises(UserError, match="Too busy"):
            list(index(shared_bench, session, ["text"]))
        assert usage.left() == "Left for you: 10 rows, 8 indexings."


def test_a_training_ends_where_its_minutes_end_and_says_when_it_can_go_on(worked):
    usage, states, steps = usage_of(training_minutes=2), [], []
    device = Device(usage)
    lock = SimpleNamespace(release=lambda: None)
    info = SimpleNamespace(state=STOPPED, message="Best checkpoint: step 2 of 9.")
    run = SimpleNamespace(id="run", hold=lambda: lock, set_state=lambda *state: states.append(state), info=lambda: info)

    def train(run, stopping):
        while not stopping() and len(steps) < 9:
            with device.hold():
                worked[0] += 50
            steps.append(worked[0])

    worker = Worker(train, usage)
    with asking(BOB):
        worker.start(run)
    while worker.count():
        threading.Event().wait(0.01)
    assert steps == [50, 100, 150]
    reason = "Best checkpoint: step 2 of 9. You have used your 2 minutes of training for this hour; again from 13:00 UTC."
    assert states[-1][0] == STOPPED and states[-1][1].startswith(reason)
    with asking(BOB):
        assert usage.left() == "Left for you: 0 minutes of training." and not usage.spent(DEVICE)


def test_a_job_in_line_is_its_visitors_though_another_thread_makes_its_steps():
    usage = usage_of(rows=10)
    line = Line(1, ActiveJobs(settings_from_environment({}).limits), 60)

    def job():
        with usage.take(rows=10) as used, line.join(Stop(BOB)) as waiting:
            yield from waiting
            yield "begun"
            used["rows"] = 4

    work = each_asking(BOB, job())
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(next, work).result() == "begun"
    assert list(work) == [] and left(usage) == "Left for you: 6 rows."
