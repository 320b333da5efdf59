"""Decode a file to text: detect the encoding, refuse binary files, yield lines, limit the unpacked size."""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits

# Characters that Western spreadsheets write in Windows-1252. If others occur, or many of these, it is another encoding.
WESTERN = re.compile(r"[À-ÖØ-öø-ÿŒœŠšŸŽž‘’“”–—…€£¢¥§°©®±µ×«»´·¡¿ªº²³¼½¾•™\xa0]*")
ASCII = re.compile(r"[\x00-\x7f]+")
MAGIC = (b"PK\x03\x04", b"%PDF", b"\x89PNG", b"\xff\xd8\xff", b"\x1f\x8b", b"PAR1", b"\xd0\xcf\x11\xe0")


@dataclass(frozen=True)
class TextFile:
    """A file whose encoding is known. `notes`: what was unusual about it, for the screen."""

    path: Path
    name: str
    packed: bool
    limits: Limits
    codec: str = "utf-8-sig"
    nuls: int = 0
    notes: tuple[str, ...] = ()
    marked: bool = True  # begins with a byte-order mark, or is not UTF-8

    def lines(self, newline: str | None = None) -> Iterator[str]:
        """Yield lines, not cut at U+2028 as by `splitlines`. newline: None converts ends to LF, "" keeps them. Raises UserError."""
        most = self.limits.cell_characters
        with self._open(newline) as file:
            for number, line in enumerate(iter(lambda: file.readline(most + 1), ""), 1):
                if len(line) > most:
                    raise UserError(f"'{self.name}' has more than {most:,} characters in line {number:,}. Split or shorten it.")
                yield line.replace("\0", "") if self.nuls else line

    def read(self, most: int = -1, newline: str | None = "") -> str:
        """The text, or its first `most` characters. newline: as of `lines`."""
        with self._open(newline) as file:
            text = file.read(most)
        return text.replace("\0", "") if self.nuls else text

    def pieces(self) -> Iterator[bytes]:
        """Yield the unpacked bytes. Raises UserError if a packed file is damaged or unpacks to more than the limit."""
        size = 0
        try:
            with self._unpacked() as file:
                while piece := file.read(MEGABYTE):
                    size += len(piece)
                    if self.packed and size > self.limits.unpacked_bytes:
                        limit = self.limits.unpacked_bytes / MEGABYTE
                        raise UserError(f"'{self.name}' unpacks to more than {limit:,.0f} MB, the limit. Split the file.")
                    yield piece
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"'{self.name}' is not a complete gzip file. Compress it again, or upload it unpacked.") from error

    def _open(self, newline: str | None) -> IO[str]:
        return io.TextIOWrapper(self._unpacked(), self.codec, newline=newline)

    def _unpacked(self) -> gzip.GzipFile | io.BufferedReader:
        return gzip.open(self.path) if self.packed else self.path.open("rb")


def kind_of(name: str, formats: Sequence[str]) -> str:
    """The format of a file by the ending of its name, such as "csv" or "csv.gz"; "" if it is none of these."""
    name = name.lower().replace(".ndjson", ".jsonl")
    return next((kind for kind in formats if name.endswith(f".{kind}")), "")


def open_text(path: Path, name: str, packed: bool, limits: Limits) -> TextFile:
    """Detect UTF-8, UTF-16 with a byte-order mark, or Windows-1252 (with a note) if that gives text. Raises UserError."""
    file = TextFile(path, name, packed, limits)
    start = next(file.pieces(), b"")
    if start.startswith(MAGIC):
        raise UserError(f"'{name}' is a binary file (spreadsheet, archive, PDF or picture) with a wrong ending. Export it as CSV.")
    if start.lstrip()[:20].lower().startswith((b"<!doctype html", b"<html")):
        raise UserError(f"'{name}' is a web page with a wrong ending. Open it in a spreadsheet program and save it as CSV UTF-8.")
    codec, notes = "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig", []
    characters, nuls, broken = _count(file.pieces(), codec)
    if broken:
        if not _western(file.pieces()):
            raise UserError(
                f"'{name}' is not UTF-8 text (line {broken:,}). Save it as UTF-8 (in Excel: 'CSV UTF-8') and upload it again."
            )
        codec = "cp1252"
        characters, nuls, _ = _count(file.pieces(), codec)
        notes.append("Read as Windows-1252, since it is not UTF-8. If letters look wrong, save it as UTF-8.")
    if nuls > characters / 100:
        raise UserError(f"'{name}' is a binary file, not text. Export it as CSV with UTF-8 encoding.")
    if nuls:
        notes.append(f"{nuls} NUL characters were removed.")
    marked = codec != "utf-8-sig" or start.startswith(codecs.BOM_UTF8)
    return replace(file, codec=codec, nuls=nuls, notes=tuple(notes), marked=marked)


def _count(pieces: Iterator[bytes], codec: str) -> tuple[int, int, int]:
    """Count the characters and the NULs among them; and the number of the first line that cannot be decoded, 0 for none."""
    characters, nuls, line = 0, 0, 1
    try:
        for text in codecs.iterdecode(pieces, codec):
            characters += len(text)
            nuls += text.count("\0")
            line += text.count("\n")
    except UnicodeDecodeError as error:
        return characters, nuls, line + error.object.count(b"\n", 0, error.start)
    return characters, nuls, 0


def _western(pieces: Iterator[bytes]) -> bool:
    """Whether the bytes, decoded as Windows-1252, look like text."""
    characters = non_ascii = 0
    for text in codecs.iterdecode(pieces, "cp1252", "replace"):
        letters = ASCII.sub("", text)
        if not WESTERN.fullmatch(letters):
            return False
        characters += len(text)
        non_ascii += len(letters)
    return non_ascii <= characters / 10
