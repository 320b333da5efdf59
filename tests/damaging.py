"""What a bad disk does to a file."""

from pathlib import Path


def flip(path: Path, place: float = 0.5, bit: int = 2) -> None:
    """Flip a bit of the byte at this place: an int is an index, a float a share of the file."""
    content = bytearray(path.read_bytes())
    content[place if isinstance(place, int) else min(len(content) - 1, int(place * len(content)))] ^= 1 << bit
    path.write_bytes(content)
