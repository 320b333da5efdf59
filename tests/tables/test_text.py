"""Text files: encodings, delimiters, headers, quotes, blank and ragged rows; JSON, one object a line, or a list."""

import gzip
import json
import textwrap
import tracemalloc
from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import Skip
from sbert_app.tables.text import WRAPPED, cell
from tests.tables.files import HOSTED

CELLS = {
    "a line is cut only at its end": ("a.txt", "one\r\nwe\u2028are\x0cstill\nthree", ["one", "we\u2028are\x0cstill", "three"]),
    "words that look like missing values": ("a.csv", "text,n\nnull,NA\nNaN,nan\nNone,\n", ["null", "NA", "NaN", "nan", "None", ""]),
    "a stray quotation mark": ("a.tsv", 'text\n"Open the door\nsaid "no"\nlast"\n', ['"Open the door', 'said "no"', 'last"']),
    "a line break inside a quoted cell": ("a.csv", 'text,n\n"two\nlines",1\nnext,2\n', ["two\nlines", "1", "next", "2"]),
    "marks as Spark writes them": ("a.csv", 'text,n\n"Say \\"no\\", then",1\n"\\"so\\"",2\n', ['Say "no", then', "1", '"so"', "2"]),
    "digits kept by a formula": ("a.csv", 'n,text\n="007","a ""x="" b"\n="010",so\n', ["007", 'a "x=" b', "010", "so"]),
    "lists of JSON": ("a.jsonl", '["How to cook","Cook"]\nno JSON\n["a", 1]\n', ["How to cook", "Cook", "no JSON", "", "a", "1"]),
    "texts that belong together": ("a.jsonl", '{"set": ["a", "b", "c"]}\n{"set": ["d", "e"]}\n', [*"abacde"]),
    "the same in one list": ("a.json", '[{"set": ["a", "b", "c"]}, {"set": ["d", "e"]}]', [*"abacde"]),
    "rows of a sheet as JSON": ("a.json", '[["text", "n"], ["hello", 1], ["so", 2]]', ["hello", "1", "so", "2"]),
    "unquoted tabs in a csv": ("a.csv", 'a 5" pipe\t1\n"so\t2\nlast\t3\n', ['a 5" pipe', "1", '"so', "2", "last", "3"]),
    "a table of tabs as text": ("a.txt", "text\tn\nhello, you\t1\nso\t2\n", ["hello, you", "1", "so", "2"]),
    "a million characters in a cell": ("a.csv", f"text,n\n{'x' * 1_000_000},1\n", ["x" * 1_000_000, "1"]),
    "a strange separator line": ("a.csv", 'sep="\ntext\nfirst\n', ["text", "first"]),
    "prose with commas": ("a.csv", "text\nhello, you\none, two, three\nnone\n", ["hello, you", "one, two, three", "none"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CELLS)
def test_cells_are_read_as_they_were_meant(case, read):
    name, content, cells = CELLS[case]
    assert read(name, content).frame.to_numpy().ravel().tolist() == cells


def lines(count, *stray):
    """A csv of so many rows of three cells; a quotation mark before the text of these."""
    return "id,text,n\n" + "".join(f"{i},{chr(34) * (i in stray)}the tap of flat {i} drips,{i % 7}\n" for i in range(1, count + 1))


@pytest.mark.parametrize(("stray", "rows", "swallowed"), [((12,), 11, 88), ((12, 40), 72, 28), ((12, 40, 98), 69, 30)])
def test_rows_that_a_stray_quotation_mark_has_swallowed_are_told(read, stray, rows, swallowed):
    table = read("a.csv", lines(100, *stray))
    assert len(table.frame) == rows  # one that the file ends in has too few cells
    assert ["in line 13 seems" in note and f"all {swallowed} lines" in note for note in table.notes] == [True]


@pytest.mark.parametrize(
    "cell",
    [
        "Dear team,\n\nthe tap drips, the door sticks,\nyours, A. B.\n" * 3,
        "milk, 2, a\n" * 4,
        'a 5"" pipe\nand a ""tap""',
        "\n" * 9,
    ],
)
def test_a_cell_of_many_lines_is_no_stray_quotation_mark(read, cell):
    assert read("a.csv", lines(20) + f'21,"{cell}",3\n22,last,4\n').notes == ()


@pytest.mark.parametrize("width", [40, 72, 100])
def test_paragraphs_of_wrapped_prose_are_rows_and_lists_of_sentences_stay_lines(read, sentences, width):
    groups = [sentences[start : start + 9] for start in range(0, 90, 9)]
    prose = read("a.txt", "\n\n".join(textwrap.fill(" ".join(group), width, break_on_hyphens=False) for group in groups))
    assert prose.frame["text"].tolist() == [" ".join(group) for group in groups] and prose.notes == (WRAPPED,)
    assert prose.rows.tolist() == list(range(1, 11))
    listed = read("a.txt", "\n\n".join("\n".join(group) for group in groups))
    assert [text for text in listed.frame["text"] if text] == sentences[:90] and listed.notes == ()


BELOW = "It broke,Not whole,yes\nIt is late,It broke,no\n"
RAGGED = [f"{count} cells where the header has 2" for count in (3, 1)]
SKIPPED = {
    "ragged rows": ("a.csv", "text,n\ngood,1\nmany,more,cells\nshort\n,\nlast,2\n", [1, 4, 5], RAGGED),
    "blank lines": ("a.csv", "text,n\nfirst,1\n\nthird,3\n\n\n", [1, 3], ["blank"]),
    "blank lines between tabs": ("a.tsv", "text\tn\nfirst\t1\n\nthird\t3\n\n\n", [1, 3], ["blank"]),
    "blank rows below the table": ("a.csv", "text,n\na,1\n" + ",\n" * 60_000, [1], []),
    "broken lines of JSON": ("a.jsonl", '{"text": "a"}\nnot json\n{"text": "b"}\n', [1, 3], ["not valid JSON"]),
}
COLUMNS = {  # the names of the columns, how many rows, and whether a note says that there is no header
    "no header": ("a.csv", "I cannot log in to my account any more.,5\nThe parcel is late.,3\n", ["column_1", "column_2"], 2, True),
    "a name that asks": ("a.csv", f"message_a,message_b,same issue?\n{BELOW}", ["message_a", "message_b", "same issue?"], 2, False),
    "a value that comes again": ("a.csv", f"Where?,late,yes\n{BELOW}", ["column_1", "column_2", "column_3"], 3, True),
    "most cells ask": ("a.csv", f"Where?,Is it late?,1st\n{BELOW}", ["column_1", "column_2", "column_3"], 3, True),
    "equal and blank names": ("a.tsv", "text\ttext\t\t\na\tb\tc\td\n", ["text", "text_2", "column_3", "column_4"], 1, False),
    "a blank name is no title": ("a.csv", "text,\nfirst,1\nsecond,2\n", ["text", "column_2"], 2, False),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_rows_that_are_skipped_keep_their_numbers(case, read):
    name, content, rows, reasons = SKIPPED[case]
    table = read(name, content, HOSTED)
    assert table.rows.tolist() == rows and table.skipped == tuple(map(Skip, (2, 3), reasons))


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_have_the_names_of_the_header_or_numbers(case, read):
    name, content, columns, rows, has_note = COLUMNS[case]
    table = read(name, content)
    assert list(table.frame.columns) == columns and len(table.frame) == rows
    assert ["No header row was found" in note for note in table.notes] == [True] * has_note


def test_excels_separator_line_and_a_title_above_the_table_are_understood(read):
    table = read("a.csv", "sep=;\ntext;n\nhello, you;1\n")
    assert table.frame.to_dict("records") == [{"text": "hello, you", "n": "1"}]
    for title in ("Report of June\n\n", "Report of June;;\n;;\n"):
        table = read("b.csv", f"{title}text;team;n\nhello, you;A;1\nand, you, too;B;2\n")
        assert table.frame["text"].tolist() == ["hello, you", "and, you, too"] and table.rows.tolist() == [1, 2]
        assert table.notes == ("1 line above the header left out.",)


def test_decimal_commas_do_not_pass_for_the_delimiter(read):
    rows = "".join(f"{i};hello there;3,5{i}\n" for i in range(9))
    for title in ("", "Report of June\n\n", "Report of June;;\n"):
        table = read("a.csv", f"{title}id;text;price\n{rows}")
        assert table.frame.iloc[3].to_dict() == {"id": "3", "text": "hello there", "price": "3,53"} and len(table.frame) == 9
    table = read("b.csv", "id,text,price\n" + rows.replace(",", ".").replace(";", ","))
    assert table.frame["price"][3] == "3.53"


def test_json_values_become_text_and_missing_ones_empty(read):
    table = read("a.jsonl", '{"text": "a", "n": 1, "deep": {"x": [1]}}\n{"text": "b", "n": NaN}\n"just a sentence"\n')
    assert table.frame.to_dict("records") == [
        {"text": "a", "n": "1", "deep.x": "[1]"},
        {"text": "b", "n": "", "deep.x": ""},
        {"text": "just a sentence", "n": "", "deep.x": ""},
    ]


@pytest.mark.parametrize(
    "content",
    [
        '{"ok": true, "messages": [{"text": "a"}, {"text": "b"}], "warnings": ["old"], "errors": []}',
        '{"kind": "list", "data": {"after": "", "children": [{"text": "a"}, {"text": "b"}]}}',
        '{"text": ["a", "b"], "n": [1, 2]}',
        '{"text": {"0": "a", "1": "b"}, "n": {"0": 1, "1": 2}}',
        '{"columns": ["text", "n"], "index": [0, 1], "data": [["a", 1], ["b", 2]]}',
        '{"x1": {"text": "a", "n": 1}, "x2": {"text": "b"}}',
    ],
)
def test_the_records_of_a_json_document_are_found_in_each_form(content, read):
    table = read("a.json", content)
    assert table.frame["text"].tolist() == ["a", "b"] and table.notes == ()


def test_one_object_is_one_record_which_is_told(read):
    table = read("a.json", '{"error": "invalid_auth", "at": {"day": "2025-01-01"}}')
    assert table.frame.to_dict("records") == [{"error": "invalid_auth", "at.day": "2025-01-01"}]
    assert table.notes[0].startswith("The file holds one object")
    wide = json.dumps({"text": "a", "more": {str(i): i for i in range(HOSTED.columns)}})  # it would be too many columns
    assert [*read("a.jsonl", f"{wide}\n").frame.columns] == ["text", "more"]


def test_a_value_that_is_nested_too_deeply_is_skipped(read):
    deep = "[" * 900 + "]" * 900
    table = read("a.jsonl", f'{{"text": "a"}}\n{{"text": {deep}}}\n')
    assert table.frame["text"][0] == "a" and len(table.frame) + len(table.skipped) == 2
    value: list = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(UserError, match="nested too deeply for a table"):
        cell(value)


def test_keys_and_values_lose_what_cannot_be_stored(read):
    table = read("a.jsonl", '{"te\\u0000xt": "a\\u0000", "\\ud83d": "\\ud83d"}\n')
    assert table.frame.to_dict("records") == [{"text": "a", "?": "?"}]


def test_windows_1252_is_read_and_said(read):
    text = "text,n\nCafé Müller – “très” bon prix,1\nand plain ascii text after it,2\n"
    table = read("a.csv", text.encode("cp1252"))
    assert table.frame["text"][0] == "Café Müller – “très” bon prix" and "Windows-1252" in table.notes[0]


def test_nul_bytes_are_removed(read):
    table = read("a.csv", "text,n\na sentence wi\0th a NUL in it and more words after it to be text,1\n" + "more rows,2\n" * 20)
    assert "\0" not in table.frame["text"][0] and table.notes == ("1 NUL characters were removed.",)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.txt.gz", "a.jsonl.gz"])
def test_very_many_short_lines_are_counted_and_not_kept(name, read_here):
    packed = gzip.compress(b"1\n" * 100_000)
    tracemalloc.start()
    with pytest.raises(UserError, match="the limit is 5,000"):
        read_here(name, packed, replace(HOSTED, rows=5_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * MEGABYTE  # 100,000 lines take twice as much
