"""Corpus, queries and judgements become rankings to be judged; so do questions with judged answers."""

import pytest

from sbert_app.errors import UserError
from sbert_app.labelled.queries import read_answers, read_queries
from sbert_app.settings import Limits
from sbert_app.tables import read_table

CORPUS = "doc_id,title,text\nd1,Cats,They sleep all day.\nd2,Rain,It falls in autumn.\nd3,,No title here.\n"
ASKED = "query_id,text\nq1,What do cats do?\nq2,Nobody knows\nq3,When does it rain?\n"
JUDGED = "query_id,doc_id,relevance\nq1,d1,2\nq1,d3,0\nq3,d2,1\nq3,d9,1\nq2,d9,1\n"


def tables(write, *contents):
    return [read_table(write(f"{number}.csv", content), Limits()) for number, content in enumerate(contents)]


def test_documents_are_title_and_text_and_queries_have_a_relevant_one(write):
    data = read_queries(*tables(write, CORPUS, ASKED, JUDGED))
    assert data.queries == ["What do cats do?", "When does it rain?"] and data.relevant == [{0: 2.0}, {1: 1.0}]
    assert data.documents == ["Cats They sleep all day.", "Rain It falls in autumn.", "No title here."] and data.candidates is None


def test_answers_are_ranked_among_those_of_their_question(write):
    rows = "question,answer,label\nwho?,me,1\nwho?,you,0\nwho?,us,0\nwhere?,here,1\nwhere?,there,1\nwhen?,now,0\nwhen?,then,1\n"
    (table,) = tables(write, rows)
    data = read_answers(table)
    assert data.queries == ["who?", "when?"] and data.relevant == [{0: 1.0}, {6: 1.0}]
    assert [rows.tolist() for rows in data.candidates] == [[0, 1, 2], [5, 6]]
    assert read_answers(tables(write, "question,answer,label\na,b,1\nc,d,0\n")[0]) is None
    assert read_answers(tables(write, CORPUS)[0]) is None


def test_files_that_do_not_fit_together_are_a_sentence(write):
    with pytest.raises(UserError, match="No query of '1.csv' has a relevant document in '0.csv'"):
        read_queries(*tables(write, CORPUS, ASKED, "query_id,doc_id,relevance\nq1,d7,1\n"))
    with pytest.raises(UserError, match="has no column 'doc_id' or 'corpus_id'"):
        read_queries(*tables(write, "name,text\na,b\n", ASKED, JUDGED))
