"""Find duplicates in the session's corpus: mine pairs once, group at any threshold, re-score borderline pairs."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from sbert_app.corpus.duplicates import COPIES, SIMILAR, Duplicates, find_duplicates
from sbert_app.corpus.findings import Findings, Mined, SentencePair
from sbert_app.corpus.mining import FLOOR
from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation

# On 10,000 labelled Quora pairs: precision 0.8 and recall 0.6 at 0.85; precision 0.75 and recall 0.86 at 0.75.
DEFAULT_THRESHOLD = 0.85
MOST_LISTED = 100_000  # pairs in one answer
MOST_SCORED = 100  # pairs scored by the cross-encoder, one forward pass each
MINE, GROUP = "compare", "group"  # stages
MINING = "mining"  # job name
NO_GROUP = "This group is not in the list any more. Choose one from the list."


@dataclass(frozen=True)
class MiningProgress:
    """Progress of the mining as a share of 0..1. The last event holds the result or is `stopped`."""

    share: float
    seconds: float
    stopped: bool = False
    mined: Mined | None = None
    before: int = 0  # jobs ahead in the queue


class DuplicatesService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def find(self, session_id: str) -> Iterator[MiningProgress]:
        """Mine the session's corpus; the result stays in the session until another corpus is opened."""
        indexed = self._bench.sessions.corpus(session_id)
        session = self._bench.sessions.get(session_id)
        stop = session.begin(MINING)
        with self._bench.lines.corpora.join(stop) as waiting:
            for before in waiting:
                yield MiningProgress(0.0, 0.0, before=before)
            start = time.perf_counter()
            yield MiningProgress(0.0, 0.0)
            for step in self._bench.device.each(find_duplicates(indexed.corpus.sentences, indexed.embeddings, indexed.index)):
                seconds = time.perf_counter() - start
                if isinstance(step, Duplicates):
                    mined = Mined(indexed, step, {MINE: seconds})
                    kept = session.put(mined, stop)
                    yield MiningProgress(1.0, seconds, stopped=not kept, mined=mined if kept else None)
                elif stop.is_set():
                    yield MiningProgress(step.done / step.total, seconds, stopped=True)
                    return
                else:
                    yield MiningProgress(step.done / step.total, seconds)

    def stop(self, session_id: str) -> None:
        """Stop this session's mining after the current step."""
        self._bench.sessions.get(session_id).stop(MINING)

    def rows(self, session_id: str) -> int:
        """Number of rows in the session's corpus."""
        return len(self._bench.sessions.corpus(session_id).corpus)

    def is_mined(self, session_id: str) -> bool:
        """Whether the session's corpus has been mined."""
        return self._bench.sessions.get(session_id).get(Mined) is not None

    def findings(self, session_id: str, threshold: float = DEFAULT_THRESHOLD, remove: str = SIMILAR) -> Findings:
        """Group the mined pairs at a threshold, raised to the mining's floor. Raises UserError if the open corpus is not mined."""
        threshold = checked_threshold(threshold)
        remove = validation.one_of(remove, "rows to remove", (COPIES, SIMILAR)) or SIMILAR
        mined = self._bench.sessions.get(session_id).get(Mined)
        if mined is None:
            raise UserError("This corpus has not been searched for duplicates yet. Find them first.")
        threshold = max(threshold, mined.duplicates.pairs.floor)
        start = time.perf_counter()
        grouping = mined.duplicates.grouping(threshold)
        seconds = mined.seconds | {GROUP: time.perf_counter() - start}
        return Findings(mined, threshold, grouping, seconds, remove, frozenset(mined.always))

    def keep_group(self, session_id: str, threshold: float, centre: object, whole: object) -> None:
        """Keep all rows of a group, whatever is removed, or take that back. centre: the row number of its first member."""
        findings = self.findings(session_id, threshold)
        rows = findings.rows_of_group(centre) if isinstance(centre, int) else []
        if not rows or not isinstance(whole, bool):
            raise UserError(NO_GROUP)
        if whole:
            findings.mined.always.update(rows)
        else:
            findings.mined.always.difference_update(rows)

    def score_borderline(self, session_id: str, threshold: float, count: int = MOST_SCORED) -> tuple[list[SentencePair], float]:
        """Borderline pairs with cross-encoder scores, and the seconds it took; earlier scores are reused."""
        count = validation.whole_number(count, "number of pairs", 1, MOST_SCORED)
        findings = self.findings(session_id, threshold)
        pairs = [pair for pair in findings.borderline(count) if pair.cross_score is None]
        cross = self._bench.registry.cross_encoder(DEFAULT_CROSS_ENCODER)
        start = time.perf_counter()
        scores = self._bench.device.scores(cross, [(pair.sentence1, pair.sentence2) for pair in pairs])
        findings.mined.cross_scores.update({(p.row1, p.row2): float(score) for p, score in zip(pairs, scores, strict=True)})
        return findings.borderline(count), time.perf_counter() - start


def checked_threshold(value: float) -> float:
    """Check that a threshold is a cosine in FLOOR..1. Raises UserError otherwise."""
    return validation.number(value, "threshold", FLOOR, 1.0)
