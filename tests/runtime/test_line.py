"""Heavy jobs wait in line, are limited and stopped; the memory that they freed goes back to the system."""

import ctypes
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.runtime import line as module
from sbert_app.runtime.line import ActiveJobs, Line, Stop
from sbert_app.runtime.visitors import Visitor
from sbert_app.settings import HOSTED_LIMITS, Limits

# Blocks below the size that malloc maps one by one; the last one keeps the heap from shrinking by itself.
FREE = """
import ctypes, psutil
from sbert_app.runtime.line import give_back
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
resident = lambda: psutil.Process().memory_info().rss
blocks = [libc.malloc(50_000) for _ in range(4_000)]
for block in blocks:
    ctypes.memset(block, 1, 50_000)
last = libc.malloc(50_000)
for block in blocks:
    libc.free(block)
before = resident()
give_back()
print((before - resident()) // 2**20)
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)


def join(stack: ExitStack, line: Line, stop: Stop | None = None):
    return stack.enter_context(line.join(stop or Stop()))


def test_everyone_knows_their_place_and_moves_up():
    line = Line(2, ActiveJobs(Limits()), 60)
    with ExitStack() as first, ExitStack() as others:
        assert list(join(first, line)) == [] and list(join(first, line)) == []
        third, fourth = join(others, line), join(others, line)
        assert next(third) == 1 and next(fourth) == 2
        fifth = join(others, line, stop := Stop())
        assert next(fifth) == 3
        stop.set()
        assert list(fifth) == [], "who stops while waiting is served at once"
        first.close()
        assert list(third) == [] and list(fourth) == []
    with pytest.raises(ZeroDivisionError), line.join(Stop()):
        1 / 0  # noqa: B018
    assert line._running == line._active._jobs == [] and not line._waiting


def test_the_sixty_fifth_job_is_told_so_whatever_its_line():
    active = ActiveJobs(Limits())
    lines = [Line(1, active, 60), Line(4, active, 60)]
    with ExitStack() as stack:
        for number in range(64):
            join(stack, lines[number % 2], Stop(Visitor(f"tab {number}")))
        with pytest.raises(UserError, match="Too busy: 64 jobs are already running or waiting"):
            join(stack, lines[0])
    with lines[0].join(Stop()):
        pass


def test_a_hosted_visitor_has_one_job_at_a_time_and_one_network_cannot_take_all_places():
    line, me = Line(4, ActiveJobs(replace(HOSTED_LIMITS, jobs_an_address=3)), 60), Visitor("tab", "10.0.0.1")
    with ExitStack() as stack:
        first = Stop(me)
        join(stack, line, first)
        with pytest.raises(UserError, match="Your last job is still running. Wait for it, or stop it"):
            join(stack, line, Stop(me))
        join(stack, line, Stop(Visitor("another tab", "10.0.0.1")))
        first.set()  # it ends after its batch: the next one need not wait for that
        join(stack, line, Stop(me))
        join(stack, line, Stop(Visitor("a third tab", "10.0.0.1")))
        with pytest.raises(UserError, match="Too many jobs from your network"):
            join(stack, line, Stop(Visitor("a fourth tab", "10.0.0.1")))
        join(stack, line, Stop(Visitor("tab", "10.0.0.2")))


def test_a_job_that_takes_too_long_is_stopped_and_told(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    stop = Stop()
    with pytest.raises(UserError, match="Stopped after 15 minutes, the limit here"):  # noqa: SIM117
        with Line(1, ActiveJobs(Limits()), 900).join(stop) as waiting:
            assert list(waiting) == [] and not stop.is_set()
            now[0] += 901
            assert stop.is_set()


def test_who_has_left_takes_no_place_and_ends_at_the_next_tick():
    line, gone = Line(4, ActiveJobs(HOSTED_LIMITS), 60), []
    first = Stop(Visitor("tab"), lambda: bool(gone))
    with pytest.raises(UserError, match="The job was stopped"), line.join(first):
        first.tick()
        gone.append(True)
        with line.join(Stop(Visitor("tab"))):
            pass
        first.tick()


def test_the_end_of_the_app_stops_all_jobs_and_those_that_come_later():
    active = ActiveJobs(Limits())
    before, after = Stop(), Stop()
    with Line(1, active, 60).join(before), Line(1, active, 60).join(after):
        active.close()
        assert before.is_set() and after.is_set()
    with Line(1, active, 60).join(later := Stop()):
        assert later.is_set() and later.reason.startswith("The job was stopped: the app is shutting down")


def test_freed_memory_goes_back_to_the_system():
    try:
        _ = ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        pytest.skip("not glibc")
    out = subprocess.run([sys.executable, "-c", FREE], capture_output=True, text=True, timeout=60, check=True)
    assert int(out.stdout) > 150  # of 190 MB
