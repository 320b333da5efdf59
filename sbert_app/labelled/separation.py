"""What the parts of a split do not share, and the sentences that say so."""

from dataclasses import asdict, dataclass
from typing import Any

from sbert_app.labelled.groups import COLUMN, PAIRS, SENTENCES
from sbert_app.wording import plural

GIVEN = "file"  # a part that is a file of its own
NAMES = {SENTENCES: "by sentences", PAIRS: "by pairs", GIVEN: "a file of its own"}
MEANINGS = {
    SENTENCES: "Examples that share a sentence stay together, so no held-out sentence occurs in training.",
    PAIRS: "No pair is in two parts, but a held-out sentence may occur in training, in another pair.",
    GIVEN: "The held-out part is your own file. Training examples with a pair of it were removed.",
}


@dataclass(frozen=True)
class Separation:
    """How the held-out and the dev part were cut. `connected`: examples in one group, if that prevented the wanted split."""

    wanted: str = PAIRS  # SENTENCES, PAIRS or COLUMN
    held_out: str = PAIRS  # the same, or GIVEN
    dev: str = PAIRS
    column: str = ""
    connected: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def name(self) -> str:
        """How the held-out part was cut, in a few words."""
        return f"by the values of '{self.column}'" if self.held_out == COLUMN else NAMES[self.held_out]

    def sentences(self) -> list[str]:
        """What the held-out part does not share with training, and what could not be done as wanted."""
        lines = [self._meaning()]
        if self.wanted == SENTENCES and self.held_out == PAIRS:
            lines.insert(
                0,
                f"A split by sentences is not possible: {self.connected:,} examples are connected by shared sentences, so too few "
                "are left to hold out. The data is split by pairs.",
            )
        elif self.dev not in (self.wanted, GIVEN):
            lines.append(f"The part for choosing the checkpoint is split {NAMES[self.dev]}.")
        return lines

    def _meaning(self) -> str:
        if self.held_out == COLUMN:
            return f"Each value of the column '{self.column}' is in one part only, so the verdict is about values not trained on."
        return MEANINGS[self.held_out]


def shared_warning(shared: int) -> str:
    """The warning about held-out sentences that also occur in training, "" if there are none."""
    if not shared:
        return ""
    occur = plural(shared, "sentence occurs", "sentences occur")
    return f"{shared:,} held-out {occur} also in training, in other pairs: on new sentences the result may be lower."
