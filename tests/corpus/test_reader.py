from dataclasses import replace

import pandas as pd
import pytest

from sbert_app.corpus.reader import read_corpus
from sbert_app.corpus.text_column import guess_column, looks_like_prose
from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables import Skip, read_table
from sbert_app.tables.table import skipped_summary
from sbert_app.wording import row_list

LIMITS = Limits()


def test_the_sentence_column_is_guessed_by_name_then_by_content():
    assert guess_column(pd.DataFrame({"id": ["a"], "Text": ["b"], "title": ["c"]})) == "Text"
    prose = {"id": ["1", "2"], "kind": ["same same same same", "same same same same"], "said": ["one two three", "four five six"]}
    assert guess_column(pd.DataFrame(prose)) == "said"


def test_a_column_of_which_many_cells_hold_no_text_is_not_guessed():
    told, link = ["it is late again", "the door sticks", "no light here"], ["https://a.b/some-long-path"] * 3
    for columns, text in (
        ({"title": told, "body": ["", "", "a text"]}, "title"),
        ({"review": ["5", "4", "1"], "message": [""] * 3, "said so": told}, "said so"),
        ({"Review Link": link, "Review Text": told}, "Review Text"),
        ({"summary": ["five stars"] * 3, "reviewText": told}, "reviewText"),
        ({"body": ['{"type": "doc", "text": "a b c"}'] * 3, "said": told}, "said"),
        ({"Title": ["Mr", "Mrs", "Mr"], "Comments (optional)": told}, "Comments (optional)"),
        ({"text": ["", "a text of more words", ""], "team": ["A", "B", "C"]}, "text"),
    ):
        assert guess_column(pd.DataFrame(columns)) == text


def test_prose_is_told_from_codes_also_without_spaces():
    frame = pd.DataFrame({"a": ["A17", "B4"], "b": ["我的包裹没有到", "密码忘记了"], "c": ["a real sentence", "and one more"]})
    assert [looks_like_prose(frame, column) for column in frame.columns] == [False, True, True]


def test_blank_sentences_are_skipped_and_metadata_stays_beside_its_row(write):
    table = read_table(write("a.csv", "text,n\nfirst,1\n  ,2\nthird,3\n"), LIMITS)
    corpus = read_corpus(table, ["text"], LIMITS)
    assert corpus.sentences == ["first", "third"]
    assert corpus.metadata["n"].tolist() == ["1", "3"] and corpus.rows.tolist() == [1, 3]
    assert skipped_summary(corpus.skipped) == ["1 row skipped, blank sentence: row 2"]
    assert corpus.index_of(3) == 1
    for row, message in ((2, "Row 2 was skipped"), (4, "There is no row 4: the rows of 'a.csv' are 1 to 3")):
        with pytest.raises(UserError, match=message):
            corpus.index_of(row)


def test_several_columns_are_joined(write):
    table = read_table(write("a.csv", "title,text,n\nCats,They purr.,1\n,Only text,2\n"), LIMITS)
    corpus = read_corpus(table, ["text", "title"], LIMITS)  # chosen in another order than the file's
    assert corpus.sentences == ["Cats They purr.", "Only text"] and corpus.columns == ("title", "text")
    assert [corpus.title(row) for row in (0, 1)] == ["Cats", ""] and read_corpus(table, ["text"], LIMITS).title(0) == ""


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["body"], r"'a.csv' has no column 'body'. Its columns are: text, n."),
        ([], "no sentence column chosen"),
        (["text"], "Every row of column 'text' is blank. Choose another sentence column"),
    ],
)
def test_a_column_that_is_missing_or_blank_is_told(columns, message, write):
    table = read_table(write("a.csv", "text,n\n ,1\n,2\n"), LIMITS)
    with pytest.raises(UserError, match=message):
        read_corpus(table, columns, LIMITS)


def test_over_long_sentences_are_cut_and_repeated_ones_counted(write):
    table = read_table(write("a.csv", "text,n\na long sentence,1\nsame,2\nsame,3\n"), LIMITS)
    corpus = read_corpus(table, ["text"], replace(LIMITS, row_characters=6))
    assert corpus.sentences == ["a long", "same", "same"]
    assert corpus.notes == ("Cut to 6 characters: row 1.", "1 row repeats an earlier sentence; kept, computed once.")


def test_long_row_lists_are_shortened():
    assert row_list([4]) == "row 4"
    assert row_list(range(1, 14), most=3) == "rows 1, 2, 3 … and 10 more"
    assert skipped_summary([Skip(1, "blank"), Skip(5, "blank"), Skip(9, "torn")])[0] == "2 rows skipped, blank: rows 1, 5"
