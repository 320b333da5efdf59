"""Find which rows of another file already occur in the session's corpus."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.mending import CELLS, mended
from sbert_app.corpus.mining import FLOOR
from sbert_app.corpus.reader import Corpus, read_corpus
from sbert_app.corpus.text_column import guess_column
from sbert_app.jobs import validation
from sbert_app.runtime import Session, Stop, Workbench, place_in_line
from sbert_app.step import Result, Step
from sbert_app.tables import Table
from sbert_app.vectors import Integers, Mask, Vectors, unit_rows

OVERLAP = "overlap"  # job name
QUERIES = 1_024  # rows per search of the index


@dataclass(frozen=True)
class Match:
    """A row of another file that occurs in the corpus: both rows as in their files, the cosine, whether the text is the same."""

    row: int
    sentence: str
    corpus_row: int
    corpus_sentence: str
    score: float
    same: bool


@dataclass(frozen=True)
class FileOverlap:
    """The overlap of another file, of m rows, with the corpus."""

    indexed: IndexedCorpus
    other: Corpus
    closest: Integers  # (m,), the closest row in the corpus
    scores: Vectors  # (m,), its cosine
    same: Mask  # (m,), whether both have the same text
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    def summary(self, threshold: float) -> dict[str, Any]:
        """JSON for the shell: how many rows of the other file occur in the corpus, and which."""
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
        """The rows of the other file whose closest corpus row reaches the threshold, closest first."""
        other, corpus = self.other, self.indexed.corpus
        inside = np.flatnonzero(self.same | (self.scores >= np.float32(threshold)))
        inside = inside[np.lexsort((inside, -self.scores[inside], ~self.same[inside]))]  # on a tie the same text first
        columns = (values[inside].tolist() for values in (self.closest, self.scores, self.same))
        return [
            Match(int(other.rows[i]), other.sentences[i], int(corpus.rows[row]), corpus.sentences[row], score, same)
            for i, row, score, same in zip(inside.tolist(), *columns, strict=True)
        ]


def find_overlap(indexed: IndexedCorpus, other: Corpus, vectors: Vectors) -> Iterator[Step[FileOverlap]]:
    """Look up the m sentences of another file, unit rows (m, dim), in the corpus; the same text scores 1."""
    first = {sentence: row for row, sentence in reversed(list(enumerate(indexed.corpus.sentences)))}
    same = np.array([first.get(sentence, -1) for sentence in other.sentences])
    total = len(vectors)
    rows = np.zeros(total, dtype=np.int64)
    for start in range(0, total, QUERIES):
        block = slice(start, start + QUERIES)
        rows[block] = np.maximum(indexed.index.search(vectors[block], 1)[1][:, 0], 0)
        yield Step("Comparing", min(start + QUERIES, total), total)
    rows = np.where(same >= 0, same, rows)
    scores = np.minimum(np.einsum("ij,ij->i", indexed.embeddings[rows], vectors), np.float32(1))
    scores[same >= 0] = 1
    yield Step("Compared", total, total, result=FileOverlap(indexed, other, rows, scores, same >= 0))


def compare_file(bench: Workbench, session: Session, table: Table) -> Iterator[Step[FileOverlap]]:
    """Embed another file's sentences, in the corpus's columns, else guessed ones, and look them up. Ends as `kept`."""
    indexed = session.whole_corpus()
    refuse_collection(session.get(OpenCollection), "A comparison with another file")
    columns = list(indexed.corpus.columns)
    if not set(columns) <= set(table.frame.columns):
        columns = [guess_column(table.frame)]
    table = mended(table, columns, CELLS.keys() & {*indexed.corpus.mends})  # no row of it is left out
    yield from in_line(bench, session, OVERLAP, _compared(bench, indexed, read_corpus(table, columns, bench.settings.limits)))


def in_line(bench: Workbench, session: Session, job: str, work: Iterator[Step[Result]]) -> Iterator[Step[Result]]:
    """Wait in the queue and work, as `kept`."""
    stop = session.begin(job)
    with bench.lines.corpora.join(stop) as waiting:
        yield from (Step(place_in_line(before, "job")) for before in waiting)
        yield from kept(session, stop, work)


def kept(session: Session, stop: Stop, work: Iterator[Step[Result]]) -> Iterator[Step[Result]]:
    """Work; the result stays in the session. A run that is stopped ends with a step that is `stopped`."""
    for step in work:
        stored = step.result is not None and session.put(step.result, stop)
        if stop.is_set() and not stored:
            yield replace(step, stage="Stopped", stopped=True, result=None)
            return
        yield step


def _compared(bench: Workbench, indexed: IndexedCorpus, other: Corpus) -> Iterator[Step[FileOverlap]]:
    total = len(other)
    yield Step("Loading the model", 0, total)
    encoder = bench.registry.encoder_of(indexed.model, indexed.fingerprint)
    start = time.perf_counter()
    job = bench.embedder.job(encoder, other.sentences)
    with closing(job.run()) as batches:
        for done in batches:
            yield Step("Encoding", done, total)
    encoded = time.perf_counter()
    for step in bench.device.each(find_overlap(indexed, other, unit_rows(job.embeddings))):
        seconds = {"encode": encoded - start, "compare": time.perf_counter() - encoded}
        yield replace(step, result=step.result and replace(step.result, seconds=seconds))


def matches_of(session: Session, threshold: float) -> tuple[FileOverlap, list[Match]]:
    """The last comparison and its matches at a threshold. Raises UserError if nothing was compared yet."""
    threshold = validation.number(threshold, "threshold", FLOOR, 1)
    compared = session.require(FileOverlap, "There is no other file to compare with yet. Upload one.")
    return compared, compared.matches(threshold)
