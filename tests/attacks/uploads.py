"""One hosted visitor uploads twenty evaluation files of half a megabyte: do the others wait? `python -m tests.attacks uploads`

In one process, without a network: what differs before and after is what the sessions hold.
"""

import time
from pathlib import Path

import numpy as np

from sbert_app.jobs.evaluate import grid
from sbert_app.jobs.similarity.pair import compare
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime.session import Session
from sbert_app.runtime.sessions import Sessions
from sbert_app.runtime.visitors import Visitor
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import HOSTED_LIMITS, Settings
from tests.benchmarks.timing import milliseconds

FILE_BYTES = 500_000
COMPARISONS, LOOK_UPS = 60, 200
LOOK_UPS_A_CLICK = 16  # of the session, where a click opens a corpus
GOAL = 1.3  # of the time before


def click(bench: Workbench, session: Session, number: int) -> float:
    """Seconds of one visitor's comparison, with the look-ups of a click."""
    start = time.perf_counter()
    for _ in range(LOOK_UPS_A_CLICK):
        bench.sessions.get(session.id)
    sentences = f"the invoice {number} is late", f"the bill {number} has not come"
    compare(bench, session, *sentences, DEFAULT_ENCODER)
    return time.perf_counter() - start


def look_up(sessions: Sessions, session: Session) -> float:
    """Microseconds of one look-up, the median of many."""
    return 1e3 * float(np.median(milliseconds(sessions.get, [session.id] * LOOK_UPS)))


def upload(bench: Workbench, session: Session, folder: Path, number: int) -> None:
    """A file of pairs as small as they get: many sentences in few bytes."""
    path = folder / f"set{number}.csv"
    pairs = (f"a{number}x{i},b{i},{i % 6}" for i in range(FILE_BYTES // 15))
    path.write_text("\n".join(["sentence1,sentence2,score", *pairs]))
    grid.upload(bench, session, path, path.name)


def main(folder: Path) -> bool:
    """Whether the others' clicks do not slow down."""
    bench = Workbench(Settings(home=folder / "home", hosted=True, limits=HOSTED_LIMITS))
    sessions = bench.sessions
    others = [sessions.open(Visitor(f"tab {number}", f"10.0.0.{number}")) for number in range(20)]
    attacker = sessions.open(Visitor("attacker", "10.1.0.1"))

    def measure() -> tuple[float, float]:
        clicks = [click(bench, others[number % len(others)], number) for number in range(COMPARISONS)]
        return float(np.median(clicks)), look_up(sessions, others[0])

    measure()  # warm
    before, look_up_before = measure()
    for number in range(grid.MOST_UPLOADED):
        upload(bench, attacker, folder, number)
    after, look_up_after = measure()
    held = attacker.nbytes / 1e6
    print(f"{grid.MOST_UPLOADED} files of {FILE_BYTES / 1e6:.1f} MB, counted as {held:,.0f} MB")
    print(f"a click of another visitor: p50 {1e3 * before:,.1f} ms before, {1e3 * after:,.1f} ms after ({after / before:.2f}x)")
    print(f"one look-up of a session: {look_up_before:,.1f} us before, {look_up_after:,.1f} us after", flush=True)
    return after <= GOAL * before
