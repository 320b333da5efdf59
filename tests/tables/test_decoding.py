"""Encodings, and what is removed from text."""

import gzip
from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import read_table
from tests.tables.files import LIMITS


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


def test_a_gzip_bomb_is_cut_off(write):
    bomb = gzip.compress(b"a" * (3 * MEGABYTE))
    with pytest.raises(UserError, match="'bomb.txt.gz' unpacks to more than 2 MB, the limit"):
        read_table(write("bomb.txt.gz", bomb), replace(LIMITS, unpacked_bytes=2 * MEGABYTE))
