"""The cleaned file is written as the file was read, and no row disappears from it without a word."""

import base64
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.duplicates import COPIES, SIMILAR, UNMARKED, find_duplicates
from sbert_app.corpus.findings import Findings, Mined
from sbert_app.corpus.hits import Hit, SearchResult
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import read_corpus
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.ui.duplicates import view
from sbert_app.ui.duplicates.groups_view import groups
from sbert_app.ui.duplicates.tab import FILES
from sbert_app.ui.search.view import results

ROWS = "id;text;amount\n1;the cat sleeps;12,50\n2;;1,00\n3;the cat sleeps;99,90\n4;a parcel; late;3\n5;a parcel;7,00\n"


def findings_of(path, columns=("text",), remove=COPIES, alike=()):
    """alike: pairs of rows, counted from 0, that the model calls the same."""
    corpus = read_corpus(read_table(path, Limits()), columns, Limits())
    embeddings = np.eye(8, dtype=np.float32)[pd.factorize(np.array(corpus.sentences))[0]]
    for row, other in alike:
        embeddings[row] = embeddings[other]
    indexed = IndexedCorpus.build(corpus, "m", "f", embeddings)
    *_, last = find_duplicates(corpus.sentences, indexed.embeddings)
    duplicates = last.result
    return Findings(Mined(indexed, duplicates, {}), 0.9, duplicates.grouping(0.9), {}, remove)


def test_joined_columns_are_apart_again_in_the_cleaned_file(write):
    findings = findings_of(
        write("a.csv", "id,title,about,price\n1,a pan,of steel,3\n2,a pan,of steel,3\n3,,a lid,4\n"), ["title", "about"]
    )
    assert findings.cleaned_file() == "id,title,about,price\r\n1,a pan,of steel,3\r\n3,,a lid,4\r\n"


PANS = "id,text\n1,pan of 18 cm\n2,this pan of 18 cm\n3,pan of 20 cm\n4,pan of 20 cm\n5,a lid\n"


def test_similar_rows_go_but_not_those_with_another_number(write):
    findings = findings_of(write("a.csv", PANS), remove=UNMARKED, alike=[(1, 0), (2, 0), (3, 0)])
    assert [row["id"] for row in findings.cleaned()] == ["1", "3", "5"] and findings.spared == 1
    verdicts = [(row["verdict"], row["representative"], row["caution"]) for row in findings.verdicts()]
    assert verdicts[1:4] == [("drop", 1, ""), ("keep", 3, ""), ("drop", 3, "other id")]
    assert "1 row stays because of a mark" in view.staying(findings)
    everything = replace(findings, remove=SIMILAR)
    assert [row["id"] for row in everything.cleaned()] == ["1", "5"]
    assert everything.marked == {2: "numbers or dates differ", 3: "numbers or dates differ"}


def test_similar_rows_stay_that_have_a_number_and_the_one_to_keep_has_none(write):
    orders = "id,text\n1,refund my order\n2,refund my order 83716\n3,refund my order 10658\n4,refund my order please\n"
    findings = findings_of(write("a.csv", orders), remove=UNMARKED, alike=[(1, 0), (2, 0), (3, 0)])
    assert [row["id"] for row in findings.cleaned()] == ["1", "2", "3"] and findings.spared == 2
    assert groups(findings).count("<mark>numbers or dates differ</mark>") == 2


def test_of_many_columns_that_differ_the_first_are_named(write):
    columns = [f"question {i}" for i in range(6)]
    text = f"text,{','.join(columns)}\na pan,{'1,' * 5}1\na pan,{'2,' * 5}2\n"
    assert "differs in question 0, question 1, question 2 or 3 more columns" in view.headline(findings_of(write("a.csv", text)))


@pytest.mark.parametrize(("name", "sign"), [("a.csv", ";"), ("a.csv", "|"), ("a.csv", ","), ("a.tsv", "\t")])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_cleaned_file_has_the_delimiter_and_the_mark_of_the_file(tmp_path, name, sign, mark):
    path = tmp_path / name
    path.write_text(f"{mark}id{sign}text{sign}note\n1{sign}the cat sleeps{sign}ü\n2{sign}the cat sleeps{sign}ü\n", encoding="utf-8")
    assert findings_of(path).cleaned_file() == f"{mark}id{sign}text{sign}note\r\n1{sign}the cat sleeps{sign}ü\r\n"


def test_what_is_saved_of_rows_has_the_delimiter_of_their_file_too(write):
    findings = findings_of(write("a.csv", ROWS))
    for name in (view.VERDICTS, view.PAIRS):
        assert FILES[name](findings).startswith("\ufeffrow;" if name == view.VERDICTS else "\ufeffrow1;")
    hits = [Hit(rank=1, row=1, score=0.5, sentence="the cat; asleep", metadata={"amount": "12,50"})]
    shown = results(SearchResult("cat", hits, {"encode": 1.0}, "m", 3, 3), delimiter=findings.corpus.form.delimiter)
    saved = base64.b64decode(re.search(r"text/csv;charset=utf-8;base64,([^\"]*)", shown)[1]).decode()
    assert ";sentence;" in saved and '"the cat; asleep";"12,50"' in saved


def test_a_cell_that_holds_a_stated_delimiter_is_quoted(write):
    findings = findings_of(write("a.csv", 'sep=^\nid^text\n1^"the ^ cat sleeps"\n2^a parcel\n'))
    assert findings.cleaned_file() == 'id^text\r\n1^"the ^ cat sleeps"\r\n2^a parcel\r\n'


def test_rows_that_were_not_read_are_named_where_rows_stay(write):
    shown = view.staying(findings_of(write("a.csv", ROWS)))
    assert "1 row skipped, blank sentence: row 2" in shown and "1 row skipped, 4 cells where the header has 3: row 4" in shown
    assert "skipped" not in view.staying(findings_of(write("b.csv", "id,text\n1,a\n2,b c\n")))


def test_copies_are_safe_to_remove_only_if_every_column_is_the_same(write):
    rows = ["1,the cat sleeps,x,5", "1,the cat sleeps,x,5", "1,the cat sleeps,y,6", "1,the cat sleeps,x,6", "2,a parcel,x,5"]
    findings = findings_of(write("a.csv", "\n".join(["id,text,channel,amount", *rows])))
    assert findings.differing == (2, ["channel", "amount"])
    shown = view.headline(findings).replace("&#39;", "'")
    assert "3 exact copies</b> of earlier rows' text: 1 is the same in every column, safe to remove; 2 differ in channel" in shown
    assert (findings.summary(0)["differing_copies"], findings.summary(0)["differing_columns"]) == (2, ["channel", "amount"])
