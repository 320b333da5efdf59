"""What mining found, in sentences and in row numbers of the file: at one threshold, for a screen, a shell or a file."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sbert_app.corpus.duplicates import Duplicates, Pairs
from sbert_app.corpus.filters import label_columns
from sbert_app.corpus.groups import Grouping
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.overlap import Overlap
from sbert_app.corpus.reader import Corpus


@dataclass(frozen=True)
class Mined:
    """A corpus and what mining found in it. Seconds by stage. `opinions`: the cross-encoder's scores so far, by both rows."""

    indexed: IndexedCorpus
    duplicates: Duplicates
    seconds: dict[str, float]
    opinions: dict[tuple[int, int], float] = field(default_factory=dict)
    of_corpus: ClassVar[bool] = True  # dropped with the corpus


@dataclass(frozen=True)
class SentencePair:
    """Two sentences by their rows in the file, counted from 1, and their cosine; cross_score: where it was asked."""

    row1: int
    row2: int
    score: float
    sentence1: str
    sentence2: str
    cross_score: float | None = None


@dataclass(frozen=True)
class Member:
    """One row of a group, numbered as in the file. score: cosine to the row that is kept, 1 for that row."""

    row: int
    score: float
    sentence: str


@dataclass(frozen=True)
class Findings:
    """One grouping of a corpus. The first member of each group is its centre: all others reach the threshold to it."""

    mined: Mined
    threshold: float
    grouping: Grouping
    seconds: dict[str, float]

    @property
    def corpus(self) -> Corpus:
        return self.mined.indexed.corpus

    @property
    def copies(self) -> int:
        """The rows that repeat the text of an earlier row: they go at any threshold."""
        return len(self.mined.duplicates.copies.repeated)

    @cached_property
    def recall(self) -> float | None:
        """The share of the pairs above the threshold that was found, 1 where mining was exact; None: not known."""
        return self.mined.duplicates.pairs.recall(self.threshold)

    def groups(self, most: int | None = None) -> list[list[Member]]:
        """The groups, largest first, `most` of them."""
        return [self._group(number) for number in range(len(self.grouping))[:most]]

    def pairs(self, most: int | None = None) -> list[SentencePair]:
        """The pairs that reach the threshold, best first, `most` of them."""
        return self._pairs(self.mined.duplicates.best_pairs(self.threshold, most))

    def borderline(self, most: int) -> list[SentencePair]:
        """The pairs nearest to the threshold, on both sides, the nearest first."""
        return self._pairs(self.mined.duplicates.borderline(self.threshold, most))

    def summary(self, top: int) -> dict[str, Any]:
        """What the shell and the API tell: the best `top` pairs, and every group by its row numbers."""
        pairs = self.mined.duplicates.pairs
        groups = [[member.row for member in group] for group in self.groups()]
        return {
            "rows": len(self.corpus),
            "redundant": self.grouping.redundant,
            "groups_of_different_labels": self.mixed(),
            "exact_copies": self.copies,
            "pairs": [{key: value for key, value in asdict(p).items() if key != "cross_score"} for p in self.pairs(top)],
            "groups": [{"representative": rows[0], "rows": rows, "size": len(rows)} for rows in groups],
            "threshold": self.threshold,
            "floor": pairs.floor,
            "exact": pairs.exact,
            "recall": self.recall,
            "seconds": self.seconds,
        }

    def mixed(self) -> dict[str, int]:
        """By label column the number of groups whose rows have different labels: mistakes, or no duplicates at all."""
        starts, rows = self.grouping.starts[:-1], self.grouping.rows
        mixed = {}
        for column, values in label_columns(self.corpus.metadata).items() if len(starts) else ():
            codes = pd.factorize(values)[0][rows]
            mixed[column] = int((np.maximum.reduceat(codes, starts) != np.minimum.reduceat(codes, starts)).sum())
        return mixed

    def verdicts(self) -> Iterator[dict[str, Any]]:
        """For each row whether to keep it, its group, the row that stands for it, the cosine to that, and its own columns."""
        verdicts, corpus = self.mined.duplicates.verdicts(self.grouping), self.corpus
        columns = corpus.metadata.to_dict("records")
        for place, sentence in enumerate(corpus.sentences):
            own: dict[str, Any] = {
                "row": int(corpus.rows[place]),
                "verdict": "keep" if verdicts.keep[place] else "drop",
                "group": int(verdicts.group[place]) or "",
                "representative": int(corpus.rows[verdicts.representative[place]]),
                "score": round(float(verdicts.score[place]), 4),
                "sentence": sentence,
            }
            yield own | {(f"{key}_" if key in own else str(key)): value for key, value in columns[place].items()}

    def cleaned(self) -> list[dict[str, str]]:
        """The rows to keep with all their columns, the sentence first."""
        keep = self.mined.duplicates.verdicts(self.grouping).keep
        frame = self.corpus.filterable()[keep]
        name = " + ".join(self.corpus.columns)
        records = frame[[name, *(column for column in frame.columns if column != name)]].to_dict("records")
        return [{str(key): value for key, value in record.items()} for record in records]

    def _group(self, number: int) -> list[Member]:
        corpus, (places, scores) = self.corpus, self.grouping.group(number)
        members = zip(places.tolist(), scores.tolist(), strict=True)
        return [Member(int(corpus.rows[place]), score, corpus.sentences[place]) for place, score in members]

    def _pairs(self, pairs: Pairs) -> list[SentencePair]:
        rows, texts = self.corpus.rows, self.corpus.sentences
        places = zip(pairs.rows1.tolist(), pairs.rows2.tolist(), pairs.scores.tolist(), strict=True)
        listed = ((int(rows[i]), int(rows[j]), score, texts[i], texts[j]) for i, j, score in places)
        return [SentencePair(*pair, self.mined.opinions.get(pair[:2])) for pair in listed]


@dataclass(frozen=True)
class Match:
    """A row of another file that stands in the corpus: both rows as in their files, the cosine, whether the text is the same."""

    row: int
    sentence: str
    corpus_row: int
    corpus_sentence: str
    score: float
    same: bool


@dataclass(frozen=True)
class Compared:
    """Another file beside the corpus."""

    indexed: IndexedCorpus
    other: Corpus
    overlap: Overlap
    seconds: dict[str, float]
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    def summary(self, threshold: float) -> dict[str, Any]:
        """What the shell tells: how many rows of the other file stand in the corpus, and which."""
        matches = self.matches(threshold)
        return {
            "file": self.other.name,
            "rows": len(self.other),
            "found": len(matches),
            "same_text": sum(match.same for match in matches),
            "matches": [asdict(match) for match in matches],
            "seconds": self.seconds,
        }

    def matches(self, threshold: float) -> list[Match]:
        """The rows of the other file whose closest row here reaches the threshold, closest first."""
        here, there, overlap = self.other, self.indexed.corpus, self.overlap
        return [
            Match(
                row=int(here.rows[i]),
                sentence=here.sentences[i],
                corpus_row=int(there.rows[overlap.rows[i]]),
                corpus_sentence=there.sentences[overlap.rows[i]],
                score=float(overlap.scores[i]),
                same=bool(overlap.same[i]),
            )
            for i in overlap.above(threshold).tolist()
        ]
