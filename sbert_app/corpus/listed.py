"""A pair and a group of duplicates, as sentences and rows of the file."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SentencePair:
    """Two sentences, their rows in the file, counted from 1, and their cosine; cross_score: None until computed.

    Rows of several files have names, such as "17 of b.csv".
    """

    row1: int | str
    row2: int | str
    score: float
    sentence1: str
    sentence2: str
    cross_score: float | None = None


@dataclass(frozen=True)
class Member:
    """One row of a group, numbered as in the file. score: cosine to the centre, 1 for the centre.

    copy_of: the first row with the same text, None if this is the first. name, name_of_copied: both rows as they are written.
    """

    row: int
    score: float
    sentence: str
    keep: bool
    copy_of: int | None
    name: int | str = ""
    name_of_copied: int | str = ""


@dataclass(frozen=True)
class Group:
    """The rows of a group, the centre first. whole: whether the visitor keeps all of them."""

    members: list[Member]
    whole: bool

    @property
    def dropped(self) -> int:
        """The number of rows that go."""
        return sum(not member.keep for member in self.members)
