"""Answers to "do these two mean the same?": one by one in a log on disk, as csv, and as a table to train on."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sbert_app.errors import UserError
from sbert_app.storage import seal, unseal, writing
from sbert_app.tables import Table

LEARN, MEASURE, AGAIN = "to learn from", "to measure by", "asked again"  # why a pair was asked
YES, NO, UNSURE = "yes", "no", "cannot say"
GRADES = tuple(map(str, range(6)))
LABELS = (YES, NO, UNSURE, *GRADES)
SAME_FROM = 3  # of GRADES: from here on a pair counts as the same
FIELDS = ("sentence1", "sentence2", "label", "row1", "row2", "time", "seconds", "why", "probability")


@dataclass(frozen=True)
class Answer:
    """What a person said of a pair."""

    sentence1: str
    sentence2: str
    label: str
    row1: int  # as numbered in the file, 0 if it is not in there
    row2: int
    time: str  # when, ISO 8601
    seconds: float  # it took
    why: str  # as of the Question
    probability: float = 0.0  # as of the Question
    place: int = -1  # of the pair among the candidates, -1 if it is not one of them

    @property
    def same(self) -> bool | None:
        """Whether the pair means the same; None if the person could not say."""
        if self.label == UNSURE:
            return None
        return int(self.label) >= SAME_FROM if self.label in GRADES else self.label == YES

    @property
    def texts(self) -> frozenset[str]:
        return frozenset((self.sentence1, self.sentence2))


class Log:
    """Answers on disk, one line each: a process that is killed loses none that was said to be saved. No path: keeps none."""

    def __init__(self, path: Path | None = None) -> None:
        self._path, self.keeps = path, path is not None
        self._size = 0  # bytes that were read or written here

    @classmethod
    def of(cls, folder: Path, sentences: Sequence[str]) -> "Log":
        """The log of a corpus, by its texts."""
        digest = hashlib.blake2b("\0".join(sentences).encode(errors="surrogatepass"), digest_size=12).hexdigest()
        return cls(folder / f"{digest}.jsonl")

    def read(self) -> list[Answer]:
        """All answers that were not taken back, without their places. A line that was cut off by a crash is skipped."""
        answers: list[Answer] = []
        written = self._path.read_bytes() if self._path and self._path.is_file() else b""
        self._size = len(written)
        for line in written.splitlines():
            with suppress(ValueError, KeyError, TypeError, IndexError):
                content = unseal(line)
                if (number := content.get("change")) is not None:
                    answers[number] = replace(answers[number], label=content["label"])
                else:
                    answers = answers[:-1] if content.get("undo") else [*answers, Answer(**content["answer"])]
        return answers

    def earlier(self, texts: set[str]) -> list[Answer]:
        """The answers on these texts in the newest other log of mostly such ones: it is of another state of the file."""
        logs = self._path.parent.glob("*.jsonl") if self._path else ()
        for path in sorted(logs, key=lambda path: path.stat().st_mtime, reverse=True):
            answers = Log(path).read()
            here = [answer for answer in answers if answer.texts <= texts]
            if here and 2 * len(here) >= len(answers):
                return here
        return []

    @property
    def has_others(self) -> bool:
        """Whether another window or command has written to it since."""
        return self._path is not None and self._path.is_file() and self._path.stat().st_size != self._size

    def add(self, answers: Iterable[Answer], changed: Mapping[int, str] | None = None) -> None:
        """Further answers. changed: another label for the answer with this number, counted from 0."""
        changes = [{"change": number, "label": label} for number, label in (changed or {}).items()]
        given = [{"answer": {name: value for name, value in asdict(each).items() if name != "place"}} for each in answers]
        self._append([*changes, *given])

    def undo(self) -> None:
        """Take the last answer back."""
        self._append([{"undo": True}])

    def _append(self, contents: Sequence[Mapping[str, Any]]) -> None:
        if self._path is None:
            return
        with writing("The answer"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                for content in contents:  # each on a line of its own, whatever a crash left before it
                    self._size += file.write(f"\n{seal(content)}\n".encode())
                file.flush()
                os.fsync(file.fileno())


def one_each(answers: Iterable[Answer]) -> list[Answer]:
    """Of each pair, in either order, the answer that was given first; none where a person could not say."""
    first: dict[frozenset[str], Answer] = {}
    for answer in answers:
        if answer.same is not None:
            first.setdefault(answer.texts, answer)
    return list(first.values())


def as_table(name: str, answers: Sequence[Answer], why: Sequence[str]) -> Table:
    """The labels asked for one of these reasons: sentence1, sentence2 and label; or score, where one of all answers is a grade.

    Then yes counts as 5 and no as 0. Few grades under another name would be read as labels.
    """
    graded = any(answer.label in GRADES for answer in answers)
    scores = {YES: GRADES[-1], NO: GRADES[0]} if graded else {}
    chosen = [answer for answer in one_each(answers) if answer.why in why]
    lines = [[answer.sentence1, answer.sentence2, scores.get(answer.label, answer.label)] for answer in chosen]
    frame = pd.DataFrame(lines, columns=[*FIELDS[:2], "score" if graded else FIELDS[2]], dtype=str)
    return Table(name, frame, np.arange(1, len(frame) + 1))


def read_answers(table: Table) -> list[Answer]:
    """The answers of a file as it was downloaded, without rows that have no label. Raises UserError for other columns or labels."""
    if missing := [name for name in FIELDS[:3] if name not in table.frame.columns]:
        raise UserError(f"'{table.name}' is no file of labels: it has no column '{missing[0]}'. It needs {', '.join(FIELDS[:3])}.")
    if set(table.frame["label"].str.strip()) - {""} == {"0", "1"}:
        raise UserError(f"'{table.name}' has only the labels 0 and 1. Write {YES} and {NO}: numbers are grades from 0 to 5.")
    answers = []
    for line in table.frame.to_dict("records"):
        if not (label := line["label"].strip().lower()):
            continue
        if label not in LABELS:
            raise UserError(f"'{table.name}' has the label '{label}'. Labels are: {', '.join(LABELS)}.")
        why = line.get("why", "") if line.get("why") in (LEARN, MEASURE, AGAIN) else LEARN
        seconds, probability = (_number(line.get(name, "")) for name in ("seconds", "probability"))
        texts = line["sentence1"], line["sentence2"]
        answers.append(Answer(*texts, label, 0, 0, line.get("time", ""), seconds, why, min(probability, 1.0)))
    return answers


def _number(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0
