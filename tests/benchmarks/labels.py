"""What labels made in the app are worth, with gold answers: `python -m tests.benchmarks.labels [adapter]`.

The candidates are half of the pairs of Quora dev and of the bundled requests, and those of half of the topics of UKP ASPECT; the
others are the test, 2,000 at most. Once more of Quora with one yes in ten, as among the near pairs of a corpus. So many labels to
learn from, chosen as the app chooses them or at random, train an adapter and, unless only `adapter` is asked for, the whole model
(preset quick). Average precision × 100 on the test, five seeds, mean and 95 % interval of the mean (t). Written to
.bench/labels.json as it goes.
"""

import csv
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from sbert_app.evaluation.verdict import primary_metric
from sbert_app.explain.words import word_overlap
from sbert_app.labelled.example_set import Examples, sentence_groups
from sbert_app.labelling.answers import LEARN, NO, SAME_FROM, YES, Answer
from sbert_app.labelling.choosing import STRATA, Candidates, next_question
from sbert_app.models.encoder import Encoder
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runs.plan import QUICK, preset_for
from sbert_app.training.adapter import fit_adapter
from tests.benchmarks import data
from tests.benchmarks.models import on_torch
from tests.benchmarks.timing import show
from tests.benchmarks.training import train

REQUESTS = "assets/labelled/requests_scored.csv"
SETS = {"Quora": "quora/dev", "UKP ASPECT": "argument/ukp_aspect", "requests": REQUESTS, "Quora, 10 % yes": "quora/dev"}
RARE = 0.1  # share of yes
LABELS = (50, 100, 200, 400)
TRAINED = {"Quora": LABELS, "Quora, 10 % yes": (200, 400), "UKP ASPECT": (100, 400), "requests": (50, 100)}
SEEDS = range(5)
TESTED = 2_000  # pairs
REPORT = Path(".bench") / "labels.json"


@cache
def gold(path: str) -> tuple[Examples, NDArray[np.str_]]:
    """The labelled pairs of a set, and the topic of each, another for each where there are none."""
    if path == REQUESTS:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        same = [float(row["score"]) >= SAME_FROM for row in rows]
    else:
        rows = data.rows(path)
        same = [row["label"] == "1" for row in rows]
    topics = np.array([row.get("topic", str(i)) for i, row in enumerate(rows)])
    return data.examples("labelled", rows, same, ("no", "yes"), 1), topics


def halves(pairs: Examples, topics: NDArray[np.str_], seed: int) -> tuple[Examples, Examples]:
    """The pairs to label and those to test on, of other topics where there are any. No sentence is in both."""
    names = np.random.default_rng(seed).permutation(np.unique(topics))
    tested = np.isin(topics, names[: len(names) // 2])
    test = pairs.take(np.flatnonzero(tested))
    seen = set().union(*test.sentences)
    free = np.array([seen.isdisjoint(pair) for pair in zip(*pairs.sentences, strict=True)])
    return pairs.take(np.flatnonzero(free)), test


def thinned(pairs: Examples, seed: int) -> Examples:
    """With fewer pairs that are the same: the share RARE."""
    yes, no = np.flatnonzero(pairs.gold), np.flatnonzero(pairs.gold == 0)
    few = np.random.default_rng(seed).permutation(yes)[: int(len(no) * RARE / (1 - RARE))]
    return pairs.take(np.sort(np.concatenate([few, no])))


def chosen(pool: Examples, scores: NDArray[np.float32], count: int, seed: int) -> list[int]:
    """The pairs that the app asks to learn from, one after the other, each answered by its label."""
    rows, same = np.arange(len(pool)), pool.gold
    words = np.array([word_overlap(*pair) for pair in zip(*pool.sentences, strict=True)])
    edges = np.linspace(scores.min(), scores.max(), STRATA + 1)[1:-1]
    pairs = Candidates(2 * rows, 2 * rows + 1, scores, words, np.zeros(len(pool), bool), np.digitize(scores, edges))
    answers: list[Answer] = []
    while len({answer.place for answer in answers}) < count:
        question = next_question(pairs, answers, seed=seed)
        assert question is not None
        given = YES if same[question.place] else NO
        answers.append(Answer(str(question.place), "", given, 0, 0, "", 0.0, question.why, 0.0, question.place))
    return [answer.place for answer in answers if answer.why == LEARN]


@cache
def embeddings(path: str) -> dict[str, NDArray[np.float32]]:
    """Of each sentence of a set, by the bundled model as it is."""
    sentences = list(dict.fromkeys(sentence for column in gold(path)[0].sentences for sentence in column))
    return dict(zip(sentences, on_torch().encode(sentences), strict=True))


def precision(vectors: Sequence[NDArray[np.float32]], test: Examples) -> float:
    """Average precision × 100 of the cosine."""
    return 100 * primary_metric("labelled", vectors, test.gold)


def trained(labels: Examples, seed: int) -> Encoder:
    """The bundled model after the preset quick on these pairs, a tenth of them as dev."""
    cut = max(10, len(labels) // 10)
    learnt, dev = labels.take(np.arange(cut, len(labels))), labels.take(np.arange(cut))
    plan = preset_for(learnt, QUICK, DEFAULT_ENCODER)
    return train(plan.objective, replace(plan.options, seed=seed), learnt, dev)[0]


def measured(name: str, seed: int, whole: bool) -> dict[str, float]:
    """Average precision by what was trained on what."""
    pool, test = halves(*gold(SETS[name]), seed)
    if "10 %" in name:
        pool, test = thinned(pool, seed), thinned(test, seed)
    test = test.take(np.arange(min(TESTED, len(test))))
    known = embeddings(SETS[name])
    vectors, tests = ([np.array([known[text] for text in column]) for column in part.sentences] for part in (pool, test))
    scores = np.einsum("ij,ij->i", *vectors)
    found = {"as it is": precision(tests, test)}
    ours = chosen(pool, scores, min(max(LABELS), len(scores) * 9 // 10), seed)
    random = np.random.default_rng(seed).permutation(len(pool)).tolist()
    ways: dict[str, Callable[[int], list[int]]] = {"chosen": lambda count: ours[:count], "random": lambda count: random[:count]}
    for way, places in ways.items():
        for count in (count for count in LABELS if count <= len(ours)):
            start, rows = time.process_time(), np.array(places(count))
            labels = pool.take(rows)
            weight = fit_adapter(*(each[rows] for each in vectors), labels.gold == 1, sentence_groups(labels)).weight
            found[f"seconds, {count}"] = time.process_time() - start
            found[f"adapter, {way}, {count}"] = precision([v if weight is None else v @ weight.T for v in tests], test)
            if whole and count in TRAINED.get(name, ()):
                model = trained(labels, seed)
                found[f"trained, {way}, {count}"] = precision([model.encode(column) for column in test.sentences], test)
    return found


def main(whole: bool) -> None:
    report: dict[str, dict[str, list[float]]] = {}
    for seed in SEEDS:
        for name in SETS:
            for what, value in measured(name, seed, whole).items():
                report.setdefault(name, {}).setdefault(what, []).append(value)
            REPORT.parent.mkdir(exist_ok=True)
            REPORT.write_text(json.dumps(report, indent=1))
    for name, found in report.items():
        rows = []
        for what, values in found.items():
            base = np.array(values) - (0 if "seconds" in what else np.array(found["as it is"][: len(values)]))
            half = t.ppf(0.975, len(values) - 1) * base.std(ddof=1) / len(values) ** 0.5
            rows.append((what, f"{np.mean(values):.2f}", f"{base.mean():+.2f} ± {half:.2f}"))
        show((name, "average precision × 100", "change from as it is"), rows)


if __name__ == "__main__":
    main(sys.argv[1:] != ["adapter"])
