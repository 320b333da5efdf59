"""The open corpus: which model its index is of, and what opens it again."""

import time
from dataclasses import replace

import pytest

from sbert_app.corpus.hits import FORMER_MODEL, FormerIndex, Indexing
from sbert_app.corpus.indexed import WORDS, IndexedCorpus
from sbert_app.jobs.corpus.job import index_again
from sbert_app.jobs.corpus.opening import open_example, open_key, other_index, read_lines, saved_corpora
from sbert_app.jobs.duplicates.job import findings_of, keep_group, mine
from sbert_app.jobs.search.open_corpus import judge, judgements, offered
from sbert_app.models.encoder import Encoder
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from tests.jobs.refusals import refused
from tests.searching import beside, indexed, search


@pytest.fixture
def other_model(encoder, tmp_path) -> str:
    """The bundled weights with another pooling: another encoder."""
    other = Encoder("other", encoder.transformer, encoder.tokenizer, replace(encoder.layout, pooling="cls"), encoder.hardware)
    other.save(tmp_path / "other")
    return str(tmp_path / "other")


def test_an_open_corpus_is_indexed_again_with_another_model(bench, other_model):
    assert other_index(bench, bench.sessions.open(), DEFAULT_ENCODER) is None
    session = indexed(bench, "a red car\na green apple\na blue boat\na red car")
    assert other_index(bench, session, DEFAULT_ENCODER) is None and session.get(Indexing).rate > 0
    other = other_index(bench, session, other_model)
    assert other.model == DEFAULT_ENCODER and other.other_model.endswith("other") and other.seconds > 0
    before = session.get(IndexedCorpus)
    judge(bench, session, "fruit", 2, 1)
    list(mine(bench, session))
    keep_group(session, 0.9, 1, True)
    list(index_again(bench, session, other_model))
    list(mine(bench, session))
    assert findings_of(session, 0.9, "copies").staying == 4  # the group is kept whole, as before
    assert judgements(session).of_query("fruit") == {2: 1}  # to compare both models by
    after = session.get(IndexedCorpus)
    assert after.fingerprint != before.fingerprint and after.corpus.sentences == before.corpus.sentences
    assert other_index(bench, session, other_model) is None
    assert offered(bench, session).former_model == DEFAULT_ENCODER == beside(bench, session, FORMER_MODEL, "fruit").model
    assert beside(bench, session, WORDS, "a boat").hits[0].row == 3
    refused("Unknown ranking", beside, bench, session, "x", "fruit")


def test_a_corpus_opened_while_another_is_stored_gets_nothing_of_it(bench, other_model, monkeypatch):
    session = indexed(bench, "a red car\na green apple\na blue boat")
    store = session.open

    def store_and_be_overtaken(*values, **options):
        monkeypatch.undo()
        stored = store(*values, **options)
        open_example(bench, session, "field_notes.csv")
        return stored

    monkeypatch.setattr(session, "open", store_and_be_overtaken)
    list(index_again(bench, session, other_model))
    assert session.get(IndexedCorpus).corpus.name == "field_notes.csv"
    assert session.get(Indexing) is None and session.get(FormerIndex) is None


def test_a_key_opens_examples_and_saved_corpora_and_nothing_else(bench):
    key, later = indexed(bench, "a red car\na green apple").get(IndexedCorpus).key, bench.sessions.open()
    assert [(entry.name, entry.rows) for entry in saved_corpora(bench)] == [("pasted: a red car", 2)]
    assert open_key(bench, later, key).corpus.sentences == ["a red car", "a green apple"]
    for unknown in ("", "../runs", f"{key}0", "no-such-corpus-0123456789ab"):
        assert open_key(bench, later, unknown) is None
    assert later.get(IndexedCorpus).key == key
    assert open_key(bench, later, "field_notes.csv").key == "field_notes.csv"
    assert read_lines("a long line " * 9, bench.settings.limits).name == "pasted: a long line a long line a long l…"


def test_a_corpus_saved_with_a_model_that_is_gone_opens_and_says_which_model_is_missing(bench, encoder):
    """Such as a draft in int8, which earlier versions made."""
    gone = f"draft/{DEFAULT_ENCODER}"
    example = bench.examples.indexed("field_notes.csv", encoder)
    session = bench.sessions.open()
    key = bench.library.save(replace(example, model=gone, fingerprint="0" * 16))
    assert open_key(bench, session, key).model == gone
    refused(rf"The model '{gone}' is not on this machine .* or use the bundled one", search, bench, session, "rain", 3)


def test_a_file_name_opens_the_newest_saved_corpus_of_that_name(bench, write):
    later = bench.sessions.open()
    first, second = (read_table(write("notes.csv", f"text\nthe {it} text\nanother\n"), Limits()) for it in ("first", "second"))
    indexed(bench, first)
    time.sleep(1.1)  # the library keeps the second
    indexed(bench, second)
    assert open_key(bench, later, "notes.csv").corpus.sentences == ["the second text", "another"]
    assert open_key(bench, later, "notes") is None
