"""Decode a file to text: detect the encoding, refuse binary files, yield lines, limit the unpacked size."""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits

# Characters that Western spreadsheets write in Windows-1252. If others occur, or many of these, it is another encoding.
WESTERN = re.compile(r"[À-ÖØ-öø-ÿŒœŠšŸŽž‘’“”–—…€£¢¥§°©®±µ×«»´·¡¿ªº²³¼½¾•™\xa0]*")
ASCII = re.compile(r"[\x00-\x7f]+")
MAGIC = (b"PK\x03\x04", b"%PDF", b"\x89PNG", b"\xff\xd8\xff", b"\x1f\x8b", b"PAR1", b"\xd0\xcf\x11\xe0")
PIECE = MEGABYTE


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
            number = 1
            while line := file.readline(most + 1):
                if len(line) > most:
                    raise UserError(f"'{self.name}' has more than {most:,} characters in line {number:,}. Split or shorten it.")
                yield line.replace("\0", "") if self.nuls else line
                number += 1

    def read(self) -> str:
        with self._open("") as file:
            text = file.read()
        return text.replace("\0", "") if self.nuls else text

    def _open(self, newline: str | None) -> IO[str]:
        return io.TextIOWrapper(_opened(self.path, self.packed), self.codec, _errors(self.codec), newline)


def open_text(path: Path, name: str, packed: bool, limits: Limits) -> TextFile:
    """Detect UTF-8, UTF-16 with a byte-order mark, or Windows-1252 (with a note) if that gives text. Raises UserError."""

    def pieces() -> Iterator[bytes]:
        return _pieces(path, name, packed, limits)

    start = next(pieces(), b"")
    if start.startswith(MAGIC):
        raise UserError(f"'{name}' is a binary file (spreadsheet, archive, PDF or picture) with a wrong ending. Export it as CSV.")
    codec, notes = "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig", []
    try:
        characters, nuls = _count(pieces(), codec)
    except UnicodeDecodeError as error:
        if not _western(pieces()):
            raise UserError(
                f"'{name}' is not UTF-8 text (line {_undecodable_line(pieces(), codec):,}). "
                "Save it as UTF-8 (in Excel: 'CSV UTF-8') and upload it again."
            ) from error
        codec = "cp1252"
        characters, nuls = _count(pieces(), codec)
        notes.append("Read as Windows-1252, since it is not UTF-8. If letters look wrong, save it as UTF-8.")
    if nuls > characters / 100:
        raise UserError(f"'{name}' is a binary file, not text. Export it as CSV with UTF-8 encoding.")
    if nuls:
        notes.append(f"{nuls} NUL characters were removed.")
    marked = codec != "utf-8-sig" or start.startswith(codecs.BOM_UTF8)
    return TextFile(path, name, packed, limits, codec, nuls, tuple(notes), marked)


def storable(text: str) -> str:
    """Remove NUL characters and replace lone surrogates, which neither tokenisers nor files accept."""
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _opened(path: Path, packed: bool) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path) if packed else path.open("rb")


def _errors(codec: str) -> str:
    return "replace" if codec == "cp1252" else "strict"


def _pieces(path: Path, name: str, packed: bool, limits: Limits) -> Iterator[bytes]:
    """Yield the unpacked bytes. Raises UserError if a packed file is damaged or unpacks to more than the limit."""
    size = 0
    try:
        with _opened(path, packed) as file:
            while piece := file.read(PIECE):
                size += len(piece)
                if packed and size > limits.unpacked_bytes:
                    limit = limits.unpacked_bytes / MEGABYTE
                    raise UserError(f"'{name}' unpacks to more than {limit:,.0f} MB, the limit. Split the file.")
                yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"'{name}' is not a complete gzip file. Compress it again, or upload it unpacked.") from error


def _decoded(pieces: Iterator[bytes], codec: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)(_errors(codec))
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _count(pieces: Iterator[bytes], codec: str) -> tuple[int, int]:
    """Count the characters, and the NULs among them."""
    characters = nuls = 0
    for text in _decoded(pieces, codec):
        characters += len(text)
        nuls += text.count("\0")
    return characters, nuls


def _western(pieces: Iterator[bytes]) -> bool:
    """Whether the bytes, decoded as Windows-1252, look like text."""
    characters = non_ascii = 0
    for text in _decoded(pieces, "cp1252"):
        letters = ASCII.sub("", text)
        if not WESTERN.fullmatch(letters):
            return False
        characters += len(text)
        non_ascii += len(letters)
    return non_ascii <= characters / 10


def _undecodable_line(pieces: Iterator[bytes], codec: str) -> int:
    """The number of the first line that cannot be decoded."""
    decode: Callable[[bytes], str] = codecs.getincrementaldecoder(codec)().decode
    line = 1
    for piece in pieces:
        try:
            decode(piece)
        except UnicodeDecodeError as error:
            return line + error.object.count(b"\n", 0, error.start)
        line += piece.count(b"\n")
    return line
