"""A query or a corpus in a language that the model hardly reads is told; names, numbers and single words are not taken for one."""

import csv
from pathlib import Path

import numpy as np
import pytest

from sbert_app.corpus.indexed import WORDS
from sbert_app.explain.cautions import unread
from sbert_app.explain.words import TokenVectors
from sbert_app.jobs.duplicates.job import mine
from sbert_app.jobs.search.open_corpus import cautions, corpus_caution, query_caution
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from tests.searching import indexed, search

EXAMPLES = Path(__file__).parents[3] / "assets" / "examples"
GERMAN = [
    "Wo ist mein Gepäck und wie bekomme ich es zurück?",
    "Die Rechnung ist falsch, ich möchte eine neue.",
    "Der Drucker druckt nicht mehr, was soll ich tun?",
]


def sentences(name):
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def encoder(shared_bench):
    return shared_bench.registry.encoder()


@pytest.fixture(scope="module")
def searched(shared_bench):
    return indexed(shared_bench, [*sentences("support_tickets.csv")[:20], *GERMAN])


def test_a_german_query_is_told_in_the_result_and_by_words_alone_it_is_not(shared_bench, searched):
    for query in GERMAN:
        assert search(shared_bench, searched, query, 3).cautions == (
            "The query is not in English, and this model knows few of its words: do not rely on these hits.",
        )
    russian = search(shared_bench, searched, "Где мой багаж?", 3, cross_encoder=DEFAULT_CROSS_ENCODER)
    assert "letter by letter" in russian.cautions[0]
    assert search(shared_bench, searched, GERMAN[0], 3, ranking=WORDS).cautions == ()
    assert search(shared_bench, searched, "where is my luggage", 3).cautions == ()


SHORT = "billing|refund 2026-03-01|Müller|iPhone 15 Pro Max|São Paulo|SKU-4711|café|die cast|Zürich office|12,50".split("|")


@pytest.mark.parametrize("query", SHORT)
def test_names_numbers_and_single_words_are_no_other_language(encoder, query):
    assert query_caution(encoder, query) == ()


@pytest.mark.parametrize(
    "query", ["Heizung geht nicht", "Schimmel im Bad", "Aufzug defekt", "Sicherung fliegt raus", "La fuite est là"]
)
def test_a_few_words_of_another_language_are_enough(encoder, query):
    assert "not in English" in query_caution(encoder, query)[0]


@pytest.mark.parametrize(
    "query", ["cheap flights skyscanner.com", "meeting 3pm EST rescheduled", "Los Angeles thrombosis clinic", "macOS X"]
)
def test_a_few_english_words_with_names_are_not(encoder, query):
    assert query_caution(encoder, query) == ()


def test_a_corpus_tells_how_many_rows_are_in_another_language(shared_bench, encoder, searched):
    assert cautions(shared_bench, searched.corpus())[0].startswith("At least 3 of 23 rows are in a language or script that ")
    many = [*sentences("support_tickets.csv"), *GERMAN * 300]
    count = int(corpus_caution(encoder, many)[0].split()[3].replace(",", ""))
    assert 800 <= count <= 1000


@pytest.mark.parametrize("name", ["support_tickets.csv", "field_notes.csv"])
def test_english_corpora_and_their_rows_as_queries_have_no_caution(encoder, name):
    assert corpus_caution(encoder, sentences(name)) == ()
    assert [text for text in sentences(name) if query_caution(encoder, text)] == []


def test_a_word_of_two_languages_counts_once_however_often_it_is_repeated():
    for text, is_read in (("books amazon com writers stanford com", True), ("os livros com fotos em casa", False)):
        words = text.split()
        tokens = TokenVectors(words, np.repeat(np.arange(len(words)), 2), np.empty((2 * len(words), 0), np.float32), False)
        assert (unread(text, tokens, a_sample_word=3.0) == "") == is_read


def test_duplicates_of_such_a_corpus_come_with_the_caution(shared_bench, searched):
    *_, last = mine(shared_bench, searched)
    assert last.result.cautions == cautions(shared_bench, searched.corpus()) != ()
