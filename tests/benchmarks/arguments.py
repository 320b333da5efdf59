"""Argument similarity, section 4.3 and Table 3 of the paper, on UKP ASPECT: `python -m tests.benchmarks.arguments`.

Ten folds of pairs, and ten folds of topics: then no topic is in training and test. SBERT and the cross-encoder are trained anew for
each fold, an epoch on the other nine, with the weights of the last step: nothing is chosen by a test fold. What is trained is
kept in .bench/arguments, so a stopped run goes on. After `sbert` or `cross-encoder` only that one is trained, after `table` none.
"""

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr

from sbert_app.environment import settings_from_environment
from sbert_app.evaluation.agreement import spearman
from sbert_app.evaluation.verdict import judge, predict
from sbert_app.grid.loading import load_system
from sbert_app.grid.support_vectors import FOLDS, cut, predict_folds
from sbert_app.grid.systems import CROSS, SBERT, SVR, TF_IDF, WORD_VECTORS, Choice
from sbert_app.labelled.example_set import Examples, column_groups, pair_groups
from sbert_app.models.bundled import bundled_cross_encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import CROSS_ENCODER
from sbert_app.runtime.workbench import Workbench
from sbert_app.training.crossing import PairTrainee, pairs_of
from sbert_app.training.options import TrainingOptions
from sbert_app.training.siamese import finish
from sbert_app.vectors import Rows
from tests.benchmarks import data
from tests.benchmarks.timing import show as show_table
from tests.benchmarks.training import fit, train

Scores = NDArray[np.float32]

GRADES = {"DTORCD": 0, "NS": 1, "SS": 2, "HS": 3}  # different topic or cannot decide; not, somewhat, highly similar
OPTIONS = TrainingOptions(epochs=1, batch_size=16, learning_rate=5e-5, head_rate=5e-5)
UNUSED = 16  # training pairs as the dev part that a trainer must have; its scores are not used
KEPT = Path(".bench") / "arguments"


def arguments() -> tuple[Examples, dict[str, Rows]]:
    """The graded pairs, and the fold of each by protocol. A pair that occurs twice lies in one fold."""
    rows = data.rows("argument/ukp_aspect")
    targets = np.array([GRADES[row["label4"]] for row in rows]) / max(GRADES.values())
    examples = data.examples("scored", rows, targets)
    groups = {"10-fold": pair_groups(examples), "cross-topic": column_groups([row["topic"] for row in rows])}
    return examples, {protocol: cut(groups[protocol]) for protocol in groups}


def sbert(examples: Examples, test: Examples) -> Scores:
    """The test pairs' cosines after siamese training with the paper's regression objective, (n,)."""
    encoder, _ = train("regression", OPTIONS, examples, examples.take(np.arange(UNUSED)), last=True)
    return predict("scored", [encoder.encode(column) for column in test.sentences]).astype(np.float32)


def cross_encoder(examples: Examples, test: Examples) -> Scores:
    """The test pairs' scores after all weights of the bundled cross-encoder were trained, (n,)."""
    cross = bundled_cross_encoder(CROSS_ENCODER, choose_hardware(precision="fp32"), "")
    trainee = PairTrainee(cross, examples, examples.take(np.arange(UNUSED)))
    fit(trainee, OPTIONS, last=True)
    finish(trainee)
    return cross.score(pairs_of(test))


TRAINED: dict[str, Callable[[Examples, Examples], Scores]] = {"sbert": sbert, "cross-encoder": cross_encoder}


def train_all(names: list[str]) -> None:
    """Train what is not yet in the folder, a fold after the other, so that a stopped run has the same folds of all."""
    examples, protocols = arguments()
    for fold, protocol, name in product(range(FOLDS), protocols, names):
        tested = protocols[protocol] == fold
        parts = [examples.take(np.flatnonzero(part)) for part in (~tested, tested)]
        scores = kept(f"{name} {protocol} {fold}", lambda name=name, parts=parts: TRAINED[name](*parts))
        print(name, protocol, fold, *measured(scores, examples.gold[tested]), flush=True)


def learnt(protocol: str, folds: Rows) -> dict[str, Scores]:
    """The scores of each trained system by name, (n,), nan in folds that are not trained yet."""
    scores = {f"{name}, trained": np.full(len(folds), np.nan, np.float32) for name in TRAINED}
    for name in TRAINED:
        for fold in range(FOLDS):
            if (file := KEPT / f"{name} {protocol} {fold}.npy").exists():
                scores[f"{name}, trained"][folds == fold] = np.load(file)
    return scores


def untrained(examples: Examples) -> dict[str, Scores]:
    """The scores of the systems that are not trained on arguments, (n,)."""
    bench = Workbench(settings_from_environment())
    names = TF_IDF, WORD_VECTORS, SBERT, CROSS
    scores = {name: kept(name, lambda name=name: load_system(bench, name, Choice()).score(examples)) for name in names}
    bench.stop_converting()
    return scores


def kept(name: str, score: Callable[[], Scores]) -> Scores:
    """The scores of that name in the folder, or new ones, which are kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{name}.npy"
    if not file.exists():
        np.save(file, score())
    return np.load(file)


def show() -> None:
    """Print the table over the folds that all systems have, and how far the cross-encoder is ahead of SBERT (95 % interval)."""
    examples, protocols = arguments()
    fixed = untrained(examples)
    for protocol, folds in protocols.items():
        trained = learnt(protocol, folds)
        regressor = kept(f"{SVR} {protocol}", lambda folds=folds: predict_folds(examples, folds))
        rows = np.flatnonzero(np.isfinite(list(trained.values())).all(0))
        gold = examples.gold[rows]
        parts = [rows[folds[rows] == fold] for fold in set(folds[rows].tolist())]
        print(f"\n{protocol}: {len(rows):,} pairs of {len(parts)} folds, r / rho x 100")
        table = []
        for name, scores in {**fixed, SVR: regressor, **trained}.items():
            each = [measured(scores[part], examples.gold[part]) for part in parts]
            figures = np.mean(each, axis=0), measured(scores[rows], gold)
            table.append((name, *(f"{r:.2f} / {rho:.2f}" for r, rho in figures)))
        show_table(("system", "mean of the folds", "over all pairs"), table)
        for change in judge("scored", *(scores[rows].astype(np.float64) for scores in trained.values()), gold).changes:
            values = change.difference.value, change.difference.low, change.difference.high
            print(f"{change.metric}, {' to '.join(trained)}:", *(f"{100 * value:+.2f}" for value in values))


def measured(scores: Scores, gold: Scores) -> tuple[float, float]:
    """Pearson r and Spearman rho, x 100."""
    return 100 * float(pearsonr(scores, gold).statistic), 100 * spearman(scores, gold)


if __name__ == "__main__":
    train_all([name for name in TRAINED if name in sys.argv[1:] or not sys.argv[1:]])
    show()
