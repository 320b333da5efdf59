"""The embedding cache and the library: nothing lost, nothing half-written, bounded."""

import json
import shutil
import uuid
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.cache import EmbeddingCache, keys_of
from sbert_app.corpus.indexed import HYBRID, IndexedCorpus
from sbert_app.corpus.library import Library
from sbert_app.corpus.passages import Passages
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.storage import sweep
from sbert_app.tables import Form, Skip
from sbert_app.vectors import unit_rows
from tests.damaging import flip

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


def test_a_segment_takes_the_place_of_those_of_its_parts_of_which_some_may_be_gone(tmp_path):
    cache = EmbeddingCache(tmp_path)
    parts = [cache.add("m", SENTENCES[i : i + 2], VECTORS[i : i + 2]) for i in (0, 2, 4)]
    shutil.rmtree(parts[0])
    whole = cache.add("m", SENTENCES, VECTORS, parts)
    assert [*(tmp_path / "m").iterdir()] == [whole]
    assert (cache.lookup("m", SENTENCES, 8)[0] == VECTORS).all()


def test_cache_drops_the_oldest_beyond_its_bound(tmp_path):
    cache = EmbeddingCache(tmp_path, limit_bytes=1_000)
    for sentence, vector in zip(SENTENCES, VECTORS, strict=True):
        cache.add("m", [sentence], vector[None])
    assert sum(f.stat().st_size for f in tmp_path.rglob("*.npy")) <= 1_000
    assert cache.lookup("m", SENTENCES, 8)[1].tolist()[-1]


DAMAGES = {
    "torn": lambda segment: (segment / "vectors.npy").write_bytes(b"torn"),
    "no bytes": lambda segment: (segment / "vectors.npy").write_bytes(b""),
    "no bytes of keys": lambda segment: (segment / "keys.npy").write_bytes(b""),
    "null": lambda segment: (segment / "keys.npy").write_text("null"),
    "rows missing": lambda segment: np.save(segment / "vectors.npy", VECTORS[:2]),
    "other type": lambda segment: np.save(segment / "vectors.npy", VECTORS[:3].astype(np.float64)),
    "no rows": lambda segment: (np.save(segment / "keys.npy", KEYS), np.save(segment / "vectors.npy", VECTORS[:0])),
    "fewer checksums": lambda segment: np.save(segment / "checksums.npy", KEYS),
    "a file": lambda segment: (shutil.rmtree(segment), segment.write_text("a file")),
    "a folder": lambda segment: ((segment / "keys.npy").unlink(), (segment / "keys.npy").mkdir()),
}
KEYS = np.zeros(0, dtype=np.uint64)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_segment_is_set_aside(tmp_path, damage):
    cache = EmbeddingCache(tmp_path)
    DAMAGES[damage](cache.add("m", SENTENCES[:3], VECTORS[:3]))
    assert not cache.lookup("m", SENTENCES, 8)[1].any()
    assert list((tmp_path / "m").iterdir()) == []
    cache.add("m", SENTENCES[:3], VECTORS[:3])
    assert cache.lookup("m", SENTENCES, 8)[1].sum() == 3


def test_every_flipped_bit_of_the_cache_is_noticed(tmp_path):
    cache = EmbeddingCache(tmp_path)
    for name, offset in [("vectors.npy", 128 + i) for i in range(0, 96, 5)] + [("keys.npy", 128 + i) for i in range(0, 24, 5)]:
        flip(cache.add("m", SENTENCES[:3], VECTORS[:3]) / name, offset, offset % 8)
        found, known = cache.lookup("m", SENTENCES[:3], 8)
        assert (found[known] == VECTORS[:3][known]).all() and not known.all()
        shutil.rmtree(tmp_path / "m")


def test_a_file_in_the_place_of_the_cache_stops_nothing(tmp_path):
    (tmp_path / "m").write_text("a file")
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "a file").write_text("where a segment should be")
    cache = EmbeddingCache(tmp_path, limit_bytes=1)
    for model in ("m", "n"):
        assert not cache.lookup(model, SENTENCES, 8)[1].any()
        cache.add(model, SENTENCES, VECTORS)


def test_cache_segments_from_before_there_were_checksums_are_read(tmp_path):
    folder = tmp_path / "m" / uuid.uuid4().hex
    folder.mkdir(parents=True)
    np.save(folder / "keys.npy", keys_of(SENTENCES))
    np.save(folder / "vectors.npy", VECTORS)
    assert (np.sort(keys_of(SENTENCES)) != keys_of(SENTENCES)).any()
    found, known = EmbeddingCache(tmp_path).lookup("m", ["new", *SENTENCES], 8)
    assert known.tolist() == [False] + [True] * 6 and (found[1:] == VECTORS).all()


@pytest.fixture
def indexed():
    metadata = pd.DataFrame({"team": ["A", "", "B", "A", "A", "B"], "row": list("abcdef")})
    rows, skipped, form = np.arange(1, 7) * 2, (Skip(1, "blank"),), Form(";", marked=False)
    corpus = Corpus("My file.csv", ("text",), SENTENCES, metadata, rows, skipped, ("a note",), form=form)
    passages = Passages.build([0, 0, 3], [(0, 2), (1, 3), (0, 4)], VECTORS[:3])
    return replace(IndexedCorpus.build(corpus, "model", "print", VECTORS), truncated=2, passages=passages)


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path)


@pytest.fixture
def saved(library, indexed):
    """The id of the corpus, which is in the library."""
    return library.save(indexed)


def test_library_reopens_what_it_saved(indexed, library, saved, tmp_path):
    assert library.save(indexed) == saved and len(library.list()) == 1
    again = Library(tmp_path).load(saved)
    assert again.corpus.sentences == SENTENCES and again.corpus.rows.tolist() == indexed.corpus.rows.tolist()
    pd.testing.assert_frame_equal(again.corpus.metadata, indexed.corpus.metadata, check_dtype=False)
    for part in ("skipped", "notes", "form"):
        assert getattr(again.corpus, part) == getattr(indexed.corpus, part)
    query = VECTORS[3]
    first, second = (c.rank(query, "vier", 3, {"team": ["A"]}, HYBRID) for c in (indexed, again))
    assert first.rows.tolist() == second.rows.tolist() and np.allclose(first.scores, second.scores)
    assert again.truncated == 2 and again.passages.index.search(VECTORS[1:2], 1)[1] == [[1]]
    for part in ("rows", "spans", "embeddings"):
        assert (getattr(again.passages, part) == getattr(indexed.passages, part)).all()
    assert library.find(indexed.corpus, "print") and not library.find(indexed.corpus, "another model")


@pytest.mark.usefixtures("saved")
def test_equal_sentences_under_other_columns_or_rows_are_another_corpus(indexed, library):
    corpus = indexed.corpus
    for other in (
        replace(corpus, metadata=corpus.metadata.rename(columns={"team": "group"})),
        replace(corpus, rows=corpus.rows + 1),
        replace(corpus, name="my-file.csv"),
        replace(corpus, skipped=()),
    ):
        assert library.find(other, "print") is None
    assert library.find(corpus, "print") is not None


def test_a_full_disk_leaves_nothing_half_written(indexed, library, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space left"):
        library.save(indexed)
    assert library.list() == [] and list(library.folder.iterdir()) == []
    assert EmbeddingCache(tmp_path).add("m", SENTENCES, VECTORS) is None and list((tmp_path / "m").iterdir()) == []


@pytest.mark.parametrize("file", ["corpus.json", "index.faiss", "embeddings.npy", "table.parquet"])
def test_a_damaged_folder_is_told_and_replaced(indexed, library, saved, tmp_path, file):
    (tmp_path / saved / file).write_bytes(b"torn")
    assert [entry.damaged for entry in library.list()] == [file == "corpus.json"]
    with pytest.raises(UserError, match="damaged. Delete it and upload the file again"):
        library.load(saved)
    assert library.find(indexed.corpus, "print") is None
    library.save(indexed)
    assert library.find(indexed.corpus, "print") is not None


def test_a_flipped_bit_and_a_lost_file_of_a_saved_corpus_are_noticed(indexed, library, saved, tmp_path):
    files = [path for path in (tmp_path / saved).rglob("*") if path.is_file()]
    assert len(files) > 12
    for path in files:
        whole = path.read_bytes()
        places = 12 if path.name == "corpus.json" else 4  # of the others the checksum is of the whole file
        for place in np.linspace(0, len(whole) - 1, places).astype(int).tolist():
            path.write_bytes(whole)
            flip(path, place, place % 8)
            try:
                again = library.load(saved)
            except UserError as error:
                assert "is damaged" in str(error) or "newer version" in str(error)
            else:  # a letter of the checksum's own key
                assert path.name == "corpus.json" and (again.corpus.name, again.model) == (indexed.corpus.name, indexed.model)
        path.unlink()
        with pytest.raises(UserError, match="is damaged"):
            library.load(saved)
        path.write_bytes(whole)


def test_a_corpus_without_its_description_is_listed_as_damaged(indexed, library, saved, tmp_path):
    (tmp_path / saved / "corpus.json").unlink()  # as a delete left it that was killed in an older version
    (tmp_path / "not-ours").mkdir()
    assert [(entry.id, entry.damaged) for entry in library.list()] == [(saved, True)]
    library.delete(saved)
    assert library.list() == []
    (tmp_path / saved).write_text("a file")
    assert library.find(indexed.corpus, "print") is None and library.save(indexed) == saved
    assert library.find(indexed.corpus, "print") is not None


def test_a_corpus_of_an_earlier_version_opens_and_is_replaced_once_indexed_again(indexed, library, tmp_path):
    saved = library.save(replace(indexed, passages=None))
    path = tmp_path / saved / "corpus.json"
    content = json.loads(path.read_text())
    for key in ("checksum", "format", "files", "passages"):  # as earlier versions wrote it
        del content[key]
    path.write_text(json.dumps(content))
    opened = library.load(saved)
    assert opened.corpus.sentences == SENTENCES and opened.lacks_passages
    assert library.find(indexed.corpus, "print") is None and path.exists()  # so it is indexed anew, but not deleted yet
    assert library.save(indexed) == saved and len(library.load(saved).passages) == 3
    assert len(library.list()) == 1 and library.find(indexed.corpus, "print") is not None
    path.write_text(json.dumps(content | {"format": 99}))
    with pytest.raises(UserError, match="newer version of this app. Update the app"):
        library.load(saved)
    assert library.find(indexed.corpus, "print") is None and path.exists()


def test_a_killed_delete_leaves_no_corpus_that_is_listed(indexed, library, saved, tmp_path, monkeypatch):
    def killed(folder, **kwargs):
        next(path for path in folder.rglob("*.npy")).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", killed)
        library.delete(saved)
    assert library.list() == [] and list(tmp_path.glob(".*"))
    sweep(tmp_path)
    library.save(indexed)
    assert not list(tmp_path.glob(".*")) and len(library.list()) == 1


def test_a_disk_that_is_really_full_is_told_by_its_reason(small_disk):
    vectors = unit_rows(np.random.default_rng(0).normal(size=(2_200, 64)))
    sentences = [f"sentence {i}" for i in range(len(vectors))]
    corpus = Corpus("big", ("text",), sentences, pd.DataFrame(index=range(len(vectors))), np.arange(1, len(vectors) + 1))
    indexed = IndexedCorpus.build(corpus, "model", "print", vectors)
    for filler in (0, 400_000):  # the index does not fit beside the embeddings; the embeddings do not fit
        (small_disk / "filler").write_bytes(bytes(filler))
        with pytest.raises(OSError, match="No space left on device") as caught:
            Library(small_disk / "corpora").save(indexed)
        assert caught.value.errno == 28 and Library(small_disk / "corpora").list() == []
        assert list((small_disk / "corpora").iterdir()) == []
        EmbeddingCache(small_disk / "cache").add("m", sentences * 2, np.tile(vectors, (2, 1)))
        assert not list((small_disk / "cache" / "m").iterdir())


def test_library_opens_no_path_and_forgets_on_delete(library, saved):
    for name in (f"../{library.folder.name}", "", ".", f"../{library.folder.name}/{saved}", "/etc"):
        with pytest.raises(UserError, match="no longer exists"):
            library.load(name)
    library.delete(saved)
    assert library.list() == []
    with pytest.raises(UserError, match="no longer exists"):
        library.load(saved)


def test_both_files_hold_the_unit_embeddings_in_file_order(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    metadata = pd.DataFrame({"row": ["x", "y", "z"], "row_": ["u", "v", "w"], "embedding": ["a", "b", ""]})
    indexed = IndexedCorpus.build(Corpus("c", ("text",), ["one", "two", "three"], metadata, np.array([1, 3, 4])), "m", "f", vectors)
    for suffix in (".npy", ".parquet"):
        indexed.write_embeddings(tmp_path / f"e{suffix}")
    assert (np.load(tmp_path / "e.npy") == indexed.embeddings).all()
    frame = pd.read_parquet(tmp_path / "e.parquet")
    assert list(frame.columns) == ["row", "row_", "row__", "embedding_", "text", "embedding"]
    assert frame["row"].tolist() == [1, 3, 4] and frame["text"].tolist() == ["one", "two", "three"]
    assert (np.stack(frame["embedding"]) == indexed.embeddings).all()
    assert next(indexed.corpus.with_metadata([{"row": 1}], slice(1))) == {"row": 1, "row_": "x", "row__": "u", "embedding": "a"}
