"""What the Duplicates tab shows of groups: copies of a row on one line, reasons in words, a button only where it matters."""

import re

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.duplicates import COPIES, SIMILAR, find_duplicates
from sbert_app.corpus.findings import Findings, Mined
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.ui.duplicates import groups_view, view
from sbert_app.ui.duplicates.groups_view import groups
from sbert_app.vectors import unit_rows


def findings(sentences, vectors, remove, always=frozenset(), **metadata):
    frame = pd.DataFrame(metadata, index=range(len(sentences)))
    corpus = Corpus("c", ("text",), sentences, frame, np.arange(1, len(sentences) + 1))
    indexed = IndexedCorpus.build(corpus, "m", "f", unit_rows(np.array(vectors, np.float32)))
    *_, last = find_duplicates(sentences, indexed.embeddings)
    duplicates = last.result
    return Findings(Mined(indexed, duplicates, {"compare": 0.01}), 0.9, duplicates.grouping(0.9), {"compare": 0.01}, remove, always)


@pytest.fixture
def colours():
    """Rows 1 to 5 are one group: five reds, two of which read "crimson"; rows 6 and 7 are similar, 8 is alone."""
    sentences = ["red", "red", "crimson", "crimson", "red", "blue", "navy", "green"]
    vectors = [(1, 0, 0) if s == "red" else (1, 0.3, 0) if s == "crimson" else (0, 0, 1) for s in sentences]
    vectors[6], vectors[7] = (0, 0.2, 1), (0, 1, 0)
    return lambda *how: findings(sentences, vectors, *how)


def lines(html):
    """Verdict, reason and rows of each line of each group."""
    line = re.compile(
        r'class="verdict">(\w+)</span><span class="reason">([^<]*)(?: <mark>.*?</mark>)?</span>.*?class="file-row">([^<]*)<'
    )
    return [line.findall(group) for group in html.split('<li class="dup-group"')[1:]]


def test_copies_of_a_row_share_a_line_with_the_reason_in_words(colours):
    first, second = lines(groups(colours(COPIES)))
    assert first == [("keep", "", "row 1"), ("drop", "2 exact copies", "rows 2, 5"), ("keep", "0.96 similar", "row 3"),
                     ("drop", "exact copy of row 3", "row 4")]  # fmt: skip
    assert second == [("keep", "", "row 6"), ("keep", "0.98 similar", "row 7")]


def test_where_the_rows_of_a_group_differ_is_shown_with_what_the_first_row_has():
    """Rows 1 to 4 are copies: 1 and 2 have one team, 3 another, 4 none; all have one product."""
    html = groups(findings(["red"] * 4, [(1, 0)] * 4, COPIES, team=["a", "a", "b", ""], product=["x"] * 4))
    assert [reason for _, reason, _ in lines(html)[0]] == ["", "exact copy", "exact copy", "exact copy"]
    shown = re.findall(r'<div class="differing">(.*?)</div>', html)
    assert shown[:2] == ["<span>team a</span>"] * 2
    assert shown[2:] == [f'<span>team <mark title="Not as in row 1: a">{value}</mark></span>' for value in ("b", "empty")]
    many = {f"column {i}": list("1234") for i in range(6)}
    assert groups(findings(["red"] * 4, [(1, 0)] * 4, COPIES, **many)).count("and 2 more columns") == 4
    assert "differing" not in groups(findings(["red"] * 4, [(1, 0)] * 4, COPIES, product=["x"] * 4))


def test_the_other_lines_of_a_large_group_unfold(monkeypatch):
    found = findings([f"red {letter}" for letter in "abcdefghijkl"], [(1, 0)] * 12, SIMILAR)
    html = groups(found)
    assert len(lines(html)[0]) == 12 and len(lines(html.split("<details>")[0])[0]) == 8
    assert "<summary>4 more rows, 4 to drop</summary>" in html and groups_view.IN_FILE not in html
    monkeypatch.setattr(groups_view, "MOST_LINES", 10)
    html = groups(found)
    assert len(lines(html)[0]) == 10 and groups_view.IN_FILE in html and "<summary>4 more rows" in html


def test_a_group_has_a_button_if_it_would_lose_a_row(colours):
    assert [html.count("keep-all") for html in (groups(colours(COPIES)), groups(colours(SIMILAR)))] == [1, 2]
    whole = groups(colours(SIMILAR, frozenset({5, 6})))
    assert re.findall(r'data-centre="(\d)" aria-pressed="(\w+)"', whole) == [("1", "false"), ("6", "true")]
    assert lines(whole)[1] == [("keep", "", "row 6"), ("keep", "0.98 similar", "row 7")]
    assert "3 of 8 rows stay</b> in cleaned.csv, 5 are removed.<" in view.staying(colours(SIMILAR))
    assert "4 of 8 rows stay</b> in cleaned.csv, 4 are removed. 1 row stays" in view.staying(colours(SIMILAR, frozenset({5, 6})))


def test_the_headline_leads_with_what_is_certain(colours):
    headline = re.sub("<[^>]*>", "", view.headline(colours(COPIES)))
    assert headline.startswith(
        "3 exact copies of earlier rows' text: 3 are the same in every column, safe to remove.2 more rows are similar"
    )
    assert "ms" not in headline.split("before you remove them.")[0]


def test_beyond_ten_the_groups_are_folded():
    sentences = [f"text {i}" for i in range(11) for _ in (0, 1)]
    vectors = np.repeat(np.eye(11), 2, axis=0)
    folded = groups(findings(sentences, vectors, COPIES))
    assert len(lines(folded)) == 11 and len(lines(folded.split("<details")[0])) == 10
    assert '<details class="dup-more"><summary>Show all 11 groups<' in folded
    assert '<details class="dup-more" open>' in groups(findings(sentences, vectors, COPIES), unfolded=True)


def test_another_number_a_denial_or_signs_are_noted_on_the_row_in_the_files_and_for_what_is_folded():
    texts = ["2 radiators stay cold", "2 radiators don't stay cold", *(f"{n} radiators stay cold" for n in range(3, 13))]
    found = findings(texts, [(1, 0.01 * i) for i in range(12)], SIMILAR)
    html, records = groups(found), {record["row"]: record for record in found.verdicts()}
    assert {record["representative"] for record in records.values()} == {1}
    denied, others = "one may deny the other", "numbers or dates differ"
    assert [records[row]["caution"] for row in range(1, 13)] == ["", denied, *[others] * 10]
    assert html.count(f"<mark>{others}</mark>") == 10 and html.count(f"<mark>{denied}</mark>") == 1
    assert "4 more rows, 4 to drop, 4 to look at" in html
    pairs = {(pair["row1"], pair["row2"]): pair["caution"] for pair in found.summary(100)["pairs"]}
    assert pairs[1, 2] == denied and pairs[1, 3] == others
    assert view.pair_record(found.pairs(1)[0])["caution"] == found.pairs(1)[0].caution != ""
    assert "<mark>signs, no words</mark>" in groups(findings(["👍👍👍", "😡😡"], [(1, 0), (1, 0.01)], SIMILAR))
