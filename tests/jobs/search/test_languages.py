"""A query or a corpus in a language that the model hardly reads is told; names, numbers and single words are not taken for one."""

import numpy as np
import pytest

from sbert_app.corpus.indexed import WORDS
from sbert_app.explain.cautions import unread
from sbert_app.explain.words import TokenVectors
from sbert_app.jobs.duplicates.job import mine
from sbert_app.jobs.search.open_corpus import cautions, corpus_caution, query_caution
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from tests.searching import indexed, of_example, search

GERMAN = [
    "Wo ist mein Gepäck und wie bekomme ich es zurück?",
    "Die Rechnung ist falsch, ich möchte eine neue.",
    "Der Drucker druckt nicht mehr, was soll ich tun?",
]


@pytest.fixture(scope="module")
def encoder(shared_bench):
    return shared_bench.registry.encoder()


@pytest.fixture(scope="module")
def searched(shared_bench, sentences):
    return indexed(shared_bench, [*sentences[:20], *GERMAN])


def test_a_german_query_is_told_in_the_result_and_by_words_alone_it_is_not(shared_bench, searched):
    for query in GERMAN:
        assert search(shared_bench, searched, query, 3).cautions == (
            "The query is not in English, and this model knows few of its words: do not rely on these hits.",
        )
    russian = search(shared_bench, searched, "Где мой багаж?", 3, cross_encoder=DEFAULT_CROSS_ENCODER)
    assert "letter by letter" in russian.cautions[0]
    assert search(shared_bench, searched, GERMAN[0], 3, ranking=WORDS).cautions == ()
    assert search(shared_bench, searched, "where is my luggage", 3).cautions == ()


NAMES = "billing|refund 2026-03-01|Müller|iPhone 15 Pro Max|São Paulo|SKU-4711|café|die cast|Zürich office|12,50"
ENGLISH = "cheap flights skyscanner.com|meeting 3pm EST rescheduled|Los Angeles thrombosis clinic|macOS X"
OTHERS = "Heizung geht nicht|Schimmel im Bad|Aufzug defekt|Sicherung fliegt raus|La fuite est là"


@pytest.mark.parametrize("query", [*NAMES.split("|"), *ENGLISH.split("|")])
def test_names_numbers_single_words_and_a_few_english_words_with_names_are_no_other_language(encoder, query):
    assert query_caution(encoder, query) == ()


@pytest.mark.parametrize("query", OTHERS.split("|"))
def test_a_few_words_of_another_language_are_enough(encoder, query):
    assert "not in English" in query_caution(encoder, query)[0]


def test_a_corpus_tells_how_many_rows_are_in_another_language(shared_bench, encoder, searched, sentences):
    assert cautions(shared_bench, searched.corpus())[0].startswith("At least 3 of 23 rows are in a language or script that ")
    count = int(corpus_caution(encoder, [*sentences, *GERMAN * 300])[0].split()[3].replace(",", ""))
    assert 800 <= count <= 1000


@pytest.mark.parametrize("name", ["support_tickets.csv", "field_notes.csv"])
def test_english_corpora_and_their_rows_as_queries_have_no_caution(shared_bench, encoder, name):
    texts = of_example(shared_bench, name).corpus().corpus.sentences
    assert corpus_caution(encoder, texts) == () == tuple(text for text in texts if query_caution(encoder, text))


def test_a_word_of_two_languages_counts_once_however_often_it_is_repeated():
    for text, is_read in (("books amazon com writers stanford com", True), ("os livros com fotos em casa", False)):
        words = text.split()
        tokens = TokenVectors(words, np.repeat(np.arange(len(words)), 2), np.empty((2 * len(words), 0), np.float32), False)
        assert (unread(text, tokens, a_sample_word=3.0) == "") == is_read


def test_duplicates_of_such_a_corpus_come_with_the_caution(shared_bench, searched):
    *_, last = mine(shared_bench, searched)
    assert last.result.cautions == cautions(shared_bench, searched.corpus()) != ()
