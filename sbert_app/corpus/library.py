"""Saved corpora: an indexed corpus in a folder, reopened without encoding again. Written beside, then renamed."""

import hashlib
import json
import logging
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sbert_app.corpus.index import VectorIndex
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.lexical import LexicalIndex
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.storage import atomic_folder
from sbert_app.tables import Skip

log = logging.getLogger(__name__)

SENTENCE, ROW, METADATA = "sentence", "row", "metadata."


@dataclass(frozen=True)
class SavedCorpus:
    """One line of the list of saved corpora."""

    id: str
    name: str
    rows: int
    model: str
    saved: str  # ISO date and time
    megabytes: float


class Library:
    """The folders under `folder`. An id is made of name and content: saving the same corpus twice keeps one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list(self) -> list[SavedCorpus]:
        """Newest first. A folder that cannot be read is not listed."""
        saved = [_describe(path) for path in self.folder.glob("[!.]*/corpus.json")]
        return sorted(filter(None, saved), key=lambda entry: entry.saved, reverse=True)

    def save(self, indexed: IndexedCorpus) -> str:
        """Write the corpus, return its id. Raises OSError where the disk is full; nothing half-written is ever listed."""
        name = corpus_id(indexed.corpus, indexed.fingerprint)
        if not (self.folder / name).is_dir():
            with atomic_folder(self.folder / name) as folder:
                _write(indexed, folder)
        return name

    def load(self, corpus_id: str) -> IndexedCorpus:
        """Open a saved corpus. Raises UserError for an id that is not in the list, and for a damaged folder."""
        corpus = _read(self._path(corpus_id))
        if corpus is None:
            raise UserError("This saved corpus is damaged. Delete it and upload the file again.")
        return corpus

    def find(self, corpus: Corpus, fingerprint: str) -> IndexedCorpus | None:
        """The saved copy of this corpus under this model, if there is one. A damaged copy makes room for a new one."""
        path = self.folder / corpus_id(corpus, fingerprint)
        if not path.is_dir():
            return None
        found = _read(path)
        if found is None:
            shutil.rmtree(path, ignore_errors=True)
        return found

    def delete(self, corpus_id: str) -> None:
        try:
            shutil.rmtree(self._path(corpus_id))
        except OSError as error:
            raise UserError(
                f"The saved corpus could not be deleted ({error.strerror}). Close what uses it and try again."
            ) from error

    def _path(self, corpus_id: str) -> Path:
        if corpus_id not in {entry.id for entry in self.list()}:
            raise UserError("This saved corpus no longer exists. Choose another, or upload the file again.")
        return self.folder / corpus_id


def corpus_id(corpus: Corpus, fingerprint: str) -> str:
    """A readable name and a digest of everything that makes this corpus what it is."""
    made_of = (fingerprint, corpus.name, corpus.columns, tuple(corpus.metadata.columns), corpus.skipped, corpus.notes)
    digest = hashlib.blake2b(repr(made_of).encode(), digest_size=6)
    digest.update(corpus.rows.tobytes())
    digest.update("\0".join(corpus.sentences).encode())
    digest.update(pd.util.hash_pandas_object(corpus.metadata).to_numpy().tobytes())
    return f"{re.sub(r'[^a-z0-9]+', '-', corpus.name.lower()).strip('-')[:40] or 'corpus'}-{digest.hexdigest()}"


def _write(indexed: IndexedCorpus, folder: Path) -> None:
    corpus = indexed.corpus
    frame = corpus.metadata.add_prefix(METADATA)
    frame.insert(0, SENTENCE, corpus.sentences)
    frame.insert(0, ROW, corpus.rows)
    frame.to_parquet(folder / "table.parquet", index=False)
    np.save(folder / "embeddings.npy", indexed.embeddings)
    indexed.index.save(folder)
    indexed.lexical.save(folder)
    about = {
        "name": corpus.name,
        "rows": len(corpus),
        "columns": corpus.columns,
        "model": indexed.model,
        "fingerprint": indexed.fingerprint,
        "saved": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "skipped": [asdict(skip) for skip in corpus.skipped],
        "notes": corpus.notes,
    }
    (folder / "corpus.json").write_text(json.dumps(about), encoding="utf-8")


def _read(folder: Path) -> IndexedCorpus | None:
    try:
        about = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
        frame = pd.read_parquet(folder / "table.parquet").astype(object)
        corpus = Corpus(
            name=about["name"],
            columns=tuple(about["columns"]),
            sentences=frame[SENTENCE].tolist(),
            metadata=frame.filter(regex=f"^{re.escape(METADATA)}").rename(columns=lambda c: c.removeprefix(METADATA)),
            rows=frame[ROW].to_numpy(dtype=np.int64),
            skipped=tuple(Skip(**skip) for skip in about["skipped"]),
            notes=tuple(about["notes"]),
        )
        embeddings = np.load(folder / "embeddings.npy", mmap_mode="r")
        index, lexical = VectorIndex.load(folder), LexicalIndex.load(folder)
    except Exception as error:  # FAISS, Arrow and bm25s each have their own errors for a torn file
        log.warning("saved corpus %s cannot be read: %s", folder.name, error)
        return None
    return IndexedCorpus(corpus, about["model"], about["fingerprint"], embeddings, index, lexical)


def _describe(about_file: Path) -> SavedCorpus | None:
    try:
        about = json.loads(about_file.read_text(encoding="utf-8"))
        size = sum(f.stat().st_size for f in about_file.parent.rglob("*") if f.is_file()) / 1e6
        return SavedCorpus(about_file.parent.name, about["name"], about["rows"], about["model"], about["saved"], size)
    except (OSError, ValueError, KeyError) as error:
        log.warning("saved corpus %s cannot be listed: %s", about_file.parent.name, error)
        return None
