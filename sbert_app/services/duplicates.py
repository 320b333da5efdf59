"""Find the duplicates of the session's corpus: mine once, group at any threshold, hear the cross-encoder on doubtful pairs."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from sbert_app.corpus.duplicates import Duplicates, find_duplicates
from sbert_app.corpus.findings import Findings, Mined, SentencePair
from sbert_app.corpus.mining import FLOOR
from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation

# On 10,000 labelled pairs of Quora: at 0.85 four of five pairs are duplicates and three of five duplicates are found;
# at 0.75 three of four and six of seven.
DEFAULT_THRESHOLD = 0.85
MOST_LISTED = 100_000  # pairs in one answer
MOST_ASKED = 100  # pairs that the cross-encoder reads: it costs one pass each
MINE, GROUP = "compare", "group"  # stages
MINING = "mining"  # the name of the job


@dataclass(frozen=True)
class MiningProgress:
    """How far the mining is, as a share. The last one holds what was found, or says that it was stopped."""

    share: float
    seconds: float
    stopped: bool = False
    mined: Mined | None = None
    before: int = 0  # jobs that are served first


class DuplicatesService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def find(self, session_id: str) -> Iterator[MiningProgress]:
        """Mine the session's corpus; what was found stays in the session until another corpus is opened."""
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
        """End this session's mining after the step that is running."""
        self._bench.sessions.get(session_id).stop(MINING)

    def rows(self, session_id: str) -> int:
        """The rows of the session's corpus."""
        return len(self._bench.sessions.corpus(session_id).corpus)

    def known(self, session_id: str) -> bool:
        """Whether the session's corpus has been mined."""
        return self._bench.sessions.get(session_id).get(Mined) is not None

    def findings(self, session_id: str, threshold: float = DEFAULT_THRESHOLD) -> Findings:
        """What was found, grouped at a threshold; below the floor of the mining it is the floor.

        Raises UserError before `find`, or where another corpus was opened since.
        """
        threshold = checked_threshold(threshold)
        mined = self._bench.sessions.get(session_id).get(Mined)
        if mined is None:
            raise UserError("The duplicates of this corpus are not known yet. Find them first.")
        threshold = max(threshold, mined.duplicates.pairs.floor)
        start = time.perf_counter()
        grouping = mined.duplicates.grouping(threshold)
        return Findings(mined, threshold, grouping, mined.seconds | {GROUP: time.perf_counter() - start})

    def second_opinion(self, session_id: str, threshold: float, count: int = MOST_ASKED) -> tuple[list[SentencePair], float]:
        """The borderline pairs with the cross-encoder's scores, and the seconds it took; what it read before is kept."""
        count = validation.whole_number(count, "number of pairs", 1, MOST_ASKED)
        findings = self.findings(session_id, threshold)
        pairs = [pair for pair in findings.borderline(count) if pair.cross_score is None]
        cross = self._bench.registry.cross_encoder(DEFAULT_CROSS_ENCODER)
        start = time.perf_counter()
        scores = self._bench.device.scores(cross, [(pair.sentence1, pair.sentence2) for pair in pairs])
        findings.mined.opinions.update({(p.row1, p.row2): float(score) for p, score in zip(pairs, scores, strict=True)})
        return findings.borderline(count), time.perf_counter() - start


def checked_threshold(value: float) -> float:
    """A cosine from the lowest floor up to 1. Raises UserError for anything else."""
    return validation.number(value, "threshold", FLOOR, 1.0)
