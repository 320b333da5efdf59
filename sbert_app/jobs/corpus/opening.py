"""Open a corpus in a session: an example, a saved one, one not read yet; and what another model would make of the open one."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.growing import Growing, StaticVectors
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import SavedCorpus
from sbert_app.corpus.ranking.lexical import LexicalIndex
from sbert_app.corpus.reader import Corpus
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.models.files.finding import DEFAULT_ENCODER, bundled_folder
from sbert_app.runtime import Session, Stop, Workbench
from sbert_app.runtime.device import Device, EmbeddingJob
from sbert_app.settings import Limits
from sbert_app.step import Step
from sbert_app.tables import Table, table_from_lines
from sbert_app.vectors import Vectors

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

NAME_LENGTH = 32
WORDS = "Reading the words"  # a stage
ENOUGH = 0.8  # of the weight of a corpus's words: where so much is known, the first answers find as much (docs/search.md)
TIMED_SENTENCES = 64  # encoded to estimate how long a whole corpus takes


def read_lines(text: str, limits: Limits) -> Table:
    """Read pasted lines as one sentence each; the corpus is named after the first line."""
    text = validation.text(text, "text with the lines")
    if not (first := text.strip().split("\n")[0]):
        raise UserError("There are no lines yet. Type or paste one sentence per line.")
    if len(text.encode()) > limits.file_bytes:
        raise UserError("The pasted text is too large. Save it as a .txt file and upload that.")
    return table_from_lines(text, limits, f"pasted: {first if len(first) <= NAME_LENGTH else f'{first[:NAME_LENGTH]}…'}")


def open_example(bench: Workbench, session: Session, name: str, model: str = DEFAULT_ENCODER) -> IndexedCorpus:
    """Open a bundled corpus, which needs no indexing."""
    return _open(session, bench.examples.indexed(name, bench.registry.encoder(model)))


def open_unread(
    bench: Workbench, session: Session, corpus: Corpus, encoder: "Encoder", encoding: EmbeddingJob, truncated: int, stop: Stop
) -> Iterator[Step[IndexedCorpus]]:
    """Open a corpus that the model has not read, unless it is stopped: each query lets it read the rows that matter to it.

    encoding: of all rows, first those of the corpus; what it has done counts as read. truncated: how many rows are longer than
    the model reads. The words are read before or, where most are known, behind.
    """
    lexical = LexicalIndex.build(corpus.sentences)
    static = StaticVectors(lexical, shipped=encoder.folder == bundled_folder())
    rows, has = encoding.embeddings[: len(corpus)], encoding.done[: len(corpus)]
    growing = Growing(corpus.sentences, lexical, static, partial(_read, bench.device, encoder), rows, has)
    index = VectorIndex.build(growing.embeddings[:0])
    opened = IndexedCorpus(
        corpus, encoder.name, encoder.fingerprint, growing.embeddings, index, lexical, truncated, growing=growing
    )
    if at_once := static.share >= ENOUGH:
        static.place()
        session.open(opened, stop)
    words = bench.embedder.job(encoder, static.words)
    with closing(words.run(behind=at_once)) as batches:
        for done in batches:
            if stop.is_set():
                return
            yield Step(WORDS, 0, len(corpus), unit="sentences") if at_once else Step(WORDS, done, len(static.words), unit="words")
    if static.words or not at_once:
        static.place(words.embeddings)
    if not at_once:
        session.open(opened, stop)


def _read(device: Device, encoder: "Encoder", texts: list[str]) -> tuple[Vectors, list[Vectors]]:
    """The embeddings of texts, (k, dim), and each one's own token vectors, as a short request."""
    from sbert_app.models.tokens import with_token_vectors  # imports torch

    with device.hold(short=True):
        return with_token_vectors(encoder, texts, encoder.document_prompt)


def saved_corpora(bench: Workbench) -> list[SavedCorpus]:
    """The saved corpora. A hosted app keeps nothing on disk."""
    return [] if bench.settings.hosted else bench.library.list()


def open_saved(bench: Workbench, session: Session, corpus_id: str) -> IndexedCorpus:
    """Open a saved corpus without encoding anything."""
    return _open(session, bench.library.load(_checked_id(bench, corpus_id)))


def delete_saved(bench: Workbench, corpus_id: str) -> None:
    bench.library.delete(_checked_id(bench, corpus_id))


def open_key(bench: Workbench, session: Session, key: str, model: str = DEFAULT_ENCODER) -> IndexedCorpus | None:
    """Open what an address of this app names: an example or, not hosted, a saved corpus by id or by its file's name; else None."""
    try:
        if key in bench.examples.names():
            return open_example(bench, session, key, model)
        named = (entry.id for entry in saved_corpora(bench) if entry.name == key and not entry.damaged)  # newest first
        return open_saved(bench, session, next(named, key))
    except UserError:
        return None


def _open(session: Session, corpus: IndexedCorpus) -> IndexedCorpus:
    """Make this the session's corpus and remove the table that waits for indexing."""
    session.open(corpus, without=Table)
    return corpus


def _checked_id(bench: Workbench, corpus_id: str) -> str:
    if bench.settings.hosted:
        raise UserError("A hosted app saves no corpora. Upload the file again.")
    if not corpus_id:
        raise UserError("Choose a saved corpus first.")
    return corpus_id


@dataclass(frozen=True)
class OtherIndex:
    """An open corpus and both models. seconds: of indexing it, extrapolated from a sample; None: a collection keeps its model."""

    model: str
    other_model: str
    seconds: float | None


def other_index(bench: Workbench, session: Session, model: str) -> OtherIndex | None:
    """What indexing the open corpus again with this model means; None if its index is of this model, or there is no corpus."""
    indexed = session.get(IndexedCorpus)
    if indexed is None or (encoder := bench.registry.encoder(model)).fingerprint == indexed.fingerprint:
        return None
    if session.get(OpenCollection):
        return OtherIndex(indexed.model, encoder.name, None)
    sentences = indexed.corpus.sentences
    sample = sentences[:: -(-len(sentences) // TIMED_SENTENCES)]
    with bench.device.hold(short=True):
        start = time.perf_counter()  # without waiting for others
        encoder.encode(sample)
        seconds = (time.perf_counter() - start) / len(sample) * (len(sentences) + len(indexed.passages or ()))
    return OtherIndex(indexed.model, encoder.name, seconds)
