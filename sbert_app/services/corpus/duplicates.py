"""Find duplicates in the session's corpus: mine pairs once, group at any threshold, re-score borderline pairs."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.duplicates import COPIES, SIMILAR, Duplicates, SentencePair, find_duplicates
from sbert_app.corpus.findings import Findings, Mined
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.mining import FLOOR, Mining
from sbert_app.errors import UserError
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.models.files.trained_for import Bounds, how_to_read
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import StoppedError
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.collection.joining import join

if TYPE_CHECKING:
    from sbert_app.models.files.listing import ModelInfo

# On 10,000 labelled Quora pairs: precision 0.8 and recall 0.6 at 0.85; precision 0.75 and recall 0.86 at 0.75.
DEFAULT_THRESHOLD = 0.85
MOST_LISTED = 100_000  # pairs in one answer
MOST_SCORED = 100  # pairs scored by the cross-encoder, one forward pass each
MINE, GROUP = "compare", "group"  # stages
MINING, SCORING = "mining", "second opinion"  # job names
NO_GROUP = "This group is not in the list any more. Choose one from the list."


@dataclass(frozen=True)
class MiningProgress:
    """Progress of the mining as a share of 0..1. The last event holds the result or is `stopped`."""

    share: float
    seconds: float
    stopped: bool = False
    mined: Mined | None = None
    before: int = 0  # jobs ahead in the queue


@dataclass(frozen=True)
class SecondOpinion:
    """One model's scores of pairs, by (row1, row2) of the file. seconds: of the last scoring. bounds: None for logits."""

    model: str
    kind: str  # "cross-encoder" or "poly-encoder"
    trained_for: str
    bounds: Bounds | None
    scores: dict[tuple[int | str, int | str], float]
    seconds: float
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    def summary(self, pairs: Sequence[SentencePair]) -> dict[str, Any]:
        """Plain JSON: the model, how to read its scores, and the pairs with them."""
        scored = [{"row1": p.row1, "row2": p.row2, "score": p.score, "cross_encoder_score": p.cross_score} for p in pairs]
        about = how_to_read(self.trained_for, self.bounds)
        return {"model": self.model, "kind": self.kind, "trained_for": self.trained_for, "how_to_read": about, "pairs": scored}


class DuplicatesService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def find(self, session: Session) -> Iterator[MiningProgress]:
        """Mine the session's corpus; the result stays in the session until another corpus is opened."""
        indexed = session.corpus()
        stop = session.begin(MINING)
        with self._bench.lines.corpora.join(stop) as waiting:
            for before in waiting:
                yield MiningProgress(0.0, 0.0, before=before)
            start = time.perf_counter()
            yield MiningProgress(0.0, 0.0)
            for step in self._mined(indexed, session.get(OpenCollection)):
                seconds = time.perf_counter() - start
                if isinstance(step, Mined):
                    mined = replace(step, seconds={MINE: seconds})
                    kept = session.put(mined, stop)
                    yield MiningProgress(1.0, seconds, stopped=not kept, mined=mined if kept else None)
                elif stop.is_set():
                    yield MiningProgress(step.done / step.total, seconds, stopped=True)
                    return
                else:
                    yield MiningProgress(step.done / step.total, seconds)

    def _mined(self, indexed: IndexedCorpus, opened: OpenCollection | None) -> Iterator[Mining | Mined]:
        """Compare the rows of a corpus, or of the collection that it is a sample of. A store may answer late."""
        if opened is not None:
            yield from join(opened)
            return
        steps = find_duplicates(indexed.corpus.sentences, indexed.embeddings, indexed.index)
        for step in self._bench.device.each(steps):
            yield Mined(indexed, step, {}) if isinstance(step, Duplicates) else step

    def stop(self, session: Session) -> None:
        """Stop this session's mining after the current step."""
        session.stop(MINING)

    def rows(self, session: Session) -> int:
        """Number of rows in the session's corpus."""
        return len(session.corpus().corpus)

    def collection(self, session: Session) -> OpenCollection | None:
        """The session's open collection."""
        return session.get(OpenCollection)

    def is_mined(self, session: Session) -> bool:
        """Whether the session's corpus has been mined."""
        return session.get(Mined) is not None

    def findings(self, session: Session, threshold: float = DEFAULT_THRESHOLD, remove: str = SIMILAR) -> Findings:
        """Group the mined pairs at a threshold, raised to the mining's floor. Raises UserError if the open corpus is not mined."""
        threshold = checked_threshold(threshold)
        remove = validation.one_of(remove, "rows to remove", (COPIES, SIMILAR)) or SIMILAR
        mined = session.get(Mined)
        if mined is None:
            raise UserError("This corpus has not been searched for duplicates yet. Find them first.")
        threshold = max(threshold, mined.duplicates.pairs.floor)
        start = time.perf_counter()
        grouping = mined.duplicates.grouping(threshold)
        seconds = mined.seconds | {GROUP: time.perf_counter() - start}
        opinion = self.opinion(session)
        mined = replace(mined, cross_scores=opinion.scores if opinion else {})
        return Findings(mined, threshold, grouping, seconds, remove, frozenset(mined.always))

    def keep_group(self, session: Session, threshold: float, centre: object, whole: object) -> None:
        """Keep all rows of a group, whatever is removed, or take that back. centre: the row number of its first member."""
        findings = self.findings(session, threshold)
        rows = findings.rows_of_group(centre) if isinstance(centre, int) else []
        if not rows or not isinstance(whole, bool):
            raise UserError(NO_GROUP)
        if whole:
            findings.mined.always.update(rows)
        else:
            findings.mined.always.difference_update(rows)

    def opinion(self, session: Session) -> SecondOpinion | None:
        """The scores of the model that was last asked about the open corpus."""
        return session.get(SecondOpinion)

    def pair_scorers(self) -> Sequence["ModelInfo"]:
        """The available cross-encoders and poly-encoders that give a pair one score."""
        return self._bench.registry.pair_scorers()

    def score_borderline(
        self, session: Session, threshold: float, count: int = MOST_SCORED, cross_encoder: str = DEFAULT_CROSS_ENCODER
    ) -> tuple[list[SentencePair], SecondOpinion]:
        """Borderline pairs with a cross-encoder's scores; its own earlier ones are reused, another model's are dropped.

        Raises UserError for a model that gives no single score.
        """
        count = validation.whole_number(count, "number of pairs", 1, MOST_SCORED)
        findings = self.findings(session, threshold)
        stop = session.begin(SCORING)
        cross = self._bench.registry.pair_scorer(cross_encoder)
        earlier = session.get(SecondOpinion)
        scores = dict(earlier.scores) if earlier and earlier.model == cross.name else {}
        pairs = findings.borderline(count)
        new = [pair for pair in pairs if (pair.row1, pair.row2) not in scores]
        start = time.perf_counter()
        try:
            values = self._bench.device.scores(cross, [(pair.sentence1, pair.sentence2) for pair in new], stop.tick)
        except StoppedError:
            raise UserError(stop.reason) from None
        scores |= {(pair.row1, pair.row2): float(value) for pair, value in zip(new, values, strict=True)}
        seconds = time.perf_counter() - start
        opinion = SecondOpinion(cross.name, cross.kind, cross.trained_for, cross.bounds, scores, seconds)
        session.put(opinion, stop)
        return [replace(pair, cross_score=scores[pair.row1, pair.row2]) for pair in pairs], opinion


def checked_threshold(value: float) -> float:
    """Check that a threshold is a cosine in FLOOR..1. Raises UserError otherwise."""
    return validation.number(value, "threshold", FLOOR, 1.0)
