"""A GloVe file is read for the words that are wanted; whatever else a file holds gets a sentence."""

import gzip

import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.models.words.vectors import WordVectors, words

FILE = "the 1 0\ncat 0 1\nCat 9 9\ncat 5 5\n, 3 3\n"


def test_a_sentence_is_the_mean_of_its_known_words(write):
    vectors = WordVectors.read(write("small.txt", FILE), {"the", "cat", "sleeps"})
    ((rows, embeddings),) = vectors.stream(["The cat, the cat", "the", "", "a dog"])
    assert rows.tolist() == [0, 1, 2, 3] and vectors.name == "small.txt"
    assert embeddings.tolist() == [[0.5, 0.5], [1, 0], [0, 0], [0, 0]]
    assert words("Don't, Über-cat!") == ["don", "t", "über", "cat"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the 1 0\ncat 0 1 2\n", "line 2"),
        ("the one two\n", "line 1"),
        ("the nan 1\n", "line 1"),
        ("the\n", "line 1"),
        ("hund 1 0\n", "no vector for any word"),
        ("", "no vector for any word"),
        (b"\xff\xfe\x00", "cannot be read"),
        (gzip.compress(np.random.default_rng(0).bytes(4000).hex().encode())[:900], "cannot be read"),
    ],
)
def test_what_is_no_file_of_word_vectors_gets_a_sentence(write, content, message):
    with pytest.raises(UserError, match=message):
        WordVectors.read(write("bad.txt" if content[:1] != b"\x1f" else "cut.txt.gz", content), {"the", "cat"})
