"""How often do the cautions of the Similarity tab speak up on real pairs? 1,000 pairs of STSb, to be judged by eye: `CAUTIONS=100`
prints so many of those with a caution, drawn at random with the gold score. A caution is false if what it says is untrue."""

import os
import random
import tempfile
from collections import Counter
from pathlib import Path

from sbert_app.explain.cautions import cautions
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from tests.benchmarks.data import pairs

PAIRS = 1_000
PART = os.environ.get("CAUTIONS_PART", "stsb/test")


def report() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as home:
        encoder = Workbench(Settings(home=Path(home))).registry.encoder()
    rows = random.Random(0).sample(list(zip(*pairs(PART), strict=True)), PAIRS)
    noticed = []
    for first, second, gold in rows:
        tokens = [encoder.split(sentence) for sentence in (first, second)]
        found = cautions(first, second, tokens, encoder.pieces_a_sample_word)
        noticed += [(caution, gold, first, second) for caution in found]
    for caution, gold, first, second in random.Random(1).sample(noticed, min(int(os.environ.get("CAUTIONS", "10")), len(noticed))):
        print(f"{gold:.1f} {caution.text}\n      {first}\n      {second}")
    counted = Counter(caution.kind for caution, *_ in noticed)
    with_caution = len({(first, second) for _, _, first, second in noticed})
    return {"part": PART, "pairs": PAIRS, "pairs_with_a_caution": with_caution, "by_kind": dict(counted)}
