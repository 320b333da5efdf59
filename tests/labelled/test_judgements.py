"""A file of query, row or text, and relevance becomes rankings to be judged; what is wrong with it is a sentence."""

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.grid.data_set import RETRIEVAL
from sbert_app.grid.reading import read_data_set
from sbert_app.labelled.queries import read_answers, read_judgements, read_queries
from sbert_app.settings import Limits
from sbert_app.tables import read_table

CORPUS = Corpus("places.csv", ("text",), ["a cat", "rain", "a cat", "a train"], pd.DataFrame(), np.array([1, 2, 4, 7]))
DOCUMENTS = "doc_id,title,text\nd1,Cats,They sleep all day.\nd2,Rain,It falls in autumn.\nd3,,No title here.\n"
ASKED = "query_id,text\nq1,What do cats do?\nq2,Nobody knows\nq3,When does it rain?\n"
JUDGED = "query_id,doc_id,relevance\nq1,d1,2\nq1,d3,0\nq3,d2,1\nq3,d9,1\nq2,d9,1\n"


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
    formulas, _ = judged("query,row,relevance\n'=1+1,2,1\n'quoted',2,1\n")
    assert formulas.queries == ["=1+1", "'quoted'"]  # an apostrophe before a formula is taken back


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
    assert data.task == RETRIEVAL and data.size == 1 and data.measure == "ndcg_at_10" and "1 query is too few" in data.remarks[-1]


def tables(write, *contents):
    return [read_table(write(f"{number}.csv", content), Limits()) for number, content in enumerate(contents)]


def test_documents_are_title_and_text_and_queries_have_a_relevant_one(write):
    data = read_queries(*tables(write, DOCUMENTS, ASKED, JUDGED))
    assert data.queries == ["What do cats do?", "When does it rain?"] and data.relevant == [{0: 2.0}, {1: 1.0}]
    assert data.documents == ["Cats They sleep all day.", "Rain It falls in autumn.", "No title here."] and data.candidates is None


def test_answers_are_ranked_among_those_of_their_question(write):
    rows = "question,answer,label\nwho?,me,1\nwho?,you,0\nwho?,us,0\nwhere?,here,1\nwhere?,there,1\nwhen?,now,0\nwhen?,then,1\n"
    (table,) = tables(write, rows)
    data = read_answers(table)
    assert data.queries == ["who?", "when?"] and data.relevant == [{0: 1.0}, {6: 1.0}]
    assert [rows.tolist() for rows in data.candidates] == [[0, 1, 2], [5, 6]]
    assert read_answers(tables(write, "question,answer,label\na,b,1\nc,d,0\n")[0]) is None
    assert read_answers(tables(write, DOCUMENTS)[0]) is None


def test_files_that_do_not_fit_together_are_a_sentence(write):
    with pytest.raises(UserError, match="No query of '1.csv' has a relevant document in '0.csv'"):
        read_queries(*tables(write, DOCUMENTS, ASKED, "query_id,doc_id,relevance\nq1,d7,1\n"))
    with pytest.raises(UserError, match="has no column 'doc_id' or 'corpus_id'"):
        read_queries(*tables(write, "name,text\na,b\n", ASKED, JUDGED))
