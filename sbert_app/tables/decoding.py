"""From bytes to text: unpack within a bound, find the encoding, refuse what is not text."""

import gzip
import re
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits

# Windows-1252 as Western spreadsheets write it: letters and typographic signs, now and then. Anything denser is another encoding.
WESTERN = re.compile(r"[À-ÖØ-öø-ÿŒœŠšŸŽž‘’“”–—…€£¢¥§°©®±µ×«»´·¡¿ªº²³¼½¾•™\xa0]")
MAGIC = (b"PK\x03\x04", b"%PDF", b"\x89PNG", b"\xff\xd8\xff", b"\x1f\x8b", b"PAR1", b"\xd0\xcf\x11\xe0")


def unpack(path: Path, name: str, kind: str, limits: Limits) -> bytes:
    if not kind.endswith(".gz"):
        return path.read_bytes()
    try:
        with gzip.open(path) as file:
            data = file.read(limits.unpacked_bytes + 1)
    except (OSError, EOFError) as error:
        raise UserError(f"'{name}' is not a complete gzip file. Compress it again, or upload it unpacked.") from error
    if len(data) > limits.unpacked_bytes:
        limit = limits.unpacked_bytes / MEGABYTE
        raise UserError(f"'{name}' unpacks to more than {limit:,.0f} MB, the limit. Split the file.")
    return data


def decode(data: bytes, name: str) -> tuple[str, list[str]]:
    """UTF-8, or UTF-16 with its mark, or Windows-1252 where it reads like text (and then a note says so)."""
    if data.startswith(MAGIC):
        raise UserError(
            f"'{name}' is a binary file (a spreadsheet, archive, PDF or picture) with the wrong ending. Export it as CSV."
        )
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    notes = []
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        text = data.decode("cp1252", errors="replace")
        foreign = [c for c in text if ord(c) > 127]
        if not all(map(WESTERN.match, foreign)) or len(foreign) > len(text) / 10:
            line = data.count(b"\n", 0, error.start) + 1
            raise UserError(
                f"'{name}' is not UTF-8 text (line {line}). Save it as UTF-8 (in Excel: 'CSV UTF-8') and upload it again."
            ) from error
        notes.append("Read as Windows-1252, since it is not UTF-8. If letters look wrong, save it as UTF-8.")
    nuls = text.count("\0")
    if nuls > len(text) / 100:
        raise UserError(f"'{name}' is a binary file, not text. Export it as CSV with UTF-8 encoding.")
    if nuls:
        notes.append(f"{nuls} NUL characters were removed.")
    return text.replace("\0", ""), notes


def lines_of(text: str) -> list[str]:
    """Lines as files end them. `str.splitlines` also cuts at form feeds and at U+2028, which sentences may hold."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def storable(text: str) -> str:
    """Without NUL characters and lone surrogates, which neither tokenisers nor files take."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
