"""Saved corpora: each an indexed corpus in a folder, reopened without encoding again."""

import hashlib
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from sbert_app import storage
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.passages import Passages
from sbert_app.corpus.ranking.lexical import LexicalIndex
from sbert_app.corpus.reader import Corpus
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.errors import UserError
from sbert_app.tables import Form, Skip

SENTENCE, ROW, TITLE_END, METADATA = "sentence", "row", "title_end", "metadata."
PASSAGES = "passages"  # the folder of the passages of long texts, and their number in corpus.json; not in older ones
CORPUS_ID = re.compile(r"[a-z0-9-]+-[0-9a-f]{12}")


@dataclass(frozen=True)
class SavedCorpus:
    """An entry of the list of saved corpora."""

    id: str
    name: str
    rows: int
    model: str
    saved: str  # ISO date and time
    megabytes: float
    damaged: bool = False  # can only be deleted
    text: str = ""  # which columns it is of, and whether it was mended


class Library:
    """The saved corpora under `folder`. Ids derive from name and content: saving a corpus twice keeps one copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list(self) -> list[SavedCorpus]:
        """Newest first, damaged ones last."""
        saved = [_describe(path) for path in self.folder.glob("[!.]*") if _is_corpus(path)]
        return sorted(saved, key=lambda entry: entry.saved, reverse=True)

    def save(self, indexed: IndexedCorpus) -> str:
        """Save a corpus atomically and return its id. Raises OSError if the disk is full."""
        name = corpus_id(indexed.corpus, indexed.fingerprint)
        path = self.folder / name
        if not path.exists() or (indexed.passages and not (path / PASSAGES).exists()):  # saved by an earlier version
            try:
                with storage.atomic_folder(path) as folder:
                    _write(indexed, folder)
                    if os.path.lexists(path):
                        storage.discard(path)
            except Exception as error:  # FAISS raises RuntimeError for a full disk
                raise storage.write_failure(error) or error from error
        return name

    def load(self, corpus_id: str) -> IndexedCorpus:
        """Load a saved corpus. Raises UserError if the id is not in the list or the folder is damaged."""
        return _read(self._path(corpus_id))

    def find(self, corpus: Corpus, fingerprint: str) -> IndexedCorpus | None:
        """Return this corpus with its saved index under this model, None without one or its passages. Deletes a damaged copy."""
        path = self.folder / corpus_id(corpus, fingerprint)
        try:
            indexed = _read(path) if os.path.lexists(path) else None
            return None if indexed is None or indexed.lacks_passages else replace(indexed, corpus=corpus)
        except storage.DamagedError:
            with suppress(OSError):
                storage.discard(path)
        except storage.UnreadableError:
            pass  # it may be intact: index again, but keep it
        return None

    def delete(self, corpus_id: str) -> None:
        """Delete a saved corpus, damaged or not. Raises UserError if the id is not in the list."""
        with storage.writing("The folder of saved corpora"):
            storage.discard(self._path(corpus_id))

    def _path(self, corpus_id: str) -> Path:
        path = self.folder / corpus_id
        if path.parent != self.folder or corpus_id.startswith(".") or not _is_corpus(path):
            raise UserError("This saved corpus no longer exists. Choose another, or upload the file again.")
        return path


def corpus_id(corpus: Corpus, fingerprint: str) -> str:
    """A readable name and a digest of everything that defines this corpus."""
    identity = (fingerprint, corpus.name, corpus.columns, tuple(corpus.metadata.columns), corpus.skipped, corpus.notes)
    digest = hashlib.blake2b(repr(identity).encode(), digest_size=6)
    digest.update(corpus.rows.tobytes())
    digest.update("\0".join(corpus.sentences).encode())
    digest.update(pd.util.hash_pandas_object(corpus.metadata).to_numpy().tobytes())
    return f"{re.sub(r'[^a-z0-9]+', '-', corpus.name.lower()).strip('-')[:40] or 'corpus'}-{digest.hexdigest()}"


def _write(indexed: IndexedCorpus, folder: Path) -> None:
    corpus = indexed.corpus
    frame = corpus.metadata.add_prefix(METADATA)
    frame.insert(0, SENTENCE, corpus.sentences)
    frame.insert(0, ROW, corpus.rows)
    if corpus.title_ends is not None:
        frame.insert(0, TITLE_END, corpus.title_ends)
    frame.to_parquet(folder / "table.parquet", index=False)
    np.save(folder / "embeddings.npy", indexed.embeddings)
    indexed.index.save(folder)
    indexed.lexical.save(folder)
    if indexed.passages:
        indexed.passages.save(folder / PASSAGES)
    manifest = {
        "name": corpus.name,
        "rows": len(corpus),
        "columns": corpus.columns,
        "place": corpus.place,
        "form": corpus.form,
        "mends": corpus.mends,
        "model": indexed.model,
        "fingerprint": indexed.fingerprint,
        "truncated": indexed.truncated,
        PASSAGES: len(indexed.passages or ()),
        "saved": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "skipped": [asdict(skip) for skip in corpus.skipped],
        "notes": corpus.notes,
        "files": storage.checksums(folder),
    }
    storage.write_object(folder / "corpus.json", manifest)


def _read(folder: Path) -> IndexedCorpus:
    """Load what `_write` wrote. Raises DamagedError, before a library parses the files, if their bytes have changed."""
    with storage.reading("This saved corpus", "Delete it and upload the file again."):
        manifest = storage.read_object(folder / "corpus.json")
        storage.check(folder, manifest.get("files", {}))
        frame = pd.read_parquet(folder / "table.parquet").astype(object)
        corpus = Corpus(
            name=manifest["name"],
            columns=tuple(manifest["columns"]),
            sentences=frame[SENTENCE].tolist(),
            metadata=frame.filter(regex=f"^{re.escape(METADATA)}").rename(columns=lambda c: c.removeprefix(METADATA)),
            rows=frame[ROW].to_numpy(dtype=np.int64),
            title_ends=frame[TITLE_END].to_numpy(dtype=np.int64) if TITLE_END in frame else None,
            skipped=tuple(Skip(**skip) for skip in manifest["skipped"]),
            notes=tuple(manifest["notes"]),
            mends=tuple(manifest.get("mends", ())),  # earlier versions wrote none
            place=int(manifest.get("place", 0)),
            form=Form(*manifest.get("form", ())),
        )
        embeddings = np.load(folder / "embeddings.npy", mmap_mode="r")
        index, lexical = VectorIndex.load(folder, embeddings), LexicalIndex.load(folder)
        if not len(corpus) == len(embeddings) == index.report.rows:
            raise ValueError("its files differ in their number of rows")
        passages = Passages.load(folder / PASSAGES) if manifest.get(PASSAGES) else None
        if passages and (len(passages) != manifest[PASSAGES] or passages.rows.max() >= len(corpus)):
            raise ValueError("its passages are of other rows")
        model, fingerprint, truncated = manifest["model"], manifest["fingerprint"], int(manifest.get("truncated", 0))
        return IndexedCorpus(corpus, model, fingerprint, embeddings, index, lexical, truncated, folder.name, passages)


def _is_corpus(folder: Path) -> bool:
    return os.path.lexists(folder / "corpus.json") or bool(CORPUS_ID.fullmatch(folder.name) and os.path.lexists(folder))


def _describe(folder: Path) -> SavedCorpus:
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6
    try:
        with storage.reading(f"The saved corpus '{folder.name}'", "Delete it."):
            manifest = storage.read_object(folder / "corpus.json")
            name, rows, model, saved = (manifest[key] for key in ("name", "rows", "model", "saved"))
            if not all(isinstance(text, str) for text in (name, model, saved)) or not isinstance(rows, int):
                raise TypeError("corpus.json holds values of another type")
            text = " + ".join(manifest["columns"]) + (", mended" if manifest.get("mends") else "")
            return SavedCorpus(folder.name, name, rows, model, saved, size, text=text)
    except storage.UnreadableError:
        return SavedCorpus(folder.name, folder.name, 0, "", "", size, damaged=True)
