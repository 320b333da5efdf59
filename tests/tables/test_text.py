"""Text files: delimiters, headers, quotes, blank and ragged rows; JSON, one object a line, or a list."""

from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.tables import Skip, read_table
from tests.tables.files import HOSTED, LIMITS

CELLS = {
    "a line is cut only at its end": ("a.txt", "one\r\nwe\u2028are\x0cstill\nthree", ["one", "we\u2028are\x0cstill", "three"]),
    "words that look like missing values": ("a.csv", "text,n\nnull,NA\nNaN,nan\nNone,\n", ["null", "NA", "NaN", "nan", "None", ""]),
    "a stray quotation mark": ("a.tsv", 'text\n"Open the door\nsaid "no"\nlast"\n', ['"Open the door', 'said "no"', 'last"']),
    "a line break inside a quoted cell": ("a.csv", 'text,n\n"two\nlines",1\nnext,2\n', ["two\nlines", "1", "next", "2"]),
    "prose with commas": ("a.csv", "text\nhello, you\none, two, three\nnone\n", ["hello, you", "one, two, three", "none"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CELLS)
def test_cells_are_read_as_they_were_meant(case, write):
    name, content, cells = CELLS[case]
    assert read_table(write(name, content), LIMITS).frame.to_numpy().ravel().tolist() == cells


def test_ragged_rows_are_skipped_with_their_numbers(write):
    table = read_table(write("a.csv", "text,n\ngood,1\ntoo,many,cells\nshort\n,\nlast,2\n"), LIMITS)
    assert table.frame["text"].tolist() == ["good", "", "last"]
    assert table.rows.tolist() == [1, 4, 5]
    assert table.skipped == (Skip(2, "3 cells where the header has 2"), Skip(3, "1 cells where the header has 2"))


def test_a_file_without_header_is_read_from_its_first_row(write):
    table = read_table(write("a.csv", "I cannot log in to my account any more.,5\nThe parcel is late.,3\n"), LIMITS)
    assert list(table.frame.columns) == ["column_1", "column_2"] and len(table.frame) == 2
    assert "No header row was found" in table.notes[0]


def test_equal_and_blank_column_names_are_told_apart(write):
    table = read_table(write("a.tsv", "text\ttext\t\t\na\tb\tc\td\n"), LIMITS)
    assert list(table.frame.columns) == ["text", "text_2", "column_3", "column_4"] and len(table.frame) == 1


def test_blank_lines_keep_their_row_numbers(write):
    for name, sign in (("a.csv", ","), ("a.tsv", "\t")):
        table = read_table(write(name, f"text{sign}n\nfirst{sign}1\n\nthird{sign}3\n\n\n"), LIMITS)
        assert table.rows.tolist() == [1, 3] and table.skipped == (Skip(2, "blank"),)


def test_excels_separator_line_and_a_title_above_the_table_are_understood(write):
    table = read_table(write("a.csv", "sep=;\ntext;n\nhello, you;1\n"), LIMITS)
    assert table.frame.to_dict("records") == [{"text": "hello, you", "n": "1"}]
    for title in ("Report of June\n\n", "Report of June;;\n;;\n"):
        table = read_table(write("b.csv", f"{title}text;team;n\nhello, you;A;1\nand, you, too;B;2\n"), LIMITS)
        assert table.frame["text"].tolist() == ["hello, you", "and, you, too"] and table.rows.tolist() == [1, 2]
        assert table.notes == ("1 line above the header left out.",)


def test_a_blank_column_name_is_no_title(write):
    table = read_table(write("a.csv", "text,\nfirst,1\nsecond,2\n"), LIMITS)
    assert list(table.frame.columns) == ["text", "column_2"] and len(table.frame) == 2


def test_decimal_commas_do_not_pass_for_the_delimiter(write):
    rows = "".join(f"{i};hello there;3,5{i}\n" for i in range(9))
    for title in ("", "Report of June\n\n", "Report of June;;\n"):
        table = read_table(write("a.csv", f"{title}id;text;price\n{rows}"), LIMITS)
        assert table.frame.iloc[3].to_dict() == {"id": "3", "text": "hello there", "price": "3,53"} and len(table.frame) == 9
    table = read_table(write("b.csv", "id,text,price\n" + rows.replace(",", ".").replace(";", ",")), LIMITS)
    assert table.frame["price"][3] == "3.53"


def test_a_million_character_cell_is_read(write):
    assert len(read_table(write("a.csv", "text,n\n" + "x" * 1_000_000 + ",1\n"), LIMITS).frame["text"][0]) == 1_000_000


def test_a_long_line_and_an_open_quotation_mark_end_the_reading(write):
    limits = replace(LIMITS, cell_characters=1_000)
    with pytest.raises(UserError, match="'a.txt' has more than 1,000 characters in line 2"):
        read_table(write("a.txt", "text\n" + "x" * 1_001), limits)
    with pytest.raises(UserError, match="in the row that begins in line 3. Look for a quotation mark"):
        read_table(write("a.csv", 'text,n\na,1\n"open,1\n' + "b,2\n" * 1_000), limits)


def test_blank_rows_below_the_table_do_not_count(write):
    table = read_table(write("a.csv", "text,n\na,1\n" + ",\n" * 60_000), HOSTED)
    assert table.rows.tolist() == [1] and table.skipped == ()


def test_rows_that_do_not_fit_are_listed_only_so_far(write):
    with pytest.raises(UserError, match="more than 50,000 rows that cannot be read, the first is row 61: 1 cells"):
        read_table(write("a.csv", "text,n\n" + "a,1\n" * 60 + "b\n" * 60_000), HOSTED)


def test_cells_are_counted_too(write):
    with pytest.raises(UserError, match="has 8 cells, the limit is 7. Keep only the columns you need"):
        read_table(write("a.csv", "a,b\n" + "x,y\n" * 4), replace(LIMITS, cells=7))


def test_a_strange_separator_line_is_data(write):
    assert len(read_table(write("a.csv", 'sep="\ntext\nfirst\n'), LIMITS).frame) >= 1


def test_json_values_become_text_and_missing_ones_empty(write):
    table = read_table(
        write("a.jsonl", '{"text": "a", "n": 1, "deep": {"x": [1]}}\n{"text": "b", "n": NaN}\n"just a sentence"\n'), LIMITS
    )
    assert table.frame.to_dict("records") == [
        {"text": "a", "n": "1", "deep": '{"x": [1]}'},
        {"text": "b", "n": "", "deep": ""},
        {"text": "just a sentence", "n": "", "deep": ""},
    ]


def test_broken_json_lines_are_skipped_with_their_numbers(write):
    table = read_table(write("a.jsonl", '{"text": "a"}\nnot json\n{"text": "b"}\n'), LIMITS)
    assert table.rows.tolist() == [1, 3] and table.skipped == (Skip(2, "not valid JSON"),)


def test_columns_stop_at_the_limit_while_they_come_up(write):
    keys = "".join(f'{{"key{i}": 1}}\n' for i in range(50_000))
    with pytest.raises(UserError, match="'a.jsonl' has more than 200 columns, the limit is 200"):
        read_table(write("a.jsonl", keys), LIMITS)


def test_empty_objects_say_so(write):
    with pytest.raises(UserError, match="'a.json' has rows without any value"):
        read_table(write("a.json", "[{}, {}]"), LIMITS)


def test_a_value_that_is_nested_too_deeply_is_skipped(write):
    deep = "[" * 900 + "]" * 900
    table = read_table(write("a.jsonl", f'{{"text": "a"}}\n{{"text": {deep}}}\n'), LIMITS)
    assert table.frame["text"][0] == "a" and len(table.frame) + len(table.skipped) == 2


def test_keys_and_values_lose_what_cannot_be_stored(write):
    table = read_table(write("a.jsonl", '{"te\\u0000xt": "a\\u0000", "\\ud83d": "\\ud83d"}\n'), LIMITS)
    assert table.frame.to_dict("records") == [{"text": "a", "?": "?"}]
