"""Table 6 in miniature: poolings and concatenations of the classification objective on a little NLI data, beside the paper's.

`python -m tests.benchmarks.table6 NLI STSB [PAIRS]`: files of labelled pairs to train on and of scored pairs to test on. One epoch,
batch 16, learning rate 2e-5, three seeds that draw pairs and head. As in the paper, embeddings are not normalised in training.
The paper starts from BERT; this starts from the bundled model, which was trained on pairs already, with mean pooling.
"""

import statistics
import sys
from pathlib import Path

import numpy as np

from sbert_app.grid.reading import read_data_set
from sbert_app.labelled.examples import Examples
from sbert_app.models.encoder import Encoder
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from sbert_app.training.options import CONCATENATIONS, PAPER_CONCATENATION, ObjectiveOptions, TrainingOptions
from tests.benchmarks.timing import show
from tests.benchmarks.training import pooled, score, train

SEEDS, PAIRS, DEV = (0, 1, 2), 2_000, 16
POOLINGS = ("mean", "max", "cls")
PAPER = {
    "mean": 80.78, "max": 79.07, "cls": 79.80, "(u, v)": 66.04, "(|u − v|)": 69.78, "(u ∗ v)": 70.54, "(|u − v|, u ∗ v)": 78.37,
    "(u, v, u ∗ v)": 77.44, "(u, v, |u − v|)": 80.78, "(u, v, |u − v|, u ∗ v)": 80.44,
}  # fmt: skip
SETTINGS = [(pooling, PAPER_CONCATENATION) for pooling in POOLINGS] + [
    ("mean", concatenation) for concatenation in CONCATENATIONS if concatenation != PAPER_CONCATENATION
]


def trained(pooling: str, concatenation: str, seed: int, examples: Examples, pairs: int) -> Encoder:
    """The encoder after one epoch over `pairs` pairs that the seed draws."""
    rows = np.random.default_rng(seed).permutation(len(examples))
    parts = examples.take(rows[:pairs]), examples.take(rows[pairs : pairs + DEV])
    options = TrainingOptions(epochs=1, batch_size=16, learning_rate=2e-5, seed=seed)
    head = ObjectiveOptions(concatenation=concatenation)
    return train("classification", options, *parts, pooled(pooling, normalize=False), head, last=True)[0]


def main(nli: Path, stsb: Path, pairs: int) -> None:
    examples, test = (read_data_set(read_table(path, Limits()), Limits()).examples for path in (nli, stsb))
    before = {pooling: score(pooled(pooling, normalize=False), test) for pooling in POOLINGS}
    scores: dict[tuple[str, str], list[float]] = {setting: [] for setting in SETTINGS}
    for seed in SEEDS:
        for setting in SETTINGS:
            scores[setting].append(score(trained(*setting, seed, examples, pairs), test))
            print(f"seed {seed}, {', '.join(setting)}: {scores[setting][-1]:.2f}", file=sys.stderr, flush=True)
    rows = []
    for (pooling, concatenation), values in scores.items():
        mean, paper = statistics.mean(values), PAPER[pooling if concatenation == PAPER_CONCATENATION else concatenation]
        after = f"{mean:.2f} ± {statistics.stdev(values):.2f}"
        figures = f"{before[pooling]:.2f}", after, f"{mean - before[pooling]:+.2f}", f"{paper:.2f}"
        rows.append((pooling, concatenation.replace("|", "&#124;"), *figures))
    show(("pooling", "concatenation", "before", "after, mean ± sd of three seeds", "change", "paper"), rows)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit("Usage: python -m tests.benchmarks.table6 NLI STSB [PAIRS]")
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else PAIRS)
