"""Every format, and every kind of bad file with the message it gets."""

import gzip
import io
import json
import os
import zipfile
from dataclasses import replace

import pandas as pd
import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables import Skip, read_table, table_from_lines

LIMITS = Limits()
ROWS = [
    {"text": "first, with comma", "team": "A"},
    {"text": 'second "quoted"', "team": ""},
    {"text": "dritte Zeile ü 😀", "team": "B"},
]


def parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def xlsx(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_excel(stream, index=False)
    return stream.getvalue()


FRAME = pd.DataFrame(ROWS)
FILES = {
    "a.csv": FRAME.to_csv(index=False),
    "a.csv.gz": FRAME.to_csv(index=False),
    "semicolon.csv": FRAME.to_csv(index=False, sep=";"),
    "bom.csv": "\ufeff" + FRAME.to_csv(index=False),
    "utf16.csv": FRAME.to_csv(index=False).encode("utf-16"),
    "a.tsv": "text\tteam\nfirst, with comma\tA\nsecond \"quoted\"\t\ndritte Zeile ü 😀\tB\n",
    "quoted.tsv": '"text"\t"team"\n"first, with comma"\t"A"\n"second ""quoted"""\t""\n"dritte Zeile ü 😀"\t"B"\n',
    "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "a.jsonl.gz": "".join(json.dumps(row) + "\n" for row in ROWS),
    "a.json": json.dumps(ROWS),
    "wrapped.json": json.dumps({"data": ROWS}),
    "a.parquet": parquet(FRAME),
    "a.xlsx": xlsx(FRAME),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_table(name, write):
    table = read_table(write(name, FILES[name]), LIMITS)
    assert table.frame.to_dict("records") == ROWS
    assert table.rows.tolist() == [1, 2, 3]
    assert table.skipped == ()


def test_txt_is_one_sentence_a_line_and_cuts_only_at_line_ends(write):
    table = read_table(write("a.txt", "one\r\ntwo\u2028still two\x0cstill\nthree"), LIMITS)
    assert table.frame["text"].tolist() == ["one", "two\u2028still two\x0cstill", "three"]


def test_pasted_lines_skip_blank_ones_and_keep_their_numbers():
    table = table_from_lines("one\n\n  \nfour\n", LIMITS)
    assert table.frame["text"].tolist() == ["one", "four"] and table.rows.tolist() == [1, 4]


def test_words_that_look_like_missing_values_stay_words(write):
    table = read_table(write("a.csv", "text,n\nnull,NA\nNaN,nan\nNone,\n"), LIMITS)
    assert table.frame.to_numpy().tolist() == [["null", "NA"], ["NaN", "nan"], ["None", ""]]


def test_json_values_become_text_and_missing_ones_empty(write):
    table = read_table(
        write("a.jsonl", '{"text": "a", "n": 1, "deep": {"x": [1]}}\n{"text": "b", "n": NaN}\n"just a sentence"\n'), LIMITS
    )
    assert table.frame.to_dict("records") == [
        {"text": "a", "n": "1", "deep": '{"x": [1]}'},
        {"text": "b", "n": "", "deep": ""},
        {"text": "just a sentence", "n": "", "deep": ""},
    ]


def test_a_stray_quotation_mark_in_a_tsv_swallows_no_lines(write):
    table = read_table(write("a.tsv", 'text\tlabel\n"Open the door\t1\nsaid "no"\t0\nlast"\t1\n'), LIMITS)
    assert table.frame["text"].tolist() == ['"Open the door', 'said "no"', 'last"']


def test_line_breaks_inside_quoted_csv_cells_stay_one_row(write):
    table = read_table(write("a.csv", 'text,n\n"two\nlines",1\nnext,2\n'), LIMITS)
    assert table.frame["text"].tolist() == ["two\nlines", "next"]


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


def test_one_column_of_prose_with_commas_is_not_torn(write):
    table = read_table(write("a.csv", "text\nhello, you\none, two, three\nnone\n"), LIMITS)
    assert table.frame["text"].tolist() == ["hello, you", "one, two, three", "none"]


def test_windows_1252_is_read_and_said(write):
    table = read_table(
        write("a.csv", "text,n\nCafé Müller – “très” bon prix,1\nand plain ascii text after it,2\n".encode("cp1252")), LIMITS
    )
    assert table.frame["text"][0] == "Café Müller – “très” bon prix"
    assert "Windows-1252" in table.notes[0]


def test_nul_bytes_and_lone_surrogates_are_removed(write):
    table = read_table(
        write(
            "a.csv", "text,n\na normal sentence wi\0th a NUL in it and more words after it to be text,1\n" + "more rows,2\n" * 20
        ),
        LIMITS,
    )
    assert "\0" not in table.frame["text"][0] and table.notes == ("1 NUL characters were removed.",)
    odd = read_table(write("a.jsonl", '{"text": "half \\ud83d of an emoji"}\n'), LIMITS)
    odd.frame["text"][0].encode()


def test_a_million_character_cell_is_read(write):
    assert len(read_table(write("a.csv", "text,n\n" + "x" * 1_000_000 + ",1\n"), LIMITS).frame["text"][0]) == 1_000_000


def test_later_sheets_are_mentioned(write, tmp_path):
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        FRAME.to_excel(book, sheet_name="Tickets", index=False)
        FRAME.to_excel(book, sheet_name="Other", index=False)
    assert read_table(tmp_path / "two.xlsx", LIMITS).notes == ("Read the first of 2 sheets, 'Tickets'.",)


BAD = {
    "unknown ending": ("a.docx", b"x", "'a.docx' is not a format this app reads. Use one of csv, tsv"),
    "no ending": ("data", b"x", "'data' is not a format this app reads"),
    "empty": ("a.csv", b"", "'a.csv' is empty. Choose a file with at least one sentence"),
    "blank": ("a.csv", b"\n\n", "'a.csv' has no rows"),
    "header only": ("a.csv", b"text,n\n", "'a.csv' has a header but no rows"),
    "wrong encoding": ("a.csv", "text\n日本語".encode("shift_jis"), r"'a.csv' is not UTF-8 text \(line 2\). Save it as UTF-8"),
    "picture renamed": ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "'a.csv' is a binary file .* Export it as CSV"),
    "workbook renamed": ("a.csv", xlsx(FRAME), "'a.csv' is a binary file"),
    "binary renamed": ("a.csv", bytes(1000) + b"abc", "'a.csv' is a binary file, not text"),
    "broken json": ("a.json", b'{"a": ', "'a.json' is not valid JSON"),
    "json number": ("a.json", b"5", "'a.json' must hold a list of sentences or of objects"),
    "deep json": ("a.json", b"[" * 100_000, "'a.json' is not valid JSON"),
    "no json line": ("a.jsonl", b"hello\nworld\n", "'a.jsonl' holds no valid JSON line"),
    "broken gzip": ("a.csv.gz", b"\x1f\x8bnope", "'a.csv.gz' is not a complete gzip file"),
    "broken parquet": ("a.parquet", b"PAR1nope", "'a.parquet' is not a readable parquet file"),
    "broken workbook": ("a.xlsx", b"PK\x03\x04nope", "'a.xlsx' is not a readable .xlsx workbook"),
    "too many columns": ("a.csv", ",".join(f"c{i}" for i in range(300)) + "\n", "'a.csv' has 300 columns, the limit is 200"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_a_message_with_a_way_out(case, write):
    name, content, message = BAD[case]
    with pytest.raises(UserError, match=message):
        read_table(write(name, content), LIMITS)


def test_broken_json_lines_are_skipped_with_their_numbers(write):
    table = read_table(write("a.jsonl", '{"text": "a"}\nnot json\n{"text": "b"}\n'), LIMITS)
    assert table.rows.tolist() == [1, 3] and table.skipped == (Skip(2, "not valid JSON"),)


def test_a_one_gigabyte_file_is_refused_without_reading_it(tmp_path):
    path = tmp_path / "big.csv"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1024 * MEGABYTE)
    with pytest.raises(UserError, match="'big.csv' has 1,024 MB, the limit is 256 MB. Split the file"):
        read_table(path, LIMITS)


def test_a_gzip_bomb_is_cut_off(write):
    bomb = gzip.compress(b"a" * (3 * MEGABYTE))
    with pytest.raises(UserError, match="'bomb.txt.gz' unpacks to more than 2 MB, the limit"):
        read_table(write("bomb.txt.gz", bomb), replace(LIMITS, unpacked_bytes=2 * MEGABYTE))


def test_a_zip_bomb_in_a_workbook_is_refused_before_it_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (3 * MEGABYTE))
    with pytest.raises(UserError, match="'bomb.xlsx' unpacks to 3 MB, the limit is 2 MB"):
        read_table(tmp_path / "bomb.xlsx", replace(LIMITS, unpacked_bytes=2 * MEGABYTE))


@pytest.mark.parametrize("name", ["a.parquet", "a.xlsx"])
def test_one_long_text_named_a_thousand_times_is_refused(name, write):
    shared = pd.DataFrame({"text": ["long " * 4_000] * 1_000, "n": range(1_000)})
    path = write(name, {"a.parquet": parquet, "a.xlsx": xlsx}[name](shared))
    assert path.stat().st_size < MEGABYTE
    with pytest.raises(UserError, match=f"'{name}' unpacks to 19 MB, the limit is 10 MB"):
        read_table(path, replace(LIMITS, unpacked_bytes=10 * MEGABYTE))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_too_many_rows_name_both_numbers(name, write):
    with pytest.raises(UserError, match="has 3 rows, the limit is 2. Split the file"):
        read_table(write(name, FILES[name]), replace(LIMITS, rows=2))
