"""The embedding cache and the library: nothing lost, nothing half-written, bounded."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import Library
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.tables import Skip
from sbert_app.vectors import unit_rows

VECTORS = unit_rows(np.random.default_rng(0).normal(size=(6, 8)))
SENTENCES = ["one", "two", "three", "vier", "fünf", "😀"]


def test_cache_gives_back_what_it_was_given_by_model_and_text(tmp_path):
    cache = EmbeddingCache(tmp_path)
    cache.add("m", SENTENCES[:3], VECTORS[:3])
    cache.add("m", SENTENCES[3:5], VECTORS[3:5])
    found, known = EmbeddingCache(tmp_path).lookup("m", ["fünf", "new", "two", "two"], 8)
    assert known.tolist() == [True, False, True, True]
    assert (found[known] == VECTORS[[4, 1, 1]]).all()
    assert not cache.lookup("other model", SENTENCES, 8)[1].any()


def test_cache_drops_the_oldest_beyond_its_bound(tmp_path):
    cache = EmbeddingCache(tmp_path, limit_bytes=1_000)
    for sentence, vector in zip(SENTENCES, VECTORS, strict=True):
        cache.add("m", [sentence], vector[None])
    assert sum(f.stat().st_size for f in tmp_path.rglob("*.npy")) <= 1_000
    assert cache.lookup("m", SENTENCES, 8)[1].tolist()[-1]


def test_cache_survives_damage_and_a_full_disk(tmp_path, monkeypatch):
    cache = EmbeddingCache(tmp_path)
    cache.add("m", SENTENCES[:3], VECTORS[:3])
    next(tmp_path.rglob("vectors.npy")).write_bytes(b"torn")
    assert not cache.lookup("m", SENTENCES, 8)[1].any()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    cache.add("m", SENTENCES[3:], VECTORS[3:])
    assert not list(tmp_path.rglob(".*"))


@pytest.fixture
def indexed():
    metadata = pd.DataFrame({"team": ["A", "", "B", "A", "A", "B"], "row": list("abcdef")})
    corpus = Corpus("My file.csv", ("text",), SENTENCES, metadata, np.arange(1, 7) * 2, (Skip(1, "blank"),), ("a note",))
    return IndexedCorpus.build(corpus, "model", "print", VECTORS)


def test_library_reopens_what_it_saved(indexed, tmp_path):
    library = Library(tmp_path)
    saved = library.save(indexed)
    assert library.save(indexed) == saved and len(library.list()) == 1
    again = Library(tmp_path).load(saved)
    assert again.corpus.sentences == SENTENCES and again.corpus.rows.tolist() == indexed.corpus.rows.tolist()
    pd.testing.assert_frame_equal(again.corpus.metadata, indexed.corpus.metadata, check_dtype=False)
    assert (again.corpus.skipped, again.corpus.notes) == (indexed.corpus.skipped, indexed.corpus.notes)
    query = VECTORS[3]
    first, second = (c.rank(query, "vier", 3, {"team": ["A"]}, hybrid=True) for c in (indexed, again))
    assert first.rows.tolist() == second.rows.tolist() and np.allclose(first.scores, second.scores)
    assert library.find(indexed.corpus, "print") and not library.find(indexed.corpus, "another model")


def test_equal_sentences_under_other_columns_or_rows_are_another_corpus(indexed, tmp_path):
    library = Library(tmp_path)
    library.save(indexed)
    corpus = indexed.corpus
    for other in (
        replace(corpus, metadata=corpus.metadata.rename(columns={"team": "group"})),
        replace(corpus, rows=corpus.rows + 1),
        replace(corpus, name="my-file.csv"),
        replace(corpus, skipped=()),
    ):
        assert library.find(other, "print") is None
    assert library.find(corpus, "print") is not None


def test_a_crash_in_the_middle_of_a_save_lists_nothing(indexed, tmp_path, monkeypatch):
    monkeypatch.setattr(np, "save", lambda *args: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        Library(tmp_path).save(indexed)
    assert Library(tmp_path).list() == [] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", ["corpus.json", "index.faiss", "embeddings.npy", "table.parquet"])
def test_a_damaged_folder_is_told_and_replaced(indexed, tmp_path, file):
    library = Library(tmp_path)
    saved = library.save(indexed)
    (tmp_path / saved / file).write_bytes(b"torn")
    assert [entry.damaged for entry in library.list()] == [file == "corpus.json"]
    with pytest.raises(UserError, match="damaged. Delete it and upload the file again"):
        library.load(saved)
    assert library.find(indexed.corpus, "print") is None
    library.save(indexed)
    assert library.find(indexed.corpus, "print") is not None


def test_what_a_killed_process_left_is_swept_later(indexed, tmp_path):
    old, young = tmp_path / ".old", tmp_path / ".young"
    for folder in (old, young):
        folder.mkdir()
    os.utime(old, (0, 0))
    Library(tmp_path).save(indexed)
    assert not old.exists() and young.exists() and len(Library(tmp_path).list()) == 1


def test_library_opens_no_path_and_forgets_on_delete(indexed, tmp_path):
    library = Library(tmp_path / "corpora")
    saved = library.save(indexed)
    for name in ("../corpora", "", ".", f"../corpora/{saved}", "/etc"):
        with pytest.raises(UserError, match="no longer exists"):
            library.load(name)
    library.delete(saved)
    assert library.list() == []
    with pytest.raises(UserError, match="no longer exists"):
        library.load(saved)
