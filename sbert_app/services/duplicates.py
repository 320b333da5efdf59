"""Find the duplicates of the session's corpus: mine once, group at any threshold, hear the cross-encoder on doubtful pairs."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sbert_app.corpus.duplicates import Duplicates, find_duplicates
from sbert_app.corpus.findings import Findings, Mined, SentencePair
from sbert_app.corpus.mining import FLOOR
from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER
from sbert_app.services import validation
from sbert_app.runtime.workbench import Workbench

# On 10,000 labelled pairs of Quora: at 0.85 four of five pairs are duplicates and three of five duplicates are found;
# at 0.75 three of four and six of seven.
DEFAULT_THRESHOLD = 0.85
MOST_LISTED = 100_000  # pairs in one answer
MOST_ASKED = 100  # pairs that the cross-encoder reads: it costs one pass each
MINE, GROUP = "compare", "group"  # stages
MINING = "mining"  # the name under which all ways to mine share their places


@dataclass(frozen=True)
class MiningProgress:
    """How far the mining is, as a share. The last one holds what was found, or says that it was stopped."""

    share: float
    seconds: float
    stopped: bool = False
    mined: Mined | None = None


class DuplicatesService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def find(self, session_id: str) -> Iterator[MiningProgress]:
        """Mine the session's corpus; what was found stays in the session until another corpus is opened."""
        indexed = self._bench.corpus_of(session_id)
        session = self._bench.sessions.get(session_id)
        session.stop_duplicates.clear()
        start = time.perf_counter()
        yield MiningProgress(0.0, 0.0)
        steps = find_duplicates(indexed.corpus.sentences, indexed.embeddings, indexed.index)
        while True:
            with self._bench.device():  # others are served between two steps
                step = next(steps)
            seconds = time.perf_counter() - start
            if isinstance(step, Duplicates):
                break
            if session.stop_duplicates.is_set():
                yield MiningProgress(step.done / step.total, seconds, stopped=True)
                return
            yield MiningProgress(step.done / step.total, seconds)
        mined = Mined(indexed, step, {MINE: seconds})
        if session.corpus is indexed:
            session.duplicates = mined
        yield MiningProgress(1.0, seconds, mined=mined)

    def stop(self, session_id: str) -> None:
        """End this session's mining after the step that is running."""
        self._bench.sessions.get(session_id).stop_duplicates.set()

    def forget(self, session_id: str) -> None:
        """Another corpus: stop what is running, drop what was found in the one before."""
        self.stop(session_id)
        self._bench.sessions.get(session_id).duplicates = None

    def rows(self, session_id: str) -> int:
        """The rows of the session's corpus."""
        return len(self._bench.corpus_of(session_id).corpus)

    def known(self, session_id: str) -> bool:
        """Whether the session's corpus has been mined."""
        session = self._bench.sessions.get(session_id)
        return session.duplicates is not None and session.duplicates.indexed is session.corpus

    def findings(self, session_id: str, threshold: float = DEFAULT_THRESHOLD) -> Findings:
        """What was found, grouped at a threshold; below the floor of the mining it is the floor.

        Raises UserError before `find`, or where another corpus was opened since.
        """
        session = self._bench.sessions.get(session_id)
        threshold = checked_threshold(threshold)
        mined = session.duplicates
        if mined is None or mined.indexed is not session.corpus:
            raise UserError("The duplicates of this corpus are not known yet. Find them first.")
        threshold = max(threshold, mined.duplicates.pairs.floor)
        start = time.perf_counter()
        grouping = mined.duplicates.grouping(threshold)
        return Findings(mined, threshold, grouping, mined.seconds | {GROUP: time.perf_counter() - start})

    def second_opinion(self, session_id: str, threshold: float, count: int = MOST_ASKED) -> tuple[list[SentencePair], float]:
        """The borderline pairs with the cross-encoder's scores, and the seconds it took; what it read before is kept."""
        count = validation.whole_number(count, "number of pairs", 1, MOST_ASKED)
        found = self.findings(session_id, threshold)
        pairs = [pair for pair in found.borderline(count) if pair.cross_score is None]
        cross = self._bench.registry.cross_encoder(DEFAULT_CROSS_ENCODER)
        start = time.perf_counter()
        scores = np.empty(len(pairs), dtype=np.float32)
        for rows, values in self._bench.stream_pairs(cross, [(pair.sentence1, pair.sentence2) for pair in pairs]):
            scores[rows] = values[:, 0]
        found.mined.opinions.update({(p.row1, p.row2): float(score) for p, score in zip(pairs, scores, strict=True)})
        return found.borderline(count), time.perf_counter() - start


def checked_threshold(value: float) -> float:
    """A cosine from the lowest floor up to 1. Raises UserError for anything else."""
    return validation.number(value, "threshold", FLOOR, 1.0)
