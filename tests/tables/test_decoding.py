"""Encodings, and what is removed from text."""

import gzip
import tracemalloc
from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE
from sbert_app.tables import read_table
from tests.tables.files import HOSTED, LIMITS


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


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.txt.gz", "a.jsonl.gz"])
def test_millions_of_short_lines_are_counted_and_not_kept(name, write):
    path = write(name, gzip.compress(b"1\n" * 1_500_000))
    tracemalloc.start()
    with pytest.raises(UserError, match=r"the limit is 50,000"):
        read_table(path, HOSTED)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size < 50_000 and peak < 50 * MEGABYTE


def test_a_damaged_stream_inside_gzip_is_a_sentence(write):
    data = bytearray(gzip.compress(b"some text, and more of it\n" * 100))
    data[20:40] = b"\xff" * 20
    with pytest.raises(UserError, match="is not a complete gzip file"):
        read_table(write("a.csv.gz", bytes(data)), LIMITS)
