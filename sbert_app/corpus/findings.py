"""Mined duplicates at one threshold, as sentences and row numbers of the file, for the screen, the shell or a file."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sbert_app.corpus.duplicates import COPIES, SIMILAR, UNMARKED, Duplicates, Group, Joined, Member, Pairs, SentencePair, Verdicts
from sbert_app.corpus.filters import label_columns
from sbert_app.corpus.groups import Grouping
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.tables.table import BYTE_ORDER_MARK, skipped_summary, to_csv

LABEL_AGREEMENT = 2 / 3  # the share of the groups within which a label is the same, at least


@dataclass(frozen=True)
class Mined:
    """A corpus and its mined duplicates."""

    indexed: IndexedCorpus
    duplicates: Duplicates
    seconds: dict[str, float]  # by stage
    cross_scores: dict[tuple[int | str, int | str], float] = field(default_factory=dict)  # so far, by both rows of the file
    joined: Joined | None = None  # of a collection: how its rows were compared
    cautions: tuple[str, ...] = ()  # what to mind in the scores
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    @property
    def early(self) -> bool:
        """Whether it was mined before the model had read all rows: only copies, and texts of the same words."""
        return self.indexed.growing is not None


@dataclass(frozen=True)
class Findings:
    """One grouping of a corpus. The first member of each group is its centre: all others reach the threshold to it."""

    mined: Mined
    threshold: float
    grouping: Grouping
    seconds: dict[str, float]
    remove: str = SIMILAR  # which rows go, one of REMOVALS
    always: frozenset[int] = frozenset()  # rows that stay in any case

    @property
    def corpus(self) -> Corpus:
        return self.mined.indexed.corpus

    @property
    def copies(self) -> int:
        """The number of rows that repeat the text of an earlier row, at any threshold."""
        return len(self.mined.duplicates.copies.repeated)

    @cached_property
    def differing(self) -> tuple[int, list[str]]:
        """How many of the copies differ from the first row with their text in other columns, and in which."""
        copies, metadata = self.mined.duplicates.copies, self.corpus.metadata
        rows = copies.repeated
        differs = metadata.iloc[rows].to_numpy() != metadata.iloc[copies.first[copies.node[rows]]].to_numpy()
        return int(differs.any(1).sum()), metadata.columns[differs.any(0)].tolist()

    @property
    def similar(self) -> int:
        """The number of further rows that could go: similar to the centre of their group, and the first with their text."""
        return self.grouping.redundant - self.copies

    @cached_property
    def decided(self) -> Verdicts:
        """What the screen and all exported files agree on."""
        return self.mined.duplicates.verdicts(self.grouping, self.remove, self.always, self.corpus.sentences)

    @cached_property
    def marked(self) -> dict[int, str]:
        """Of rows that go, what their score does not tell, such as another number."""
        return {} if self.remove == UNMARKED else self.decided.unlike(self.corpus.sentences)

    @property
    def staying(self) -> int:
        return int(self.decided.keep.sum())

    @cached_property
    def recall(self) -> float | None:
        """The share of the pairs above the threshold that was found, 1 if mining was exact; None if unknown."""
        return self.mined.duplicates.pairs.recall(self.threshold)

    @property
    def spared(self) -> int:
        """The number of rows that stay only because the visitor keeps their groups, or because they are marked."""
        return (self.copies if self.remove == COPIES else self.grouping.redundant) - (len(self.corpus) - self.staying)

    @property
    def pair_count(self) -> int:
        """The number of pairs that reach the threshold, exact copies included."""
        return self.copies + self.mined.duplicates.pairs.above(self.threshold)

    def groups(self, most: int | None = None) -> list[Group]:
        """The groups, largest first, at most `most`."""
        groups = []
        for number in range(len(self.grouping))[:most]:
            rows, scores = (values.tolist() for values in self.grouping.group(number))
            metadata = self.corpus.metadata.iloc[rows]
            differing = _records(metadata.loc[:, metadata.nunique() > 1])  # the values in the columns in which the rows differ
            groups.append(Group(list(map(self._member, rows, scores, differing)), self.always.issuperset(rows)))
        return groups

    def pairs(self, most: int | None = None) -> list[SentencePair]:
        """The pairs that reach the threshold, best first, at most `most`."""
        return self._pairs(self.mined.duplicates.best_pairs(self.threshold, most))

    def borderline(self, most: int) -> list[SentencePair]:
        """The `most` pairs nearest to the threshold, above and below, nearest first."""
        return self._pairs(self.mined.duplicates.borderline(self.threshold, most))

    def summary(self, top: int) -> dict[str, Any]:
        """JSON for the shell and the API: the best `top` pairs, and every group by its row numbers."""
        pairs = self.mined.duplicates.pairs
        groups = [[self._labels[row] for row in self.grouping.group(number)[0]] for number in range(len(self.grouping))]
        return {
            "rows": len(self.corpus),
            "redundant": self.grouping.redundant,
            "groups_of_different_labels": self.mixed(),
            "exact_copies": self.copies,
            "differing_copies": self.differing[0],
            "differing_columns": self.differing[1],
            "pairs": [{k: v for k, v in asdict(p).items() if k != "cross_score"} | {"caution": p.caution} for p in self.pairs(top)],
            "groups": [{"representative": rows[0], "rows": rows, "size": len(rows)} for rows in groups],
            "threshold": self.threshold,
            "floor": pairs.floor,
            "exact": pairs.exact,
            "recall": self.recall,
            "seconds": self.seconds,
            "cautions": list(self.mined.cautions),
            **({"collection": asdict(self.mined.joined)} if self.mined.joined else {}),
        }

    def mixed(self) -> dict[str, int]:
        """Per label column, the number of groups whose rows have different labels: wrong labels, or no duplicates."""
        starts, rows = self.grouping.starts[:-1], self.grouping.rows
        mixed = {}
        for column, values in label_columns(self.corpus.metadata).items() if len(starts) else ():
            codes = pd.factorize(values)[0][rows]
            groups = int((np.maximum.reduceat(codes, starts) != np.minimum.reduceat(codes, starts)).sum())
            if groups < (1 - LABEL_AGREEMENT) * len(starts):  # a date or an id is no label: it differs in nearly all groups
                mixed[column] = groups
        return mixed

    def verdicts(self) -> Iterator[dict[str, Any]]:
        """A record per row: keep or drop, group, representative row and cosine to it, sentence, caution, the corpus's columns.

        caution: what the score of a row that goes does not tell, such as another number; of a copy, in which columns it differs.
        """
        verdicts, labels, texts = self.decided, self._labels, self.corpus.sentences
        differs = (cells := self.corpus.metadata.to_numpy()) != cells[verdicts.representative]

        def caution(i: int) -> str:
            if verdicts.keep[i] or texts[i] != texts[verdicts.representative[i]]:
                return self.marked.get(i, "")
            return ", ".join(f"other {name}" for name in self.corpus.metadata.columns[differs[i]])

        return self.corpus.with_metadata(
            {
                "row": labels[i],
                "verdict": "keep" if verdicts.keep[i] else "drop",
                "group": int(verdicts.group[i]) or "",
                "representative": labels[verdicts.representative[i]],
                "score": round(float(verdicts.score[i]), 4),
                "sentence": sentence,
                "caution": caution(i),
            }
            for i, sentence in enumerate(texts)
        )

    def cleaned(self) -> list[dict[str, str]]:
        """The rows to keep with all their columns, in the order of the file."""
        return _records(self.corpus.as_in_file()[self.decided.keep])

    def cleaned_file(self) -> str:
        """`cleaned` as csv in the form of the file that was read."""
        return BYTE_ORDER_MARK * self.corpus.form.marked + to_csv(self.cleaned(), self.corpus.form.delimiter)

    @property
    def unread(self) -> str:
        """Which rows of the file were skipped when it was read and so are in no file made of the corpus, "" for none."""
        return "".join(f" {line}." for line in skipped_summary(self.corpus.skipped))

    def rows_of_group(self, centre: int) -> list[int]:
        """The rows, counted from 0, of the group with this centre, numbered as in the file; empty if there is none."""
        numbers = np.flatnonzero(self.corpus.rows[self.grouping.centres] == centre).tolist()
        return self.grouping.group(numbers[0])[0].tolist() if numbers else []

    @cached_property
    def _labels(self) -> list[int | str]:
        """Each row as tables write it: its number, or its name."""
        return [self.corpus.row_label(row) for row in self.corpus.rows.tolist()]

    def _member(self, i: int, score: float, values: Mapping[str, str]) -> Member:
        corpus, copies = self.corpus, self.mined.duplicates.copies
        first = int(copies.first[copies.node[i]])
        row, original = int(corpus.rows[i]), int(corpus.rows[first])
        copy_of, keep = None if first == i else original, bool(self.decided.keep[i])
        return Member(row, score, corpus.sentences[i], keep, copy_of, corpus.row_label(row), corpus.row_label(original), values)

    def _pairs(self, pairs: Pairs) -> list[SentencePair]:
        rows, texts, cross = self._labels, self.corpus.sentences, self.mined.cross_scores
        scored = zip(pairs.rows1.tolist(), pairs.rows2.tolist(), pairs.scores.tolist(), strict=True)
        return [SentencePair(rows[i], rows[j], s, texts[i], texts[j], cross.get((rows[i], rows[j]))) for i, j, s in scored]


def _records(frame: pd.DataFrame) -> list[dict[str, str]]:
    return [{str(key): value for key, value in record.items()} for record in frame.to_dict("records")]
