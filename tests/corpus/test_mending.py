"""What is said of messy files, counted by hand, and what each mend makes of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.mending import DATES, MARKUP, MENDS, NOTHING, REPEATS, SPACES, findings, mended, without_html
from sbert_app.settings import Limits
from sbert_app.tables import Table, read_table

# name -> the file, what is said of it (beginning of the text, rows), a mend, and a column of the mended file, none if all stays
FILES = {
    "clean": ("text\na cat\na dog\n", [], SPACES, None),
    "empty": ('n,text\n1,a cat\n2,""\n3,  \n', [("2 rows have no text", [2, 3])], REPEATS, None),
    "one empty": ('n,text\n1,a cat\n2,""\n', [("1 row has no text", [2])], SPACES, None),
    "repeats": (
        "text\na cat\na dog\na cat\na cat \n", [("2 rows repeat an earlier text", [3, 4])],
        REPEATS, ("text", ["a cat", "a dog"]),
    ),
    "repeats differ": (
        "text,city\na cat,Rome\na cat,Rome\na cat,Oslo\n",
        [("2 rows repeat an earlier text; 1 of them differs in other columns", [2, 3])],
        REPEATS, ("city", ["Rome"]),
    ),
    "nothing said": (
        "text\nk.A.\n-\nN/A\nNo comment.\na cat\nno\n👍\nnone of them\nNatal\n", [("4 rows say nothing, like “", [1, 2, 3, 4])],
        NOTHING, ("text", ["a cat", "no", "👍", "none of them", "Natal"]),
    ),
    "case differs": ("text\nA cat\na cat\n", [], REPEATS, None),
    "tags": ("text\n<p>a <b>cat</b></p>\na dog\n", [("1 row holds HTML", [1])], MARKUP, ("text", ["a cat", "a dog"])),
    "lines": ("text\na cat<br/>a dog<BR>end\n", [("1 row holds HTML", [1])], MARKUP, ("text", ["a cat a dog end"])),
    "entities": ("text\ncats &amp; dogs&#33;\n", [("1 row holds HTML", [1])], MARKUP, ("text", ["cats & dogs!"])),
    "script": ("text\n<script>go()</script>a cat<!-- no -->\n", [("1 row holds HTML", [1])], MARKUP, ("text", ["a cat"])),
    "no tags": ("text\na < b and c > d\nR&D <3 AT&T\nx.org?a=1&copy=2\n<name@site.org>\n", [], MARKUP, None),
    "spaces": (
        "text\na  cat\na\u00a0dog\na cow\n", [("2 rows hold odd spaces", [1, 2])],
        SPACES, ("text", ["a cat", "a dog", "a cow"]),
    ),
    "invisible": ("text\na c\u200bat\nfami\u00adly\n", [("2 rows hold odd spaces", [1, 2])], SPACES, ("text", ["a cat", "family"])),
    "joined emoji": ("text\n👩\u200d🔬 at work\n", [], SPACES, None),
    "lines stay": ('text\n"a cat\na dog"\n', [], SPACES, None),
    "two forms": (
        "text,day\na cat,2026-03-05\na dog,05.03.2026\na cow,6.3.2026\n",
        [("The dates of “day” are written in several ways, 2 not", [2, 3])],
        DATES, ("day", ["2026-03-05", "2026-03-05", "2026-03-06"]),
    ),
    "one form": ("text,day\na cat,05.03.2026\na dog,06.03.2026\na cow,n/a\n", [], DATES, None),
    "either way": (
        "text,day\na cat,2026-03-05\na dog,2026-03-06\na cow,03/04/2026\na pig,2026-01-01\n",
        [("The dates of “day” are written in several ways, 1 not as 2026-03-31; 1 like 03/04/2026 stays: day or", [3])],
        DATES, None,
    ),
    "years of two digits": (
        "text,day\na cat,21.01.2025\na dog,14/6/25\na cow,3/4/25\na pig,05.03.69\na hen,1/13/2025\n",
        [("The dates of “day” are written in several ways, 5 not as 2026-03-31", [1, 2, 3, 4, 5])],
        DATES, ("day", ["2025-01-21", "2025-06-14", "2025-04-03", "1969-03-05", "2025-01-13"]),
    ),
    "two digits either way": (
        "text,day\na cat,21.01.2025\na dog,4/6/25\na cow,3/4/25\na pig,soon\na hen,2025-01-02\n",
        [
            (
                "The dates of “day” are written in several ways, 3 not as 2026-03-31; 2 like 4/6/25 stay: day or month first?"
                "; 1 like soon stays: not read as a date",
                [1, 2, 3],
            )
        ],
        DATES, ("day", ["2025-01-21", "4/6/25", "3/4/25", "soon", "2025-01-02"]),
    ),
    "versions": ("text,version\na cat,1.2.10\na dog,10-11-12\na cow,2026-03-05\n", [], DATES, None),
    "times": (
        "text,at\na cat,2026-03-05T10:00\na dog,31.03.2026 18:30\na cow,\n",
        [("The dates of “at” are written in several ways, 1 not", [2])],
        DATES, ("at", ["2026-03-05T10:00", "2026-03-31 18:30:00", ""]),
    ),
    "languages": (
        "text\nThe bill is wrong\nDie Rechnung ist nicht richtig\nje ne suis pas dans la maison\n請求書が違う\n42 👍\n",
        [("At least 3 rows do not look English", [2, 3, 4])], SPACES, None,
    ),
    "all at once": (
        "text,day\na cat,2026-03-05\n<i>a</i>  cat,05.03.2026\n",
        [
            ("1 row holds HTML", [2]),
            ("1 row holds odd spaces", [2]),
            ("The dates of “day” are written in several ways, 1 not", [2]),
        ],
        MARKUP, ("text", ["a cat", "a cat"]),
    ),
}  # fmt: skip


def table_of(tmp_path, content: str) -> Table:
    path = tmp_path / "messy.csv"
    path.write_text(content, encoding="utf-8")
    return read_table(path, Limits())


@pytest.mark.parametrize("name", FILES)
def test_each_fault_is_counted_and_its_mend_does_what_it_says(name, tmp_path):
    content, faults, mend, after = FILES[name]
    table = table_of(tmp_path, content)
    before = table.frame.copy()
    listed = [(fault.text, fault.rows.tolist()) for fault in findings(table, ["text"])]
    assert len(listed) == len(faults), listed
    for (text, rows), (beginning, numbers) in zip(listed, faults, strict=True):
        assert text.startswith(beginning)
        assert rows == numbers
    column, cells = after or ("text", before["text"].tolist())
    done = mended(table, ["text"], [mend]).frame
    assert done[column].tolist() == cells and (after or done.equals(before))
    pd.testing.assert_frame_equal(table.frame, before)  # so it can be taken back


def test_mends_work_together_and_rows_keep_their_numbers(tmp_path):
    table = table_of(tmp_path, FILES["all at once"][0] + "a dog,2026-03-07\n")
    whole = mended(table, ["text"], MENDS)
    assert whole.frame["text"].tolist() == ["a cat", "a dog"]
    assert whole.rows.tolist() == [1, 3]
    assert [(skip.row, skip.reason) for skip in whole.skipped] == [(2, "repeats an earlier text")]


def test_several_text_columns_are_one_text(tmp_path):
    table = table_of(tmp_path, "title,body\nCats,sleep\nCats,run\nCats,sleep\n")
    assert [fault.rows.tolist() for fault in findings(table, ["title", "body"])] == [[3]]
    assert mended(table, ["title", "body"], [REPEATS]).rows.tolist() == [1, 2]


@pytest.mark.parametrize("piece", ["<script>", "<script ", "<!--", "<p ", "&", "&#", "<", "a\u00a0 "])
def test_a_hostile_cell_takes_no_longer_than_its_length(piece, tmp_path):
    cell = piece * (1_000_000 // len(piece))  # in quadratic time this would take an hour
    table = replace(table_of(tmp_path, "text\na cat\n"), frame=pd.DataFrame({"text": [cell]}, dtype=object), rows=np.array([1]))
    assert all(fault.mend == SPACES for fault in findings(table, ["text"]))
    assert without_html(cell) == cell
