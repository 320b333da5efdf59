"""A file of query, row or text, and relevance becomes rankings to be judged; what is wrong with it is a sentence."""

import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.grid.data_sets import read_data_set
from sbert_app.grid.tasks.task import RETRIEVAL
from sbert_app.labelled.queries import CorpusRows, read_judgements
from sbert_app.settings import Limits
from sbert_app.tables import read_table

CORPUS = CorpusRows("places.csv", ["a cat", "rain", "a cat", "a train"], np.array([1, 2, 4, 7]))


@pytest.fixture
def judged(write):
    def judged(content, corpus=CORPUS):
        return read_judgements(read_table(write("judged.csv", content), Limits()), corpus)

    return judged


def test_rows_are_those_of_the_file_and_equal_texts_are_as_good(judged):
    queries, remarks = judged("query,row,relevance,sentence\nkitten,4,2,a cat\nkitten,2,0,rain\nrail,7,1,a train\n")
    assert queries.queries == ["kitten", "rail"] and queries.documents is CORPUS.sentences and queries.candidates is None
    assert queries.relevant == [{0: 2.0, 2: 2.0}, {3: 1.0}] and remarks == ()


def test_names_words_and_case_of_the_columns_do_not_matter(judged):
    queries, _ = judged("Search query,Row number,Judgement\nkitten,1,yes\nkitten,7,Partly\nkitten,2,no\n")
    assert queries.relevant == [{0: 2.0, 2: 2.0, 3: 1.0}]
    assert judged("query,row,score\nwet,2,0.5\n")[0].relevant == [{1: 0.5}]


def test_texts_are_looked_up_and_others_are_ranked_among_themselves(judged):
    content = "query,document,relevance\nwet,rain,1\nwet,a train,0\nwet,snow,1\n"
    queries, remarks = judged(content)
    assert queries.relevant == [{1: 1.0}] and remarks == ("Not in 'places.csv', left out: row 3.",)
    alone = judged(content, None)[0]
    assert alone.documents == ["rain", "a train", "snow"] and alone.relevant == [{0: 1.0, 2: 1.0}]
    other = judged("query,document,relevance\nwet,fog,1\nwet,sun,0\n")[0]
    assert other.documents == ["fog", "sun"] and other.relevant == [{0: 1.0}]


def test_what_is_left_out_is_told(judged):
    queries, remarks = judged("query,row,relevance\nwet,2,1\nwet,3,1\nwet,x,1\n,2,1\nwet,1,often\nwet,7,-1\nsnow,1,0\n")
    assert queries.queries == ["wet"] and queries.relevant == [{1: 1.0}]
    assert remarks == (
        "Not in 'places.csv', left out: rows 2, 3.",
        "No query or no readable relevance, left out: rows 4, 5, 6.",
        "1 query has no relevant row, left out.",
    )


def test_an_apostrophe_before_a_formula_is_taken_back(judged):
    assert judged("query,row,relevance\n'=1+1,2,1\n'quoted',2,1\n")[0].queries == ["=1+1", "'quoted'"]


@pytest.mark.parametrize(
    ("content", "corpus", "message"),
    [
        ("query,row,relevance\nwet,2,1\n", None, "are those of a corpus. Open that corpus first"),
        ("query,row,relevance\nwet,9,1\n", CORPUS, "None of the 1 judged rows of 'judged.csv' is in 'places.csv'"),
        ("query,row,relevance\nwet,2,maybe\n", CORPUS, "It needs the columns query, row, relevance"),
        ("query,row,relevance\nwet,2,0\nwet,1,0\n", CORPUS, "Every relevance in 'judged.csv' is 0"),
    ],
)
def test_mistakes_are_sentences(judged, content, corpus, message):
    with pytest.raises(UserError, match=message):
        judged(content, corpus)


def test_other_tables_hold_no_judgements(judged, write):
    for content in ("query,passage,score\na b,c d,1\ne f,g h,0\n", "question,answer,label\na,b,1\n", "text,label\na,b\n"):
        assert judged(content) is None
    data = read_data_set(read_table(write("judged.csv", "query,row,relevance\nwet,2,1\n"), Limits()), Limits(), corpus=CORPUS)
    assert data.task == RETRIEVAL and data.size == 1 and data.measure == "ndcg_at_10" and "judge more" in data.notes[0]
