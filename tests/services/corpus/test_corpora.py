"""The open corpus: which model its index is of, what opens it again, and its export."""

import time
from dataclasses import replace

import numpy as np
import pytest

from sbert_app.corpus.hits import FORMER_MODEL
from sbert_app.corpus.indexed import WORDS, IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.jobs.search.job import beside
from sbert_app.jobs.search.offered import offered
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.models.encoder import Encoder
from sbert_app.runtime.workbench import open_workbench
from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.services.indexing.indexer import FormerIndex
from sbert_app.settings import Settings


@pytest.fixture
def other_model(encoder, tmp_path) -> str:
    """The bundled weights with another pooling: another encoder."""
    other = Encoder("other", encoder.transformer, encoder.tokenizer, replace(encoder.layout, pooling="cls"), encoder.hardware)
    other.save(tmp_path / "other")
    return str(tmp_path / "other")


def test_an_open_corpus_is_indexed_again_with_another_model(bench, other_model):
    corpora, session = CorpusService(bench), bench.sessions.open()
    assert corpora.current(session) is None and corpora.other_index(session, DEFAULT_ENCODER) is None
    corpora.put_table(session, corpora.read_lines("a red car\na green apple\na blue boat"))
    list(corpora.index(session, ["text"]))
    assert corpora.other_index(session, DEFAULT_ENCODER) is None and corpora.last_indexing(session).total == 3
    other = corpora.other_index(session, other_model)
    assert (other.model, other.rows) == (DEFAULT_ENCODER, 3) and other.other_model.endswith("other") and other.seconds > 0
    before = corpora.current(session)
    list(corpora.index_again(session, other_model))
    after = corpora.current(session)
    assert after.fingerprint != before.fingerprint and after.corpus.sentences == before.corpus.sentences
    assert corpora.other_index(session, other_model) is None
    assert offered(bench, session).former_model == DEFAULT_ENCODER == beside(bench, session, FORMER_MODEL, "fruit").model
    assert beside(bench, session, WORDS, "a boat").hits[0].row == 3
    with pytest.raises(UserError, match="Unknown ranking"):
        beside(bench, session, "x", "fruit")


def test_a_corpus_opened_while_another_is_stored_gets_nothing_of_it(bench, other_model, monkeypatch):
    corpora, session = CorpusService(bench), bench.sessions.open()
    corpora.put_table(session, corpora.read_lines("a red car\na green apple\na blue boat"))
    list(corpora.index(session, ["text"]))
    store = session.open

    def store_and_be_overtaken(*values, **options):
        monkeypatch.undo()
        stored = store(*values, **options)
        corpora.open_example(session, "field_notes.csv")
        return stored

    monkeypatch.setattr(session, "open", store_and_be_overtaken)
    list(corpora.index_again(session, other_model))
    assert corpora.current(session).corpus.name == "field_notes.csv"
    assert corpora.last_indexing(session) is None and session.get(FormerIndex) is None


def test_a_key_opens_examples_and_saved_corpora_and_nothing_else(bench):
    corpora, first, later = CorpusService(bench), bench.sessions.open(), bench.sessions.open()
    corpora.put_table(first, corpora.read_lines("a red car\na green apple"))
    list(corpora.index(first, ["text"]))
    key = corpora.current(first).key
    assert corpora.open_key(later, key).corpus.sentences == ["a red car", "a green apple"]
    for unknown in ("", "../runs", f"{key}0", "no-such-corpus-0123456789ab"):
        assert corpora.open_key(later, unknown) is None
    assert corpora.current(later).key == key
    assert corpora.open_key(later, "field_notes.csv").key == "field_notes.csv"


def test_a_file_name_opens_the_newest_saved_corpus_of_that_name(bench, write):
    corpora, first, later = CorpusService(bench), bench.sessions.open(), bench.sessions.open()
    for text in ("the first text\nanother", "the second text\nanother"):
        corpora.put_table(first, corpora.read_file(write("notes.csv", f"text\n{text}\n")))
        list(corpora.index(first, ["text"]))
        time.sleep(1.1)  # the library keeps the second
    assert corpora.open_key(later, "notes.csv").corpus.sentences == ["the second text", "another"]
    assert corpora.open_key(later, "notes") is None


def test_hosted_a_key_opens_examples_only(bench):
    corpora, session = CorpusService(bench), bench.sessions.open()
    corpora.put_table(session, corpora.read_lines("a red car\na green apple"))
    list(corpora.index(session, ["text"]))
    hosted = open_workbench(Settings(home=bench.settings.home, device="cpu", hosted=True))
    visitor = hosted.sessions.open()
    assert CorpusService(hosted).open_key(visitor, corpora.current(session).key) is None
    assert visitor.get(IndexedCorpus) is None


def test_the_export_needs_a_corpus(bench, tmp_path):
    corpora, session = CorpusService(bench), bench.sessions.open()
    with pytest.raises(UserError, match="There is no corpus yet"):
        corpora.export(session, tmp_path / "embeddings.npy")
    corpora.put_table(session, corpora.read_lines("a red car\na green apple"))
    list(corpora.index(session, ["text"]))
    corpora.export(session, tmp_path / "embeddings.npy")
    assert np.load(tmp_path / "embeddings.npy").shape == (2, 384)
