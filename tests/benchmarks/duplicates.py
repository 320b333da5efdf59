"""Duplicates: what mining finds on Quora's labelled pairs, the same as sentence-transformers faster, a threshold at once."""

from statistics import median

import numpy as np
from sentence_transformers import util
from sklearn.metrics import average_precision_score

from sbert_app.corpus.duplicates import Duplicates, find_duplicates
from sbert_app.models.encoder import Encoder
from sbert_app.vectors import Vectors, unit_rows
from tests.benchmarks import data
from tests.benchmarks.models import on_torch
from tests.benchmarks.timing import alternate, milliseconds, seconds_of

ROWS, COMPARED_ROWS, ROUNDS = 10_000, 5_000, 5
THRESHOLDS = np.linspace(0.5, 0.95, 10)
THRESHOLD = 0.85


def report() -> dict[str, object]:
    encoder = on_torch()
    sentences = data.many_sentences(ROWS)
    embeddings = unit_rows(encoder.encode(sentences))
    return {
        "quora": quora(encoder),
        "against_sentence_transformers": against(sentences[:COMPARED_ROWS], embeddings[:COMPARED_ROWS]),
        "speed": speed(sentences, embeddings),
    }


def quora(encoder: Encoder) -> dict[str, object]:
    """Average precision of 10,000 labelled pairs, all sentences in one corpus.

    The labelled pairs are ranked by the score that mining gave them; those it did not give (below its floor) come last,
    tied. Two sentences with the same text are one node: such a pair has score 1. No other pair is judged: the labels say
    nothing about them.
    """
    rows = data.rows("quora/dev")
    first, second = data.columns(rows)
    sentences = first + second
    distinct, places = np.unique(np.array(sentences, dtype=object), return_inverse=True)
    vectors = unit_rows(encoder.encode(distinct.tolist()))[places]
    found = mined(sentences, vectors)
    pairs, node = found.pairs, found.copies.node
    scores = dict(zip(zip(pairs.rows1.tolist(), pairs.rows2.tolist(), strict=True), pairs.scores.tolist(), strict=True))
    ends = np.sort(np.split(node, 2), axis=0).T.tolist()
    ranked = np.array([1.0 if i == j else scores.get((i, j), -1.0) for i, j in ends])
    labels = np.array([int(row["label"]) for row in rows])
    every = np.einsum("ij,ij->i", *np.split(vectors, 2))
    return {
        "pairs": len(rows),
        "corpus_rows": len(sentences),
        "share_of_duplicates": float(labels.mean()),
        "average_precision": float(average_precision_score(labels, ranked)),
        "average_precision_without_a_floor": float(average_precision_score(labels, every)),
        "labelled_pairs_below_the_floor": int((ranked < 0).sum()),
        "at_threshold": {
            f"{t:.2f}": {"precision": float(labels[ranked >= t].mean()), "recall": float(labels[ranked >= t].sum() / labels.sum())}
            for t in (0.75, 0.8, 0.85, 0.9, 0.95)
        },
    }


def against(sentences: list[str], vectors: Vectors) -> dict[str, object]:
    """The same pairs and the same groups as sentence-transformers, and the seconds of each. All its defaults but the sizes."""
    found = mined(sentences, vectors)
    theirs = {(i, j): score for score, i, j in util.paraphrase_mining_embeddings(vectors) if score >= found.pairs.floor}
    ours = set(zip(found.pairs.rows1.tolist(), found.pairs.rows2.tolist(), strict=True))
    grouping = found.grouping(THRESHOLD)
    groups = [grouping.group(i)[0].tolist() for i in range(len(grouping))]
    communities = util.community_detection(vectors, THRESHOLD, min_community_size=2)
    seconds = alternate(
        {
            "mining, ours": lambda: mined(sentences, vectors),
            "mining, theirs": lambda: util.paraphrase_mining_embeddings(vectors),
            "mining and grouping, ours": lambda: mined(sentences, vectors).grouping(THRESHOLD),
            "grouping, theirs": lambda: util.community_detection(vectors, THRESHOLD, min_community_size=2),
        },
        ROUNDS,
    )
    return {
        "rows": len(sentences),
        "pairs": len(ours),
        "pairs_only_ours": len(ours - set(theirs)),
        "pairs_only_theirs": len(set(theirs) - ours),
        "groups": len(groups),
        "same_groups": [(g[0], set(g)) for g in groups] == [(g[0], set(g)) for g in communities],
        "seconds": seconds,
        "times_mining": seconds["mining, theirs"] / seconds["mining, ours"],
        "times_grouping": seconds["grouping, theirs"] / seconds["mining and grouping, ours"],
    }


def speed(sentences: list[str], vectors: Vectors) -> dict[str, object]:
    """Mining 10,000 encoded rows, then moving the threshold."""
    seconds = [seconds_of(lambda: mined(sentences, vectors)) for _ in range(ROUNDS)]
    found = mined(sentences, vectors)
    found.grouping(THRESHOLD)  # the neighbourhoods are sorted at the first one
    again = milliseconds(found.grouping, THRESHOLDS.tolist() * ROUNDS)
    return {
        "rows": len(sentences),
        "pairs": len(found.pairs.scores),
        "floor": found.pairs.floor,
        "mining_seconds": {"median": median(seconds), "worst": max(seconds)},
        "regrouping_milliseconds": {"median": median(again), "worst": max(again)},
    }


def mined(sentences: list[str], vectors: Vectors) -> Duplicates:
    *_, last = find_duplicates(sentences, vectors)
    assert last.result is not None
    return last.result
