"""Names of columns as tools write them: questions, names in two rows, one cell off, or none; above rows of each kind."""

import json

import pytest

from tests.tables.files import workbook

SAID = ["The tap drips", "No light in the hall", "Where is the key?", "It is cold", "The lift is slow", "The door sticks"]
GROUPS = "id,score,Which have you used?,,,comment\n"

NAMED = {
    "a question above answers, beside numbers": ("id,What went wrong on your last visit to us?\n", "{i},{said}\n"),
    "a question above answers, and nothing else": ("What went wrong?\n", "{said}!\n"),
    "a long name beside a few values": ("team,Kundenkommentar (Freitext; maximal 500 Zeichen)\n", "A,{said}\n"),
    "abbreviations": ("No.,comment,Tel.\n", "{i},{said},0{i}\n"),
    "moments": ("Time of day when this was sent by you,comment\n", "2025-03-0{i} 08:05,{said}\n"),
    "columns that pandas counted": (",0,1\n", "{i},{said},A\n"),
    "names of rows, as R writes them": ("comment,group\n", "r{i},{said},A\n"),
    "a comma at the end of each row": ("id,comment\n", "{i},{said},\n"),
    "blanks after the commas": ('id, "comment", n\n', '{i}, "{said}, he said", 3\n'),
}  # fmt: skip
UNNAMED = {
    "a number": "{i},{said} and we waited for three weeks\n",
    "a value that comes again": "{said} and we waited for three weeks.,angry\n",
    "sentences alone": "{said} and we waited for three weeks.\n",
}
JOINED = {
    "SurveyMonkey": (
        GROUPS + ",,App,Site,Branch,Open-Ended Response\n",
        ["id", "score", "Which have you used?: App", "Which have you used?: Site", "Which have you used?: Branch", "comment"],
    ),
    "merged cells": (
        "Customer,,,Feedback,,\nID,Name,Region,Comment,Rating,Month\n",
        ["Customer: ID", "Customer: Name", "Customer: Region", "Feedback: Comment", "Feedback: Rating", "Feedback: Month"],
    ),
}


def rows(form: str) -> str:
    return "".join(form.format(i=i, said=said) for i, said in enumerate(SAID, 1))


@pytest.mark.parametrize("case", NAMED)
def test_a_first_row_that_can_only_be_names_names_the_columns(case, read):
    header, form = NAMED[case]
    table = read("a.csv", header + rows(form))
    assert len(table.frame) == len(SAID) and table.skipped == () == table.notes
    assert set(header.replace('"', "").replace(", ", ",").strip().split(",")) - {""} <= {*table.frame.columns}


def test_a_hostile_first_row_takes_no_longer_than_its_length(read):
    below = rows("{i},{said}\n")
    assert len(read("a.csv", f"{'1' * 900_000}abcd,What went wrong on your last visit to us?\n{below}").frame) == len(SAID)


@pytest.mark.parametrize("case", UNNAMED)
def test_a_first_row_that_is_like_the_others_is_data(case, read):
    table = read("a.csv", rows(UNNAMED[case]))
    assert len(table.frame) == len(SAID) and "No header row" in table.notes[0]


@pytest.mark.parametrize("case", JOINED)
def test_names_in_two_rows_are_joined(case, read):
    header, names = JOINED[case]
    table = read("a.csv", header + rows("{i},4,App,,Branch,{said}\n"))
    assert [*table.frame.columns] == names and table.rows.tolist() == [1, 2, 3, 4, 5, 6]
    assert table.notes == ("The names of the columns stand in two rows, which were joined.",)
    assert len(read("a.csv", GROUPS + rows("{i},4,App,Site,Branch,{said}\n")).frame) == len(SAID)  # the first row is none of names


def test_what_qualtrics_writes_below_the_names_is_left_out(read):
    imports = ",".join('"{}"'.format(json.dumps({"ImportId": name}).replace('"', '""')) for name in ("start", "QID2_TEXT"))
    header = f"StartDate,Q2\nStart Date,Please tell us why you gave this score.\n{imports}\n"
    table = read("a.csv", header + rows("2025-03-0{i},{said}\n"))
    assert table.frame["Q2"].tolist() == SAID and table.notes[0].startswith("2 rows below the names left out")


def test_the_first_row_of_a_sheet_has_the_names_unless_it_cannot(read_here):
    question = "Tell us in your own words what went wrong on your visit"
    below = {f"{column}{i + 1}": cell for i, said in enumerate(SAID, 1) for column, cell in (("A", str(i)), ("B", said))}
    assert [*read_here("a.xlsx", workbook({"A1": "Nr.", "B1": question} | below)).frame.columns] == ["Nr.", question]
    table = read_here("b.xlsx", workbook({"A1": "0", "B1": question} | below))
    assert len(table.frame) == 1 + len(SAID) and "No header row was found" in table.notes[0]
